"""Conditions on single columns, tested on lanes.

A table has a line for every condition. What is compared is always an integer in the order of the values, so that every comparison
with a constant asks whether it lies in a range:

    v < 5      [least, 4]           k = 3      [3, 3]          v BETWEEN 2 AND 4    [2, 4]
    v >= 5     [5, greatest]        k <> 3     outside of it   the code of a text   a range of one
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import canonical_double
from sash.kernels.hashing import mix
from sash.kernels.rows import copy_row, order_of_doubles

# The columns of a table: what is asked, the lane of the value, that of its mask and the bit there, is it a DOUBLE, the range.
TEST, LANE, MASK, BIT, IS_DOUBLE, LOW, HIGH, COLUMNS = range(8)
INSIDE, OUTSIDE, IS_NULL, IS_NOT_NULL = range(4)
SIGNS = 3  # how many rows enter, leave, and only tell the time
OPEN, TRUE = range(2)  # what all conditions of a row come to at least; open: NULL


@inlined
def rank_of_double(bits: int) -> int:
    """Integers in the order of doubles; both zeros are equal, and so are all NaNs, above everything."""
    return order_of_doubles(canonical_double(bits))


@kernel
def rank_double(bits: int) -> int:
    return rank_of_double(bits)


@kernel
def passing_rows(rows: Int64s, conditions: Int64s, least: int, places: Int64s) -> int:
    """The places of rows whose conditions all come to TRUE, or, if that is the least, to OPEN; how many."""
    for i in range(len(rows)):
        places[i] = i
    n = len(rows)
    for k in range(len(conditions)):
        n = _keep(rows, conditions, k, least, places, n)
    return n


@inlined
def _holds(rows: Int64s, i: int, conditions: Int64s, k: int) -> bool:
    """Whether one condition is true for a row."""
    value, test = rows[i, conditions[k, LANE]], conditions[k, TEST]
    is_null = (rows[i, conditions[k, MASK]] >> conditions[k, BIT] & 1) != 0
    if test >= IS_NULL:
        return is_null == (test == IS_NULL)
    if conditions[k, IS_DOUBLE]:
        value = rank_of_double(value)
    is_inside = (conditions[k, LOW] <= value) & (value <= conditions[k, HIGH])
    return (not is_null) & (is_inside == (test == INSIDE))


@inlined
def is_kept(rows: Int64s, i: int, conditions: Int64s, start: int, stop: int) -> bool:
    """Whether some conditions are all true for a row."""
    k = start
    while k < stop and _holds(rows, i, conditions, k):
        k += 1
    return k == stop


@kernel
def sift(
    rows: Int64s, conditions: Int64s, starts: Int64s, positive: int, negative: int, messages: int, skipped: Int64s, found: Int64s
) -> int:
    """Of many filters, the conditions of each from its start to that of the next: those for which all conditions of some row are
    true, and how many they are; for others, the rows are added to those that they have skipped."""
    n = 0
    for f in range(len(starts) - 1):
        passes, i = False, 0
        while i < len(rows) and not passes:
            passes = is_kept(rows, i, conditions, starts[f], starts[f + 1])
            i += 1
        if passes:
            found[n] = f
            n += 1
        else:
            skipped[f, 0] += positive
            skipped[f, 1] += negative
            skipped[f, 2] += messages
    return n


@kernel
def _keep(rows: Int64s, conditions: Int64s, k: int, least: int, places: Int64s, count: int) -> int:
    """Of these places those where one condition holds. No branch to guess."""
    test, lane, mask, bit = conditions[k, TEST], conditions[k, LANE], conditions[k, MASK], conditions[k, BIT]
    is_double, low, high, n = conditions[k, IS_DOUBLE], conditions[k, LOW], conditions[k, HIGH], 0
    for m in range(count):
        i = places[m]
        value, is_null = rows[i, lane], (rows[i, mask] >> bit & 1) != 0
        if test >= IS_NULL:
            holds = is_null == (test == IS_NULL)
        else:
            if is_double:
                value = rank_of_double(value)
            is_true = (low <= value) & (value <= high) == (test == INSIDE)
            holds = is_true & (not is_null) | is_null & (least <= OPEN)
        places[n] = i
        n += holds
    return n


@inlined
def slot_of(value: int, values: Int64s) -> int:
    """Where a value stands in a table of lines (value, number + 1), or would stand; at most half of them are full."""
    last = len(values) - 1
    slot = mix(0, value) & last
    while values[slot, 1] != 0 and values[slot, 0] != value:
        slot = (slot + 1) & last
    return slot


@kernel
def fill_values(wanted: Int64s, known: int, values: Int64s) -> None:
    """Number different values on, in a table that has so many others."""
    for number in range(len(wanted)):
        slot = slot_of(wanted[number], values)
        values[slot, 0], values[slot, 1] = wanted[number], known + number + 1


@kernel
def route_rows(
    rows: Int64s, lane: int, mask: int, bit: int, values: Int64s, numbers: Int64s, counts: Int64s, touched: Int64s, ends: Int64s,
    places: Int64s,
) -> int:
    """Put the places of rows together that have the same value, of values that are wanted: how many of these there are.

    `touched` gets their numbers, `ends` where the places of each end, after a zero. `counts` are zero, and are so again.
    """
    found = 0
    for i in range(len(rows)):
        number = -1
        if (rows[i, mask] >> bit & 1) == 0:
            number = values[slot_of(rows[i, lane], values), 1] - 1
        numbers[i] = number
        if number >= 0:
            if counts[number] == 0:
                touched[found] = number
                found += 1
            counts[number] += 1
    for k in range(found):
        ends[k + 1] = ends[k] + counts[touched[k]]
        counts[touched[k]] = ends[k]
    for i in range(len(rows)):
        if numbers[i] >= 0:
            places[counts[numbers[i]]] = i
            counts[numbers[i]] += 1
    for k in range(found):
        counts[touched[k]] = 0
    return found


@kernel
def gather_rows(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, places: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_expiry: Int64s, out_weight: Int64s,
) -> None:
    """The changes at these places."""
    for n in range(len(out_ts)):
        i = places[n]
        copy_row(rows, i, out_rows, n)
        out_ts[n], out_expiry[n], out_weight[n] = ts[i], expiry[i], weight[i]
