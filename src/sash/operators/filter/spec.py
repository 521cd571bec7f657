"""Selection. The share of rows that a condition is thought to let through are the guesses of the textbooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.all_rows import AllRows
from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.spec import RowByRow
from sash.scalar.nodes import Call, Column, Expression, Literal

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

FILTER = 250.0  # the price of a change
LOOKED_UP = 8  # filters that ask for values of one column, and are so many that a row is looked up once for all
A_RANGE, NOT_NULL, ANYTHING = 1 / 3, 0.9, 1 / 2  # shares of rows
_COMPARISONS = ("less", "less_equal", "greater", "greater_equal")


@dataclass(frozen=True)
class FilterSpec(RowByRow):
    predicate: Expression

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        share = selectivity(self.predicate, rows.values)
        return replace(rows, rate=rows.rate * share, rows=rows.rows * share)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * FILTER, 0.0)

    @cached_property
    def of_all_rows(self) -> AllRows:
        from sash.operators.filter.conditions import parted

        _, rest = parted(self.predicate)
        return self.input.of_all_rows.where(self.predicate) if rest is None else super().of_all_rows

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.filter.operator import Filter

        return Filter(self, context)


def selectivity(condition: Expression, values: Sequence[float]) -> float:
    """`values` are how many different ones every column has."""
    if isinstance(condition, Literal):
        return 1.0 if condition.value is True else 0.0
    if not isinstance(condition, Call):
        return ANYTHING
    parts = [selectivity(part, values) for part in condition.arguments] if condition.function in ("and", "or", "not") else []
    if condition.function == "and":
        return _all(parts)
    if condition.function == "or":
        return 1 - _all([1 - part for part in parts])
    if condition.function == "not":
        return 1 - parts[0]
    if condition.function == "equal":
        return 1 / max([1.0, *(values[part.index] for part in condition.arguments if isinstance(part, Column))])
    if condition.function == "not_equal":
        return 1 - selectivity(Call("equal", condition.arguments, condition.type), values)
    if condition.function == "is_null":
        return 1 - NOT_NULL
    return A_RANGE if condition.function in _COMPARISONS else ANYTHING


def _all(parts: Sequence[float]) -> float:
    share = 1.0
    for part in parts:
        share *= part
    return share
