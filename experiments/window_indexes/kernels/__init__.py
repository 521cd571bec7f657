"""Loops over the paper's structures, as flat arrays."""
