"""Seed 001: scheduling for shared window joins over data streams."""
