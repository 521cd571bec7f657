"""Subqueries that stand for a value which depends on the row of the query around them.

    price = (SELECT MAX(price) FROM bids x WHERE x.auction = b.auction)

The subquery is grouped by what its conditions compare, and joined from the left: a row without a group gets the value
over no rows, which is 0 for COUNT and NULL for all other aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sash.logical.nodes import Function
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, Literal, columns, remap
from sash.schema import BIGINT
from sash.sql.binder.calls import Aggregates
from sash.sql.binder.context import Context
from sash.sql.binder.correlation import split_conditions
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.from_clause import bind_from
from sash.sql.binder.groups import Groups, aggregate
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.join_steps import Joined, Step
from sash.sql.binder.joins import Part
from sash.sql.binder.scope import Input
from sash.sql.places import fault

Pair = tuple[Expression, Expression]  # of the subquery, and of the query around it


def tied_scalar(node: exp.Subquery, joined: Joined, context: Context, bind_query: BindQuery) -> Joined | None:
    """The query around with the groups of the subquery joined; None if nothing ties the subquery to it."""
    query = node.this.unnest()
    if not isinstance(query, exp.Select):
        return None
    inside = bind_from(query, context.inside(query), bind_query, joined.scope)
    own, tied = split_conditions(query, inside)
    if not tied:
        return None
    calls = Aggregates(inside.scope.width)
    value = _value(node, query, calls, ExpressionBinder(inside.scope, "SELECT", calls))
    pairs = [_pair(condition, node) for condition in tied]
    keys = tuple(dict.fromkeys(mine for mine, _ in pairs))
    names = [*(f"key{n + 1}" for n in range(len(keys))), *(column.name for column in calls.columns)]
    plan = aggregate(inside.part(own), Groups(keys, calls, tuple(names)))
    scope = joined.scope.widened(Input(plan, "", "subquery", is_hidden=True))
    found = list(scope.columns(len(scope.inputs) - 1))
    conditions = [build.call("equal", [found[keys.index(mine)], theirs]) for mine, theirs in pairs]
    step = Step("LEFT", Part(plan, {column.index: n for n, column in enumerate(found)}), tuple(conditions), node)
    shown = _over_groups(value, calls, found[len(keys) :])
    return Joined(replace(scope, scalars={**scope.scalars, id(node): shown}), (*joined.steps, step))


def _value(node: exp.Subquery, query: exp.Select, calls: Aggregates, binder: ExpressionBinder) -> Expression:
    """What the subquery selects, over its aggregate calls alone."""
    if len(query.expressions) != 1:
        raise fault(node, f"a subquery that stands for a value needs one column, not {len(query.expressions)}")
    value = binder.bind(query.expressions[0].unalias())
    if not calls.columns or any(column.index < calls.first for column in columns(value)):
        hint = "use an aggregate, such as (SELECT MAX(x) FROM ...), or join the subquery"
        raise fault(node, "a subquery that stands for a value must always have one row", hint)
    return value


def _pair(condition: Expression, node: exp.Subquery) -> Pair:
    """The two sides of an equality, that of the query around with its own numbers."""
    if isinstance(condition, Call) and condition.function == "equal":
        one, other = condition.arguments
        for mine, theirs in ((one, other), (other, one)):
            if _are(mine, is_outside=False) and _are(theirs, is_outside=True):
                return mine, remap(theirs, {column.index: -1 - column.index for column in columns(theirs)})
    hint = "other comparisons need a join"
    raise fault(node, "a subquery that stands for a value can be tied to the query around it by = only", hint)


def _are(expression: Expression, is_outside: bool) -> bool:
    found = list(columns(expression))
    return bool(found) and all((column.index < 0) is is_outside for column in found)


def _over_groups(value: Expression, calls: Aggregates, found: Sequence[Column]) -> Expression:
    """The value over the columns of the joined groups."""
    if isinstance(value, Call):
        return Call(value.function, tuple(_over_groups(part, calls, found) for part in value.arguments), value.type)
    if isinstance(value, Literal):
        return value
    place = value.index - calls.first
    if calls.calls[place].function is Function.COUNT:
        return build.call("coalesce", [found[place], Literal(0, BIGINT)])
    return found[place]
