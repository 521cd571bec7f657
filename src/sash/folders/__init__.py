"""Folders of durable files, on a disk or in an object store: where they are, and how they are written."""
