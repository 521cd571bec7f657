"""Projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.cost import PASS, Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.spec import FollowsInput, Messages, UnarySpec, passed_on
from sash.scalar.nodes import Expression
from sash.schema import Field, Schema

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


@dataclass(frozen=True)
class ProjectSpec(FollowsInput, UnarySpec):
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    keeps = ""
    lookback = NO_LOOKBACK
    needs_exact_departures = False
    is_transparent = True

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))

    @cached_property
    def messages(self) -> Messages:
        return passed_on(self.inputs)

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        columns = (getattr(expression, "index", None) for expression in self.expressions)
        return replace(rows, values=tuple(rows.rows if c is None else rows.values[c] for c in columns))

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * PASS, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.project.operator import Project

        return Project(self, context)
