"""Frames of RANGE: for every row of a segment, where the values begin that are not before a bound."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel


@kernel
def first_not_before(values: Int64s, bounds: Int64s, starts: Int64s, stops: Int64s, with_equal: bool, out: Int64s) -> None:
    """The first place in [starts[i], stops[i]) whose value is at least bounds[i], or above it if equal ones are passed too.

    Values rise within a segment, and bounds with them, so one look at every value is enough.
    """
    place = 0
    for i in range(len(values)):
        place = max(place, starts[i])
        while place < stops[i] and (values[place] < bounds[i] or (with_equal and values[place] == bounds[i])):
            place += 1
        out[i] = place
