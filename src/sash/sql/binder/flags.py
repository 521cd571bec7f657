"""EXISTS and IN (subquery) as values: under OR, in CASE, in the select list.

Each is a column that comes after those of the joined inputs, before rows are grouped. Equal ones are one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.logical.nodes import Project
from sash.scalar.nodes import Column, Literal
from sash.schema import BOOLEAN
from sash.sql.binder.conditions import conjuncts
from sash.sql.binder.correlation import membership, memberships
from sash.sql.binder.grouped import is_grouped, is_inside_aggregate
from sash.sql.binder.join_steps import Joined
from sash.sql.binder.scope import Input

_OVER_GROUPS = ("expressions", "having", "order", "qualify")


@dataclass(frozen=True)
class Flag:
    """The number of the column, and what it tells."""

    column: Column
    node: exp.Expr


def with_flags(query: exp.Select, joined: Joined) -> tuple[Joined, tuple[Flag, ...]]:
    """The joined inputs with numbers for the columns; the columns themselves are made when all inputs are joined."""
    scope, flags = joined.scope, list[Flag]()
    for node in _values(query):
        known = [flag for flag in flags if flag.node == node]
        if not known:
            shape = Project(scope.inputs[0].plan, (Literal(None, BOOLEAN),), (node.sql(dialect="spark"),))
            scope = scope.widened(Input(shape, "", "subquery", is_hidden=True))
            known = [Flag(next(scope.columns(len(scope.inputs) - 1)), node)]
            flags += known
        scope = replace(scope, scalars={**scope.scalars, id(node): known[0].column})
    return replace(joined, scope=scope), tuple(flags)


def _values(query: exp.Select) -> Iterator[exp.Expr]:
    if (where := query.args.get("where")) is not None:
        for condition in conjuncts(where.this):
            if membership(condition) is None:
                yield from memberships(condition)
    keys = list(memberships(query.args.get("group")))
    yield from keys
    has_groups = is_grouped(query)
    for clause in _OVER_GROUPS:
        for node in memberships(query.args.get(clause)):
            is_key = clause == "expressions" or node in keys  # GROUP BY may name an item; if not, the item is an error
            if is_key or not has_groups or is_inside_aggregate(node, query):
                yield node
