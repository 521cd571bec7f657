"""Benchmarks that anyone can run: ratios within one run first, absolute figures second."""
