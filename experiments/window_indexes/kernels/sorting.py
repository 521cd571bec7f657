"""Sorted runs are merged two by two until there is one; equal values become one with the sum of their counts."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel


@inlined
def _merge(
    start: int, middle: int, end: int, values: Int64s, counts: Int64s, into_values: Int64s, into_counts: Int64s
) -> None:
    left, right = start, middle
    for place in range(start, end):
        if right == end or (left < middle and values[left] <= values[right]):
            into_values[place], into_counts[place] = values[left], counts[left]
            left += 1
        else:
            into_values[place], into_counts[place] = values[right], counts[right]
            right += 1


@kernel
def merge_runs(
    runs: int, values: Int64s, counts: Int64s, other_values: Int64s, other_counts: Int64s, ends: Int64s, sizes: Int64s
) -> None:
    """The answer is in `values` and `counts`; sizes[0] is how many there are, before and after."""
    is_other, size = False, sizes[0]
    while runs > 1:
        start, made, run = 0, 0, 0
        while run < runs:
            middle = ends[run]
            end = ends[run + 1] if run + 1 < runs else middle
            if is_other:
                _merge(start, middle, end, other_values, other_counts, values, counts)
            else:
                _merge(start, middle, end, values, counts, other_values, other_counts)
            ends[made] = start = end
            made += 1
            run += 2
        runs, is_other = made, not is_other
    n = 0
    for place in range(size):
        value = other_values[place] if is_other else values[place]
        count = other_counts[place] if is_other else counts[place]
        if n and values[n - 1] == value:
            counts[n - 1] += count
        else:
            values[n], counts[n] = value, count
            n += 1
    sizes[0] = n
