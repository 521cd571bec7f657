"""Aggregate calls, collected while the expressions around them are bound.

A call becomes a reference to its result: `SUM(a) / COUNT(*)` is a division of two such references.
"""

from __future__ import annotations

from sqlglot import exp

from sash.errors import SqlError
from sash.scalar.nodes import Expression
from sash.sql.bind import aggregate_functions
from sash.sql.bind.aggregate_functions import bind_call
from sash.sql.bind.aggregate_syntax import BoundCall, written
from sash.sql.bind.outer_columns import inside, level_of, outside
from sash.sql.bind.pair_statistics import STATISTICS
from sash.sql.bind.references import AggregateResult
from sash.sql.bind.scope import Binder
from sash.sql.syntax.text_positions import fault

INSIDE = "an aggregate"  # the clause of an aggregate's argument


def is_aggregate(name: str) -> bool:
    return aggregate_functions.is_aggregate(name) or name in STATISTICS


def misplaced(node: exp.Expr, clause: str) -> SqlError:
    """The fault of an aggregate where there can be none."""
    if clause == INSIDE:
        return fault(node, "an aggregate cannot be inside another one", "compute the inner one in a subquery")
    hint = "use HAVING" if clause == "WHERE" else None
    return fault(node, f"an aggregate is not allowed in {clause}", hint)


def of_outer_query(node: exp.Expr, binder: Binder) -> Expression | None:
    """An aggregate of columns of a query around this one belongs to that query: HAVING EXISTS (... WHERE x = MAX(o.y))."""
    if binder.scope.outer is None or not is_known(node):
        return None
    if not any(binder.scope.resolve_outside(column) for column in node.find_all(exp.Column) if column.name != "*"):
        return None
    call = bind_call(written(node), binder)
    level, around = level_of(call.expressions), binder.scope
    if level is None:
        return None
    while around.level > level:
        assert around.outer is not None
        around = around.outer
    if around.aggregates is None:
        raise misplaced(node, "this part of the query around the subquery")
    own = call.over(lambda expression: inside(expression, level))
    return outside(around.aggregates.add_bound(own, node), level)


def is_known(node: exp.Expr) -> bool:
    """Whether a node is an aggregate that there is, with whatever is around it."""
    while isinstance(node, exp.Filter | exp.WithinGroup):
        node = node.this
    return isinstance(node, exp.Anonymous) and aggregate_functions.is_aggregate(node.name.lower())


class Aggregates:
    """The aggregate calls of a query; equal calls are one."""

    def __init__(self) -> None:
        self.calls: list[BoundCall] = []
        self.results: list[AggregateResult] = []

    def add(self, node: exp.Expr, binder: Binder) -> AggregateResult:
        """What stands for a call; `binder` binds its arguments."""
        given = written(node)
        if given.user is None and not aggregate_functions.is_aggregate(given.name):
            raise fault(node, f"FILTER and WITHIN GROUP need an aggregate; {given.name.upper()} is none")
        return self.add_bound(bind_call(given, binder), node)

    def add_bound(self, call: BoundCall, node: exp.Expr) -> AggregateResult:
        if call not in self.calls:
            self.results.append(AggregateResult(call.type, str(node.sql(dialect="spark")), len(self.calls)))
            self.calls.append(call)
        return self.results[self.calls.index(call)]
