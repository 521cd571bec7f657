"""Seed 002: on indexing sliding windows over on-line data streams."""
