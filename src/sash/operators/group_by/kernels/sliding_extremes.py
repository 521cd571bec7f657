"""MIN and MAX over a sliding window: of every group, the rows whose values may yet be shown, linked through the ring.

    ring        3  9  5  7  8            group's rows, the oldest first
    least       3 ---- 5  7  8           9 is never the least: 5 came later and is less; the first one is shown
    greatest       9 ------- 8

A value that comes takes away the older ones that are not before it in the order of the set, for they leave earlier; a row that
leaves is the first of its deque, or not in it. The cells of a deque are the numbers of its first and its last row, counted from
1, and their values. Links say the value too: so a row that leaves looks at no other one, and a row that comes only at those that
it takes away, and at the last.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined
from sash.kernels.prefetching import prefetch
from sash.operators.group_by.kernels.value_nodes import from_order, to_order
from sash.operators.group_by.opcodes import FEED_KIND, FEED_PART, FEED_VALUE, SET_CELL, SET_IS_MAX, SET_ORDER

GROUP, EXPIRY, WEIGHT, NULLS, VALUES = 0, 1, 2, 3, 4  # lanes of an entry of the ring; behind the values the links of deques
FOLLOWING, FOLLOWING_VALUE, BEFORE, BEFORE_VALUE, LINKS = 0, 1, 2, 3, 4
FIRST, LAST, FIRST_VALUE, LAST_VALUE = 0, 1, 2, 3  # cells of a deque


@inlined
def ask_last_rows(group: int, sets: Int64s, ring: Int64s, lines: Int64s) -> None:
    """Ask for the last rows of the deques of a group."""
    for set_ in range(len(sets)):
        prefetch(ring, (lines[group, sets[set_, SET_CELL] + LAST] - 1) & (len(ring) - 1))


@inlined
def enter_deques(row: int, oldest: int, group: int, feeds: Int64s, sets: Int64s, ring: Int64s, lines: Int64s) -> None:
    """The row of a number came to its group; its values are in the ring. Rows before the oldest have left."""
    mask = len(ring) - 1
    entry = row & mask
    for feed in range(len(feeds)):
        if feeds[feed, FEED_KIND] != FEED_VALUE or ring[entry, NULLS] >> feed & 1:
            continue
        set_ = feeds[feed, FEED_PART]
        cell, links = sets[set_, SET_CELL], VALUES + len(feeds) + LINKS * set_
        value, _ = to_order(sets[set_, SET_ORDER], sets[set_, SET_IS_MAX], ring[entry, VALUES + feed], 0)
        last, last_value = lines[group, cell + LAST], lines[group, cell + LAST_VALUE]
        while last > oldest and last_value >= value:
            place = (last - 1) & mask
            last, last_value = ring[place, links + BEFORE], ring[place, links + BEFORE_VALUE]
        ring[entry, links + FOLLOWING], ring[entry, links + BEFORE], ring[entry, links + BEFORE_VALUE] = 0, last, last_value
        if last > oldest:
            place = (last - 1) & mask
            ring[place, links + FOLLOWING], ring[place, links + FOLLOWING_VALUE] = row + 1, value
        else:
            lines[group, cell + FIRST], lines[group, cell + FIRST_VALUE] = row + 1, value
        lines[group, cell + LAST], lines[group, cell + LAST_VALUE] = row + 1, value


@inlined
def leave_deques(row: int, group: int, feeds: Int64s, sets: Int64s, ring: Int64s, lines: Int64s) -> None:
    """The oldest row left its group."""
    entry = row & (len(ring) - 1)
    for set_ in range(len(sets)):
        cell, links = sets[set_, SET_CELL], VALUES + len(feeds) + LINKS * set_
        if lines[group, cell + FIRST] == row + 1:
            lines[group, cell + FIRST] = ring[entry, links + FOLLOWING]
            lines[group, cell + FIRST_VALUE] = ring[entry, links + FOLLOWING_VALUE]


@inlined
def shown_extreme(group: int, set_: int, sets: Int64s, lines: Int64s) -> int:
    """The lane of the first value of a deque, which has one."""
    cell = sets[set_, SET_CELL]
    low, _ = from_order(sets[set_, SET_ORDER], sets[set_, SET_IS_MAX], lines[group, cell + FIRST_VALUE], 0)
    return low
