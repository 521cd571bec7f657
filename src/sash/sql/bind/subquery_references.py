"""Subqueries in expressions, collected while the expressions around them are bound.

    EXISTS (SELECT ...)                 is there a row?
    x IN (SELECT ...), x < ANY (...)    is there a row that x compares with as asked? With several columns: (x, y) IN (...)
    (SELECT ...)                        the value of the only row

Each becomes a column with a number of its own, which `subqueries.py` makes of the rows around it. Equal ones are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.plan.nodes import Plan
from sash.scalar import build
from sash.scalar.nodes import Column, Expression, columns
from sash.schema import BOOLEAN
from sash.sql.bind.context import Context
from sash.sql.bind.inputs import BindQuery
from sash.sql.bind.outer_columns import inside, is_of, reads
from sash.sql.bind.projections import columns as columns_of
from sash.sql.bind.scope import Binder
from sash.sql.syntax.text_positions import at, fault

FIRST = 1 << 36  # the number of the first one's column
_LAST = 1 << 37
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
class Asked:
    """A subquery; `values` are compared with its columns, `comparison` is None if just its value is asked for."""

    plan: Plan
    comparison: str | None
    values: tuple[Expression, ...] = ()

    @property
    def is_scalar(self) -> bool:
        return self.comparison is None


def is_asked(column: Column) -> bool:
    """Whether a column is made of a subquery."""
    return FIRST <= column.index < _LAST


def asks(expression: Expression) -> bool:
    return any(is_asked(column) for column in columns(expression))


class Questions:
    """The subqueries in the expressions of one query."""

    def __init__(self, context: Context, bind_query: BindQuery) -> None:
        self._context = context
        self._bind_query = bind_query
        self._asked: list[Asked] = []
        self._nodes: list[exp.Expr] = []
        self.level = 0 if context.outer is None else context.outer.level + 1

    def add(self, node: exp.Expr, binder: Binder) -> Expression:
        """The value of a subquery, EXISTS, IN, ANY or ALL."""
        if isinstance(node, exp.Exists):
            return self._column(Asked(self._plan(node.this, binder), "exists"), node, binder)
        if isinstance(node, exp.In):
            return self._compared(node, node.this, "equal", node.args["query"], binder)
        if isinstance(node, exp.Subquery):
            return self._column(Asked(self._single(node, binder), None), node, binder)
        comparison, quantified = _COMPARISONS[type(node)], node.expression
        if isinstance(quantified, exp.Any):
            return self._compared(node, node.this, comparison, quantified.this, binder)
        opposite = self._compared(node, node.this, _OPPOSITES[comparison], quantified.this, binder)
        return binder.call(node, "not", [opposite])

    def asked(self, column: Column) -> Asked:
        return self._asked[column.index - FIRST]

    def node(self, column: Column) -> exp.Expr:
        return self._nodes[column.index - FIRST]

    def in_order(self, expressions: Sequence[Expression]) -> list[Column]:
        """The subqueries that expressions read, each after those that it reads itself."""
        found: dict[Column, None] = {}
        for expression in expressions:
            for column in columns(expression):
                if is_asked(column):
                    found |= dict.fromkeys(self.in_order(self.asked(column).values))
                    found[column] = None
        return list(found)

    def needs(self, column: Column) -> Iterator[Column]:
        """The columns of the query that a subquery reads."""
        asked = self.asked(column)
        for value in asked.values:
            for part in columns(value):
                yield from self.needs(part) if is_asked(part) else [part]
        for expression in reads(asked.plan):
            for part in columns(expression):
                if is_of(part, self.level):
                    yield from columns(inside(part, self.level))

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
            for pair in zip(values, columns_of(plan), strict=True):
                build.call(comparison, pair)  # refuses types that cannot be compared
        return self._column(Asked(plan, comparison, values), node, binder)

    def _column(self, asked: Asked, node: exp.Expr, binder: Binder) -> Column:
        if asked not in self._asked:
            self._asked.append(asked)
            self._nodes.append(node)
        place = self._asked.index(asked)
        type_ = asked.plan.schema.types[0] if asked.is_scalar else BOOLEAN
        column = Column(FIRST + place, type_, asked.plan.schema.names[0] if asked.is_scalar else "found")
        binder.seen.setdefault(column, node)
        return column
