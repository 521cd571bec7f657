"""Projections of plain columns: made, merged, and lifted above joins, so that the rules below see the joins themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sash.plan.nodes import Aggregate, Join, Plan, Project
from sash.plan.rules.conditions import substituted
from sash.plan.tables import is_non_retroactive
from sash.scalar.nodes import Column, remap


def columns_of(plan: Plan) -> tuple[Column, ...]:
    return tuple(Column(place, field.type, field.name) for place, field in enumerate(plan.schema.fields))


def selected(plan: Plan, places: Sequence[int], names: tuple[str, ...] | None = None) -> Plan:
    """Some columns of a plan, in this order; the plan itself if that is all of it."""
    whole = columns_of(plan)
    wanted = tuple(whole[place].name for place in places) if names is None else names
    if list(places) == list(range(len(whole))) and wanted == plan.schema.names:
        return plan
    return merged(Project(plan, tuple(whole[place] for place in places), wanted))


def distinct(plan: Plan) -> Plan:
    return Aggregate(plan, tuple(range(len(plan.schema))), (), plan.schema.names)


def is_distinct(plan: Plan) -> bool:
    """Whether a plan is a DISTINCT, and so has every row once."""
    return isinstance(plan, Aggregate) and not plan.calls and set(plan.keys) == set(range(len(plan.input.schema)))


def merged(plan: Project) -> Project:
    """One projection instead of two, where the lower one only picks columns."""
    below = plan.input
    if not isinstance(below, Project) or plain_places(below) is None:
        return plan
    expressions = tuple(substituted(expression, below.expressions) for expression in plan.expressions)
    return Project(below.input, expressions, plan.names)


def plain_places(plan: Plan) -> list[int] | None:
    """Which columns of its input a projection picks, None if it computes any."""
    if not isinstance(plan, Project):
        return None
    places = [expression.index for expression in plan.expressions if isinstance(expression, Column)]
    return places if len(places) == len(plan.expressions) else None


def lifted(join: Join) -> Plan:
    """The join of what lies below plain projections, projected afterwards. Tables are left as they are."""
    if is_non_retroactive(join.left) or is_non_retroactive(join.right):
        return join
    left, right = plain_places(join.left), plain_places(join.right)
    if left is None and right is None:
        return join
    lower = [side.input if isinstance(side, Project) and places is not None else side
             for side, places in ((join.left, left), (join.right, right))]  # fmt: skip
    lefts = left if left is not None else list(range(len(join.left.schema)))
    rights = right if right is not None else list(range(len(join.right.schema)))
    shift = len(lower[0].schema)
    places = [*lefts, *(shift + place for place in rights)]
    residual = None if join.residual is None else remap(join.residual, dict(enumerate(places)))
    inner = replace(
        join, left=lower[0], right=lower[1], left_keys=tuple(lefts[key] for key in join.left_keys),
        right_keys=tuple(rights[key] for key in join.right_keys), residual=residual,
    )
    return selected(inner, places, join.schema.names)
