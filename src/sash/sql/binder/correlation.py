"""Subqueries as they are written: where they stand, and what ties them to the query around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sash.scalar.nodes import Expression, columns
from sash.sql.binder.conditions import conjuncts
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.join_steps import Joined
from sash.sql.binder.support import not_yet
from sash.sql.places import fault

_PLAIN = ("expressions", "from_", "joins", "where", "windows", "with_", "distinct")


@dataclass(frozen=True)
class Membership:
    """A condition that asks whether a subquery has a matching row."""

    node: exp.Expr  # Exists or In
    is_negated: bool


def membership(node: exp.Expr) -> Membership | None:
    """The condition [NOT] EXISTS or [NOT] IN (subquery) that a node is, if it is one."""
    inner, is_negated = node.unnest(), False
    while isinstance(inner, exp.Not):
        inner, is_negated = inner.this.unnest(), not is_negated
    if isinstance(inner, exp.Exists) or (isinstance(inner, exp.In) and inner.args.get("query")):
        return Membership(inner, is_negated)
    return None


def scalar_subqueries(node: object) -> Iterator[exp.Subquery]:
    """The subqueries of a clause that stand for values."""
    if isinstance(node, list):
        for each in node:
            yield from scalar_subqueries(each)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        yield node
    elif isinstance(node, exp.Expr) and not isinstance(node, exp.Exists):
        for key, child in node.args.items():
            if not (isinstance(node, exp.In) and key == "query"):
                yield from scalar_subqueries(child)


def memberships(node: object) -> Iterator[exp.Expr]:
    """The EXISTS and IN (subquery) of a clause, wherever they stand in it."""
    if isinstance(node, list):
        for each in node:
            yield from memberships(each)
    elif isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
        yield node
    elif isinstance(node, exp.Expr) and not isinstance(node, exp.Query):
        for child in node.iter_expressions():
            yield from memberships(child)


def split_conditions(query: exp.Select, joined: Joined) -> tuple[list[Expression], list[Expression]]:
    """The conditions of a subquery by itself, and those that name columns of the query around it."""
    where = query.args.get("where")
    nodes = [] if where is None else list(conjuncts(where.this))
    plain = [node for node in nodes if not any(memberships(node)) and not any(scalar_subqueries(node))]
    binder = ExpressionBinder(joined.scope, "WHERE")
    bound = [binder.condition(node) for node in plain]
    tied = [condition for condition in bound if any(c.index < 0 for c in columns(condition))]
    if tied:
        _check_plain(query, is_whole=len(plain) == len(nodes))
    return [condition for condition in bound if condition not in tied], tied


def _check_plain(query: exp.Select, is_whole: bool) -> None:
    if not is_whole:
        raise not_yet(query, "a subquery inside of a subquery that names columns of the query around it")
    for part, value in query.args.items():
        if value and part not in _PLAIN:
            where = value[0] if isinstance(value, list) else value
            message = "a subquery that names columns of the query around it must be plain: SELECT, FROM and WHERE"
            raise fault(where, message, "compute the rest in a view")
