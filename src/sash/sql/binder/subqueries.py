"""Conditions on subqueries, turned into joins.

    EXISTS (SELECT ... WHERE inner.k = outer.k)     semi-join on k; NOT EXISTS: anti-join
    x IN (SELECT y ...)                             semi-join on x = y; NOT IN: anti-join that minds NULLs
    ... OR x IN (SELECT y ...)                      a column, made of both

Conditions in the WHERE of the subquery may name columns of the query around it: they become conditions of the join.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sash.scalar import build
from sash.scalar.nodes import Column, Expression, columns, remap
from sash.sql.binder import matches
from sash.sql.binder.context import Context
from sash.sql.binder.correlation import Membership, split_conditions
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.flags import Flag
from sash.sql.binder.from_clause import bind_from
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.join_steps import Joined
from sash.sql.binder.joins import Part
from sash.sql.binder.projections import columns as columns_of
from sash.sql.binder.scope import Scope
from sash.sql.binder.support import not_yet
from sash.sql.places import at, fault

Pair = tuple[Expression, Expression]  # a value of this query, and a column of the subquery


class MembershipBinder:
    """Applies the memberships of a query to its joined inputs."""

    def __init__(self, scope: Scope, context: Context, bind_query: BindQuery) -> None:
        self.scope = scope
        self.context = context
        self.bind_query = bind_query

    def apply(self, part: Part, asked: Membership) -> Part:
        if isinstance(asked.node, exp.Exists):
            right, conditions, _ = self._right(asked.node.this)
            return (matches.anti if asked.is_negated else matches.semi)(part, right, conditions)
        return self._in(part, asked)

    def tell(self, part: Part, flag: Flag) -> Part:
        """A part with the value of EXISTS or IN as one more column."""
        if isinstance(flag.node, exp.Exists):
            right, conditions, _ = self._right(flag.node.this)
            return matches.exists_value(part, right, conditions, flag.column.index)
        right, conditions, pairs = self._pairs(flag.node)
        value, choice = _single(flag.node, pairs, "IN with several columns as a value")
        return matches.in_value(part, right, value, choice, conditions, flag.column.index)

    def _in(self, part: Part, asked: Membership) -> Part:
        right, conditions, pairs = self._pairs(asked.node)
        if asked.is_negated:
            value, choice = _single(asked.node, pairs, "NOT IN with several columns")
            return matches.not_in(part, right, value, choice, conditions)
        return matches.semi(part, right, [*(build.call("equal", pair) for pair in pairs), *conditions])

    def _pairs(self, node: exp.Expr) -> tuple[Part, list[Expression], list[Pair]]:
        """The subquery of an IN, what ties it to this query, and what is compared."""
        right, conditions, choices = self._right(node.args["query"].this)
        left = node.this.unnest()
        nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
        if len(nodes) != len(choices):
            raise fault(node, f"IN compares {len(nodes)} values with {len(choices)} columns")
        binder = ExpressionBinder(self.scope, "WHERE")
        pairs = list(zip([binder.bind(node) for node in nodes], choices, strict=True))
        with at(node):
            for pair in pairs:
                build.call("equal", pair)  # refuses types that cannot be compared
        return right, conditions, pairs

    def _right(self, query: exp.Expr) -> tuple[Part, list[Expression], list[Expression]]:
        """A subquery as a part, what ties it to this query, and its columns; all numbered after this query's."""
        inner = query.unnest() if isinstance(query, exp.Subquery) else query
        if isinstance(inner, exp.Select):
            context = self.context.inside(inner)
            joined = bind_from(inner, context, self.bind_query, self.scope)
            own, tied = split_conditions(inner, joined)
            if tied:
                return self._tied(inner, joined, own, tied)
        plan = self.bind_query(inner, self.context)
        numbered = [Column(self._shift(c.index), c.type, c.name) for c in columns_of(plan)]
        return Part(plan, {column.index: n for n, column in enumerate(numbered)}), [], list(numbered)

    def _tied(
        self, query: exp.Select, joined: Joined, own: Sequence[Expression], tied: Sequence[Expression]
    ) -> tuple[Part, list[Expression], list[Expression]]:
        inner = joined.part(own)
        binder = ExpressionBinder(joined.scope, "the select list of this subquery")
        items = [binder.bind(node) for node in query.expressions if not node.is_star]
        shifted = Part(inner.plan, {self._shift(column): place for column, place in inner.places.items()})
        return shifted, [self._moved(c) for c in tied], [self._moved(item) for item in items]

    def _moved(self, expression: Expression) -> Expression:
        """From the numbers of the subquery to those of both queries."""
        return remap(expression, {c.index: self._shift(c.index) for c in columns(expression)})

    def _shift(self, column: int) -> int:
        return -1 - column if column < 0 else self.scope.width + column


def _single(node: exp.Expr, pairs: Sequence[Pair], what: str) -> Pair:
    if len(pairs) > 1:
        raise not_yet(node, what)
    return pairs[0]
