"""What taps ask of values in order, for the kernel: every figure once, however many taps ask for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Int64s
from sash.interned import remembered
from sash.operators.group_by.opcodes import CONTINUOUS, DISCRETE
from sash.operators.group_by.tables import fraction_of
from sash.operators.shared_order.kernels.records import COLUMN_FIELDS, COUNT_ROWS, COUNT_VALUES, FIGURE_FIELDS
from sash.plan.aggregates import AggregateCall, Function

if TYPE_CHECKING:
    from sash.operators.group_by.spec import RankedGroupBySpec

Figure = tuple[int, ...]  # the fields that the kernel reads

ENDS = {Function.MIN: 0, Function.ANY_VALUE: 0, Function.MAX: 1}  # whether it is the last value
DISCRETES = {Function.PERCENTILE_DISC: 0, Function.PERCENTILE_DISC_DESC: 1}  # whether it counts from the last value


@remembered
def figures_of(tap: RankedGroupBySpec) -> list[Figure]:
    """Of every call of a tap."""
    return [_figure(call) for call in tap.calls]


def _figure(call: AggregateCall) -> Figure:
    function, type_ = call.function, call.argument_type
    if type_ is None:
        return COUNT_ROWS, 0, 0, 0, 0
    if function is Function.COUNT:
        return COUNT_VALUES, 0, 0, 0, 0
    if function in ENDS:
        return DISCRETE, 0, 1, ENDS[function], 0
    if function in DISCRETES:
        return DISCRETE, *fraction_of(call), DISCRETES[function], 0
    assert function in (Function.MEDIAN, Function.PERCENTILE_CONT), f"no order tells {function.value}"
    return CONTINUOUS, *fraction_of(call), 0, type_.scale


class Figures:
    """Those of some taps, each once."""

    def __init__(self, taps: Iterable[RankedGroupBySpec]) -> None:
        self._places: dict[Figure, int] = {}
        for tap in taps:
            for figure in figures_of(tap):
                self._places.setdefault(figure, len(self._places))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def lines(self) -> Int64s:
        return np.array(list(self._places), np.int64).reshape(len(self), FIGURE_FIELDS)

    def columns(self, tap: RankedGroupBySpec) -> Int64s:
        """Which figure goes where in the row of a tap."""
        layout, first = tap.layout, len(tap.keys)
        found = [
            (self._places[figure], layout.lanes[column], *layout.mask(column), layout.schema.types[column].lanes)
            for column, figure in enumerate(figures_of(tap), first)
        ]
        return np.array(found, np.int64).reshape(len(found), COLUMN_FIELDS)
