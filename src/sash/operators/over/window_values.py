"""The functions of a window that are no aggregates: a number from the place of a row, or the value of another row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.operators.over.segments import Segments
from sash.plan.over import OverCall, WindowFunction

NOWHERE = -1
Doubles = npt.NDArray[np.float64]


def numbers(call: OverCall, rows: Segments) -> Int64s:
    """The lane of a function of places."""
    assert isinstance(call.function, WindowFunction)
    if call.function is WindowFunction.NTILE:
        return _ntile(call.offset, rows)
    return _NUMBERS[call.function](rows)


def _bits(values: Doubles) -> Int64s:
    return (values + 0.0).view(np.int64)


def _percent_rank(rows: Segments) -> Int64s:
    return _bits((rows.first_peer - rows.start) / np.maximum(rows.stop - rows.start - 1, 1))


def _dense_rank(rows: Segments) -> Int64s:
    return rows.group - rows.group[rows.start] + 1


def _ntile(parts: int, rows: Segments) -> Int64s:
    """Parts of equal size, the first ones larger by one where that does not come out even."""
    place, size = rows.places - rows.start, rows.stop - rows.start
    small, larger = size // parts, size % parts
    edge = larger * (small + 1)
    return np.where(place < edge, place // (small + 1), larger + (place - edge) // np.maximum(small, 1)) + 1


_NUMBERS: dict[WindowFunction, Callable[[Segments], Int64s]] = {
    WindowFunction.ROW_NUMBER: lambda rows: rows.places - rows.start + 1,
    WindowFunction.RANK: lambda rows: rows.first_peer - rows.start + 1,
    WindowFunction.DENSE_RANK: _dense_rank,
    WindowFunction.PERCENT_RANK: _percent_rank,
    WindowFunction.CUME_DIST: lambda rows: _bits((rows.after_peers - rows.start) / (rows.stop - rows.start)),
}


def sources(call: OverCall, rows: Segments) -> Int64s:
    """For a function that takes a value of another row: which row, or NOWHERE."""
    assert call.argument is not None
    is_counted = ~rows.is_null(call.argument) if call.ignores_nulls else np.ones(len(rows), np.bool_)
    counted = np.append(np.flatnonzero(is_counted), NOWHERE)
    before = np.concatenate([[0], np.cumsum(is_counted)])  # how many rows that count come before each place
    low, high = rows.start, rows.stop
    if call.function is not WindowFunction.LAG:
        low, high = rows.bounds(call.frame)
        wanted = before[low] + call.offset - 1 if call.function is WindowFunction.NTH_VALUE else before[high] - 1
    elif call.offset > 0:
        wanted = before[rows.places] - call.offset
    elif call.offset < 0:
        wanted = before[rows.places + 1] - call.offset - 1
    else:
        return rows.places
    is_inside = (wanted >= before[low]) & (wanted < before[high])
    return np.where(is_inside, counted[np.where(is_inside, wanted, NOWHERE)], NOWHERE)
