"""Projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.all_rows import AllRows
from sash.operators.cost import PASS, Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.spec import RowByRow, Spec
from sash.scalar.nodes import Column, Expression
from sash.schema import Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class ProjectSpec(RowByRow):
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))

    def with_pairs_found_again(self, columns: tuple[int, ...], names: tuple[str, ...]) -> Spec | None:
        shown = [self.expressions[column] for column in columns]
        below = tuple(expression.index for expression in shown if isinstance(expression, Column))
        return self.input.with_pairs_found_again(below, names) if len(below) == len(shown) else None

    @cached_property
    def of_all_rows(self) -> AllRows:
        columns = [expression.index for expression in self.expressions if isinstance(expression, Column)]
        is_choice = len(columns) == len(self.expressions)
        return self.input.of_all_rows.choose(columns) if is_choice else super().of_all_rows

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        columns = (getattr(expression, "index", None) for expression in self.expressions)
        return replace(rows, values=tuple(rows.rows if c is None else rows.values[c] for c in columns))

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * PASS, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.project.operator import Project

        return Project(self, context)
