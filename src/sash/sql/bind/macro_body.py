"""The body of a user-defined aggregate: an expression of aggregates over its parameters, and of nothing else."""

from __future__ import annotations

from sash.plan.nodes import Scan
from sash.scalar import build
from sash.scalar.nodes import Column, leaves
from sash.schema import schema
from sash.sql.bind.calls import Aggregates
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.scope import Input, Scope
from sash.sql.catalog import Macro
from sash.sql.syntax.text_positions import at, fault


def check_macro(macro: Macro) -> None:
    """Raise what is wrong with a body."""
    scope = Scope((Input(Scan(macro.name, schema(*macro.parameters)), macro.name, "aggregate"),))
    calls = Aggregates()
    bound = ExpressionBinder(scope, "CREATE AGGREGATE", calls).bind(macro.body)
    bare = [leaf for leaf in leaves(bound) if isinstance(leaf, Column)]
    if bare:
        message = f'parameter "{bare[0].name}" is used outside of an aggregate'
        raise fault(macro.body, message, f"use an aggregate such as MAX({bare[0].name})")
    if not calls.results:
        raise fault(macro.body, "an aggregate is made of others, and this has none", "such as SUM(x) / COUNT(x)")
    with at(macro.body):
        build.cast(bound, macro.type)
