"""Counts for metrics: one call for what a few calls of NumPy would tell, since steps are many and small."""

from __future__ import annotations

import math

from sash.deltas import Int64s
from sash.kernels.compiling import kernel


@kernel
def count_signs(weight: Int64s) -> tuple[int, int]:
    """How many weights are above zero, and how many below."""
    positive = negative = 0
    for i in range(len(weight)):
        positive += weight[i] > 0
        negative += weight[i] < 0
    return positive, negative


@kernel
def count_units(weight: Int64s) -> int:
    """How many changes some weights stand for."""
    count = 0
    for i in range(len(weight)):
        count += abs(weight[i])
    return count


@kernel
def count_delays(delays: Int64s, times: int, parts: int, buckets: Int64s) -> tuple[int, int]:
    """Put delays into buckets, so many for every power of two, the first one for no delay; their sum, and the greatest."""
    total = greatest = 0
    for i in range(len(delays)):
        delay = delays[i]
        total += delay
        greatest = max(greatest, delay)
        buckets[int(parts * math.log2(delay)) + 1 if delay > 0 else 0] += times
    return total, greatest
