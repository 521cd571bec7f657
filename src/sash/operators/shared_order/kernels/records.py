"""Where values in order, fingers, and the taps over them lie: lanes, and the records that kernels take."""

from __future__ import annotations

from typing import NamedTuple

from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.strings import Strings
from sash.operators.group_by.kernels.groups import (
    GroupFacts,
    GroupState,
)
from sash.operators.group_by.opcodes import (
    CONTINUOUS,
    DISCRETE,
)

# Of a figure: what it is (CONTINUOUS and DISCRETE are percentiles), and of a percentile what it is told.
COUNT_ROWS, COUNT_VALUES = 0, 1
KIND, NUMERATOR, DENOMINATOR, IS_DESCENDING, SCALE, FIGURE_FIELDS = 0, 1, 2, 3, 4, 5
assert min(CONTINUOUS, DISCRETE) > COUNT_VALUES
# A figure of a group, when it is found.
LOW, HIGH, IS_NULL, FOUND_FIELDS = 0, 1, 2, 3
# Of the fingers of a group: how many values came or went since they were used; then of each its node, the rows before, its value.
MOVES, FIRST_FINGER = 0, 1
NODE, BEFORE, VALUE, FINGER_FIELDS = 0, 1, 2, 3
FEW_MOVES, FEW_STEPS = 16, 8  # it is quicker to look for figures anew after more than that
# Of a column of a tap: its figure, and where it goes to.
FIGURE, LANE, MASK, BIT, LANES, COLUMN_FIELDS = 0, 1, 2, 3, 4, 5
# A tap's line of a group: whether its row is shown, and the row.
IS_SHOWN, ROW = 0, 1
WIDTH, VALUES, SHAPE = 0, 1, 2  # of a tap: its lanes, those of values
# Of a change: of which tap, the instant, the weight, where its lanes begin. Of a step: how many changes, how many lanes.
TAP, INSTANT, WEIGHT, AT, CHANGE_FIELDS = 0, 1, 2, 3, 4
WRITTEN, WRITTEN_LANES, WORK = 0, 1, 2

PREVIOUS_NODE, NEXT_NODE = 0, 1


class Tap(NamedTuple):
    columns: Lines
    lines: Lines
    shape: Line


class Order(NamedTuple):
    """The values of groups in order, and who asks for what."""

    facts: GroupFacts
    state: GroupState
    strings: Strings
    neighbours: Lines  # of every node: the one before it in its group, and the one after it
    figures: Lines
    fingers: Lines  # of every group
    found: Lines
    taps: Lines  # their records
    work: Line


class Given(NamedTuple):
    """Room for what taps give."""

    changes: Lines
    lanes: Line


open_order, open_tap = opened(Order), opened(Tap)
