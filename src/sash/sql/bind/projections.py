"""Projections, left out where they would change nothing, and what is made of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sash.plan.nodes import Aggregate, Combination, Combine, Plan, Project
from sash.scalar.nodes import Column, Expression


def project(plan: Plan, expressions: Sequence[Expression], names: Sequence[str]) -> Plan:
    """The expressions over a plan: the plan itself if they are its columns."""
    if not _is_identity(plan, expressions):
        return Project(plan, tuple(expressions), tuple(names))
    return rename(plan, names)


def rename(plan: Plan, names: Sequence[str]) -> Plan:
    """The same columns under other names."""
    if tuple(names) == plan.schema.names:
        return plan
    if isinstance(plan, Project | Aggregate):
        return replace(plan, names=tuple(names))
    return Project(plan, columns(plan), tuple(names))


def cut(plan: Plan, start: int, stop: int) -> Plan:
    """Some neighbouring columns of a plan."""
    kept = columns(plan)[start:stop]
    return project(plan, kept, [column.name for column in kept])


def distinct(plan: Plan) -> Plan:
    """Every row once."""
    return Aggregate(plan, tuple(range(len(plan.schema))), (), plan.schema.names)


def columns(plan: Plan) -> tuple[Column, ...]:
    return tuple(Column(place, field.type, field.name) for place, field in enumerate(plan.schema.fields))


def _is_identity(plan: Plan, expressions: Sequence[Expression]) -> bool:
    places = [expression.index for expression in expressions if isinstance(expression, Column)]
    return len(places) == len(expressions) and places == list(range(len(plan.schema)))


def union(sides: Sequence[Plan]) -> Plan:
    """All rows of all sides, in a tree that is as low as it can be."""
    if len(sides) == 1:
        return sides[0]
    middle = (len(sides) + 1) // 2
    return Combine(union(sides[:middle]), union(sides[middle:]), Combination.UNION_ALL)
