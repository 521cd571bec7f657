"""Where groups in slices and the windows over them lie: lanes, registers, and the records that kernels take."""

from __future__ import annotations

from typing import NamedTuple

from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.exact_sum import LOAD
from sash.operators.group_by.kernels.groups import GroupFacts
from sash.operators.group_by.kernels.sliding_sums import (
    FREE,
    HEAD,
    LIVE,
    TAIL,
    USED,
)
from sash.operators.group_by.opcodes import (
    SHOWN,
)

# Registers beside those of a sliding window: parts below are linked, and the instant up to which all is done.
LINKED, REACHED, REGISTERS = 8, 9, 10
assert max(HEAD, TAIL, LIVE, USED, FREE) < LINKED

# Lanes of a part: its group, the end of its slice, its rows; then what its feeds added up.
GROUP, END, COUNT, SUMS = 0, 1, 2, 3
# Of a feed of values: how many, the best; the first later part that is no worse, the next one that may be shown, the one before.
VALUE, NO_WORSE, FOLLOWING, BEFORE = 1, 2, 3, 4
# Of a feed of doubles: how many, what is counted apart, and the load (`exact_sum.py`), then the limbs.
DOUBLE_LIMBS = LOAD + 1
# Of a feed: what it adds up, of which column (lane, mask, bit), in which order; where it lies in a part; its limbs.
KIND, LANE, MASK, BIT, ORDER, IS_MAX, AT, BASE, LENGTH, FEED_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
# In a group's line, where others have what they show: the number of its newest part, from 1 on.
NEWEST = SHOWN

# Of a tap: its window; the first part that has not come, the first that has not left; its next instant; what it gave in a step.
SIZE, SLIDE, ENTER, LEAVE, DUE, GIVEN, FIRST_GIVEN, LAST_GIVEN, CURSORS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Of what a tap gave at an instant: where its lanes and changes begin, how many; the next such line; whether of several groups.
LANES_AT, CHANGES_AT, CHANGES, NEXT_GIVEN, ARE_SEVERAL, GIVEN_FIELDS = 0, 1, 2, 3, 4, 5
# Of a step: the next row, the next instant of any tap; lanes, changes and lines of instants written; the tap without room.
ROW, NEXT, LANES, WRITTEN, INSTANTS, TAP, WORK = 0, 1, 2, 3, 4, 5, 6
ROW_AT, WIDTH, VALUES, SHAPE = 0, 1, 2, 3  # of a tap: where the row begins in its lines, its lanes, those of values
# Of a feed of a tap: what it adds up, where it lies in a part, its first cell; where its limbs lie in a line, and how many.
TAP_KIND, TAP_AT, TAP_CELL, TAP_LIMBS, TAP_LENGTH, TAP_FIELDS = 0, 1, 2, 3, 4, 5


class Tap(NamedTuple):
    facts: GroupFacts
    feeds: Lines
    lines: Lines
    shape: Line
    ranges: Lines  # of sums of doubles: where their limbs are in a line


class Parts(NamedTuple):
    """Groups by key, and what they added in slices of a width (`shape`: that, then how many lanes of a key hold values)."""

    facts: GroupFacts
    feeds: Lines
    shape: Line
    registers: Line
    table: Line
    groups: Lines
    ring: Lines
    newest: Lines  # of every group and feed, the number of the last part that may be shown, from 1 on


class SharedGroups(NamedTuple):
    parts: Parts
    taps: Lines  # their records
    cursors: Lines
    work: Line


class Given(NamedTuple):
    """Room for what taps give, one after the other."""

    instants: Lines
    lanes: Line
    ts: Line
    weight: Line


open_parts, open_tap, open_shared = opened(Parts), opened(Tap), opened(SharedGroups)
