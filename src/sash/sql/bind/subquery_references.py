"""Subqueries in expressions, collected while the expressions around them are bound.

    EXISTS (SELECT ...)                 is there a row?
    x IN (SELECT ...), x < ANY (...)    is there a row that x compares with as asked? With several columns: (x, y) IN (...)
    (SELECT ...)                        the value of the only row

Each becomes a reference to its result, of which `subqueries.py` makes a column of the rows around it. Equal ones are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.plan.nodes import Plan
from sash.scalar import build
from sash.scalar.nodes import Expression, Leaf, leaves
from sash.schema import BOOLEAN
from sash.sql.bind.context import Context
from sash.sql.bind.inputs import BindQuery
from sash.sql.bind.outer_columns import inside, is_of
from sash.sql.bind.projections import columns
from sash.sql.bind.references import SubqueryResult, expressions_of
from sash.sql.bind.scope import Binder
from sash.sql.syntax.text_positions import at, fault

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
_OPPOSITES = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
}


@dataclass(frozen=True)
class Subquery:
    """A subquery; `values` are compared with its columns, `comparison` is None if just its value is asked for."""

    plan: Plan
    comparison: str | None
    values: tuple[Expression, ...] = ()

    @property
    def is_scalar(self) -> bool:
        return self.comparison is None


def asks(expression: Expression) -> bool:
    return any(isinstance(leaf, SubqueryResult) for leaf in leaves(expression))


class SubqueryCollector:
    """The subqueries in the expressions of one query."""

    def __init__(self, context: Context, bind_query: BindQuery) -> None:
        self._context = context
        self._bind_query = bind_query
        self._asked: list[Subquery] = []
        self._nodes: list[exp.Expr] = []
        self.level = 0 if context.outer is None else context.outer.level + 1

    def add(self, node: exp.Expr, binder: Binder) -> Expression:
        """The value of a subquery, EXISTS, IN, ANY or ALL."""
        if isinstance(node, exp.Exists):
            return self._result(Subquery(self._plan(node.this, binder), "exists"), node)
        if isinstance(node, exp.In):
            return self._compared(node, node.this, "equal", node.args["query"], binder)
        if isinstance(node, exp.Subquery):
            return self._result(Subquery(self._single(node, binder), None), node)
        comparison, quantified = _COMPARISONS[type(node)], node.expression
        if isinstance(quantified, exp.Any):
            return self._compared(node, node.this, comparison, quantified.this, binder)
        opposite = self._compared(node, node.this, _OPPOSITES[comparison], quantified.this, binder)
        return binder.call(node, "not", [opposite])

    def asked(self, result: SubqueryResult) -> Subquery:
        return self._asked[result.number]

    def node(self, result: SubqueryResult) -> exp.Expr:
        return self._nodes[result.number]

    def in_order(self, expressions: Sequence[Expression]) -> list[SubqueryResult]:
        """The subqueries that expressions read, each after those that it reads itself."""
        found: dict[SubqueryResult, None] = {}
        for expression in expressions:
            for leaf in leaves(expression):
                if isinstance(leaf, SubqueryResult):
                    found |= dict.fromkeys(self.in_order(self.asked(leaf).values))
                    found[leaf] = None
        return list(found)

    def needs(self, result: SubqueryResult) -> Iterator[Leaf]:
        """What a subquery reads of the query."""
        asked = self.asked(result)
        for value in asked.values:
            for leaf in leaves(value):
                yield from self.needs(leaf) if isinstance(leaf, SubqueryResult) else [leaf]
        for expression in expressions_of(asked.plan):
            for leaf in leaves(expression):
                if is_of(leaf, self.level):
                    yield from leaves(inside(leaf, self.level))

    def _plan(self, query: exp.Expr, binder: Binder) -> Plan:
        around = replace(binder.scope, aggregates=binder.aggregates)
        return self._bind_query(query, replace(self._context, outer=around))

    def _single(self, node: exp.Subquery, binder: Binder) -> Plan:
        plan = self._plan(node, binder)
        if len(plan.schema) != 1:
            raise fault(node, f"a subquery that stands for a value needs one column, not {len(plan.schema)}")
        return plan

    def _compared(
        self, node: exp.Expr, left: exp.Expr, comparison: str, query: exp.Expr, binder: Binder
    ) -> Expression:
        plan = self._plan(query, binder)
        while isinstance(left, exp.Paren):
            left = left.this
        nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
        if len(nodes) != len(plan.schema):
            word = "IN" if isinstance(node, exp.In) else "a comparison"
            raise fault(node, f"{word} compares {len(nodes)} values with {len(plan.schema)} columns")
        if len(nodes) > 1 and comparison != "equal":
            raise fault(node, "several values can be compared by = ANY or IN only")
        values = tuple(binder.bind(part) for part in nodes)
        with at(node):
            for pair in zip(values, columns(plan), strict=True):
                build.call(comparison, pair)  # refuses types that cannot be compared
        return self._result(Subquery(plan, comparison, values), node)

    def _result(self, asked: Subquery, node: exp.Expr) -> SubqueryResult:
        if asked not in self._asked:
            self._asked.append(asked)
            self._nodes.append(node)
        type_, name = (asked.plan.schema.types[0], asked.plan.schema.names[0]) if asked.is_scalar else (BOOLEAN, "found")
        return SubqueryResult(type_, name, self._asked.index(asked))
