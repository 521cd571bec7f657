"""Conditions that are tested on lanes: those that compare a column with a constant.

They stand at the front of a conjunction. What comes after the first other condition stays an expression: it must not be asked for
rows that the front rules out, and must be asked for all others, since it may fail there, which is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s, Layout
from sash.operators.filter import kernels as kernel
from sash.plan.rules.conditions import conjunction, conjuncts
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.schema import Field, Kind, Schema
from sash.stores.interner import Interner
from sash.stores.lanes import encode

Constant = int | float | str

LEAST, GREATEST = -(2**63), 2**63 - 1
NOTHING = (1, 0)  # an empty range
_TESTS = {"equal": kernel.INSIDE, "not_equal": kernel.OUTSIDE, "is_null": kernel.IS_NULL, "is_not_null": kernel.IS_NOT_NULL}
_RANGES = ("less", "less_equal", "greater", "greater_equal", "between")
_TURNED = {
    "equal": "equal", "not_equal": "not_equal",
    "less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip


def parted(predicate: Expression) -> tuple[list[Call], Expression | None]:
    """The conditions at the front of a predicate that lanes can be tested for, and the rest of it."""
    every = list(conjuncts(predicate))
    front: list[Call] = []
    for condition in every:
        found = _on_a_column(condition)
        if found is None:
            break
        front.append(found)
    rest = every[len(front) :]
    return front, conjunction(rest) if rest else None


def table(conditions: Sequence[Call], layout: Layout, interner: Interner) -> Int64s:
    """A line for every condition (`kernels/comparing.py`); texts get codes, which somebody must hold."""
    lines = [_line(condition, layout, interner) for condition in conditions]
    return np.array(lines, np.int64).reshape(len(lines), kernel.COLUMNS)


def compared_texts(conditions: Iterable[Call], layout: Layout) -> list[int]:
    """The places of the conditions whose constants are texts."""
    return [place for place, one in enumerate(conditions) if len(one.arguments) > 1 and one.arguments[1].type.is_interned]


class ConditionTable:
    """The table of some conditions that are tested again and again: what does not change is written once."""

    def __init__(self, conditions: Sequence[Call], layout: Layout) -> None:
        self._conditions, self._layout = conditions, layout
        self._texts = compared_texts(conditions, layout)
        self._lines: Int64s | None = None

    def lines(self, interner: Interner) -> Int64s:
        """As `table` gives them; texts have the codes that they have now."""
        if self._lines is None:
            self._lines = table(self._conditions, self._layout, interner)
        for place in self._texts:
            self._lines[place, kernel.LOW : kernel.HIGH + 1] = _rank(self._conditions[place].arguments[1], interner)
        return self._lines


class RefilledTable:
    """The table of conditions of which some compare with other constants; these ask whether a number or text is equal."""

    def __init__(self, table: ConditionTable, constants: Mapping[int, Constant]) -> None:
        self._table, self._constants = table, constants

    def lines(self, interner: Interner) -> Int64s:
        lines = self._table.lines(interner).copy()
        for place, constant in self._constants.items():
            lines[place, kernel.LOW : kernel.HIGH + 1] = _plain_rank(constant, interner)
        return lines


def _plain_rank(constant: Constant, interner: Interner) -> int:
    if isinstance(constant, int):
        return constant
    if isinstance(constant, str):
        return interner.code(constant)
    return int(kernel.rank_double(int(np.float64(constant).view(np.int64))))


def _on_a_column(condition: Expression) -> Call | None:
    """The condition with its column first, if it compares one with constants that are not NULL."""
    if not isinstance(condition, Call) or condition.function not in (*_TESTS, *_RANGES):
        return None
    first, *others = condition.arguments
    if isinstance(first, Literal) and len(others) == 1:
        first, others = others[0], [first]
        condition = Call(_TURNED[condition.function], (first, *others), condition.type)
    is_plain = isinstance(first, Column) and first.type.lanes == 1
    are_constants = all(isinstance(o, Literal) and o.value is not None and o.type == first.type for o in others)
    is_ordered_text = first.type.is_interned and condition.function in _RANGES
    return condition if is_plain and are_constants and not is_ordered_text else None


def _line(condition: Call, layout: Layout, interner: Interner) -> list[int]:
    column, *others = condition.arguments
    assert isinstance(column, Column)
    test = kernel.INSIDE if condition.function in _RANGES else _TESTS[condition.function]
    place = [layout.lanes[column.index], *layout.mask(column.index), int(column.type.kind is Kind.DOUBLE)]
    ranks = [_rank(other, interner) for other in others if isinstance(other, Literal)]
    return [test, *place, *(_range(condition.function, ranks) if ranks else NOTHING)]


def _rank(constant: Expression, interner: Interner) -> int:
    """An integer in the order of the values of its type."""
    assert isinstance(constant, Literal)
    if constant.type.kind is Kind.STRING:
        return interner.code(str(constant.value))
    if constant.type.kind in (Kind.BIGINT, Kind.INT) and isinstance(constant.value, int):
        return constant.value
    layout = Layout(Schema((Field("constant", constant.type),)))
    lane = int(encode([pa.array([constant.value], constant.type.arrow)], layout, interner)[0, 0])
    return int(kernel.rank_double(lane)) if constant.type.kind is Kind.DOUBLE else lane


def _range(function: str, ranks: Sequence[int]) -> tuple[int, int]:
    low, high = ranks[0], ranks[-1]
    if function == "less":
        return (LEAST, high - 1) if high > LEAST else NOTHING
    if function == "greater":
        return (low + 1, GREATEST) if low < GREATEST else NOTHING
    return LEAST if function == "less_equal" else low, GREATEST if function == "greater_equal" else high
