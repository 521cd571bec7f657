"""GROUP BY over a sliding window with one key and one or two aggregates of one number, as most are.

The kernel is the same (`sliding_sums.py`), but it is known how many keys, values and aggregates there are, and how long lines
are. So small loops are unrolled, places found without multiplications, and what the tables say stays in registers.
"""

from __future__ import annotations

from collections.abc import Callable

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle, Shapes, SignedChanges, of_width, opened
from sash.kernels.compiling import kernel
from sash.operators.group_by.kernels.sliding_extremes import VALUES
from sash.operators.group_by.kernels.sliding_sums import SlidingGrouping, slide, slide_sums
from sash.operators.group_by.opcodes import CALL_POWERS, FEED_COLUMNS, FIRST_CELL, KEY_COLUMNS, SET_COLUMNS

SUM_CELLS = 4  # how many values there are, and their sum of 192 bits
ROW_AT = FIRST_CELL + SUM_CELLS  # in a line
ROW_OF_ONE, ROW_OF_TWO = 3, 4  # lanes: the key, the aggregates, what is NULL


def shapes(calls: int, row: int) -> Shapes:
    """Of so many aggregates, and rows of so many lanes."""
    return {
        "keys": (1, KEY_COLUMNS), "feeds": (1, FEED_COLUMNS), "calls": (calls, CALL_POWERS), "sets": (0, SET_COLUMNS),
        "lines": (None, ROW_AT + row), "ring": (None, VALUES + 1),
    }


SHAPES_OF_ONE, SHAPES_OF_TWO = shapes(1, ROW_OF_ONE), shapes(2, ROW_OF_TWO)
open_one, rows_of_one = opened(SlidingGrouping, SHAPES_OF_ONE), of_width(ROW_OF_ONE)
open_two, rows_of_two = opened(SlidingGrouping, SHAPES_OF_TWO), of_width(ROW_OF_TWO)


def kernel_for(bundle: Bundle, width: int, row_at: int) -> Callable[..., int]:
    """The fastest kernel for groups of such shapes, whose rows have so many lanes and begin there in a line."""
    for slide_known, known, row in ((slide_one, SHAPES_OF_ONE, ROW_OF_ONE), (slide_two, SHAPES_OF_TWO, ROW_OF_TWO)):
        if width == row and row_at == ROW_AT and bundle.fits(known):
            return slide_known
    return slide_sums


@kernel
def slide_one(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, now: int, row_at: int, record: Int64s, tags: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, crowded: Int64s,
) -> int:
    """As `slide_sums`, of one aggregate."""
    out = SignedChanges(rows_of_one(out_rows), out_ts, out_weight)
    return slide(open_one(record), rows, ts, expiry, weight, now, ROW_AT, tags, out, crowded)


@kernel
def slide_two(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, now: int, row_at: int, record: Int64s, tags: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, crowded: Int64s,
) -> int:
    """As `slide_sums`, of two aggregates."""
    out = SignedChanges(rows_of_two(out_rows), out_ts, out_weight)
    return slide(open_two(record), rows, ts, expiry, weight, now, ROW_AT, tags, out, crowded)
