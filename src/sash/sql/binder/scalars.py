"""Subqueries that stand for values, as inputs of one row each.

Those that groups are made of are joined with the other inputs; those that are read over groups, with the groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from sash.logical.nodes import Aggregate, Plan, Project
from sash.scalar.nodes import Column
from sash.sql.binder.context import Context
from sash.sql.binder.correlation import scalar_subqueries
from sash.sql.binder.grouped import is_grouped, is_inside_aggregate
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.join_steps import Joined, Step
from sash.sql.binder.joins import Part
from sash.sql.binder.scope import Input
from sash.sql.binder.tied_scalars import tied_scalar
from sash.sql.places import fault

_BELOW = ("where", "group")
_ABOVE = ("expressions", "having", "order", "qualify")


@dataclass(frozen=True)
class Scalars:
    """The joined inputs of a query with its subqueries, and those that are joined after grouping."""

    joined: Joined
    above: tuple[tuple[Column, Plan], ...]


def with_scalars(node: exp.Select, joined: Joined, context: Context, bind_query: BindQuery) -> Scalars:
    """The joined inputs of a query, with the subqueries of its expressions."""
    has_groups, above = is_grouped(node), list[tuple[Column, Plan]]()
    for clause in (*_BELOW, *_ABOVE):
        for found in scalar_subqueries(node.args.get(clause)):
            is_above = clause in _ABOVE and has_groups and not is_inside_aggregate(found, node)
            tied = None if is_above else tied_scalar(found, joined, context, bind_query)
            if tied is not None:
                joined = tied
                continue
            item = _input(found, context, bind_query)
            joined, column = _with(joined, found, item)
            if is_above:
                above.append((column, item.plan))
            else:
                joined = replace(joined, steps=(*joined.steps, Step("INNER", Part(item.plan, {column.index: 0}), ())))
    return Scalars(joined, tuple(above))


def _with(joined: Joined, node: exp.Subquery, item: Input) -> tuple[Joined, Column]:
    scope = joined.scope.widened(item)
    (column,) = scope.columns(len(scope.inputs) - 1)
    return replace(joined, scope=replace(scope, scalars={**scope.scalars, id(node): column})), column


def _input(node: exp.Subquery, context: Context, bind_query: BindQuery) -> Input:
    plan = bind_query(node.this, context)
    if len(plan.schema) != 1:
        raise fault(node, f"a subquery that stands for a value needs one column, not {len(plan.schema)}")
    inner = plan.input if isinstance(plan, Project) else plan
    if not (isinstance(inner, Aggregate) and not inner.keys):
        hint = "use an aggregate without GROUP BY and HAVING, such as (SELECT MAX(x) FROM ...), or join the subquery"
        raise fault(node, "a subquery that stands for a value must always have one row", hint)
    return Input(plan, "", "subquery", is_hidden=True)
