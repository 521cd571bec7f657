"""What stands for a value while a query is bound, until a plan has a column of it.

    OuterColumn        a value of a query around a subquery: gone when the subquery is unnested        `unnest.py`
    AggregateResult    the value of an aggregate: a column of the groups                               `groups.py`
    SubqueryResult     what a subquery says: a column of the rows, joined with the subquery            `subqueries.py`
    WindowResult       the value of a window function: a column of Over, or the number of a Top        `windowed.py`
    RightColumn        a column of the right side of a join that is made: a column of the join         `joins.py`
    AddedColumn        a column that rows get for the groups made of them                              `composite_aggregates.py`

Where the columns of a query lie in a plan is known by keys: the number of a column, and what a reference says of itself. A plan
that has a reference left cannot run (`finished`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from sash.plan.nodes import Plan, parts
from sash.scalar.nodes import Call, Column, Expression, Leaf, Literal, Reference, leaves, replaced, unfinished


@dataclass(frozen=True)
class AggregateResult(Reference):
    """The value of the aggregate of that number of its query."""

    number: int


@dataclass(frozen=True)
class SubqueryResult(Reference):
    """What the subquery of that number of its query says: its value, or whether it has a row."""

    number: int


@dataclass(frozen=True)
class WindowResult(Reference):
    """The value of the window function of that number of its query."""

    number: int


@dataclass(frozen=True)
class OuterColumn(Reference):
    """A column or an aggregate of the query of a level, as a subquery reads it. The outermost query is of level 0."""

    level: int
    meant: Column | AggregateResult


@dataclass(frozen=True)
class AddedColumn(Reference):
    """A column that rows get in addition: `number` tells those of one query apart."""

    number: int


@dataclass(frozen=True)
class RightPlace:
    """A column of a right side; `join` tells the right sides of joins over one left side apart."""

    index: int
    join: int = 0


@dataclass(frozen=True)
class RightColumn(Reference):
    """A column of the right side of a join; the names of one place may differ."""

    place: RightPlace


Key = int | Reference | RightPlace


def key_of(leaf: Leaf) -> Key:
    """By what the place of a column or of a reference is known."""
    if isinstance(leaf, Column):
        return leaf.index
    return leaf.place if isinstance(leaf, RightColumn) else leaf


def on_right(column: Column, join: int = 0) -> RightColumn:
    """A column of a plan, where that is the right side of a join."""
    return RightColumn(column.type, column.name, RightPlace(column.index, join))


def placed(expression: Expression, places: Mapping[Key, int]) -> Expression:
    """An expression of a query over the columns of a plan; what comes from a query around stays as it is."""

    def column(part: Expression) -> Expression | None:
        if isinstance(part, Call | Literal | OuterColumn):
            return None
        return Column(places[key_of(part)], part.type, part.name)

    return replaced(expression, column)


def expressions_of(plan: Plan) -> Iterator[Expression]:
    """The expressions of a plan, at all depths, whatever nodes it has."""
    for node in parts(plan):
        for member in fields(node):
            value = getattr(node, member.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield part


def finished(plan: Plan) -> Plan:
    """A plan, which can run: one that still has a reference is a fault of the binder."""
    for expression in expressions_of(plan):
        for leaf in leaves(expression):
            if isinstance(leaf, Reference):
                raise unfinished(leaf)
    return plan
