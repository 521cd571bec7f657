"""DISTINCT before a join instead of after it: the join then keeps every row once, and its state is DISTINCT's output.

    distinct(columns of (L join R))  =  distinct(columns of (distinct L' join distinct R'))      L', R': the columns that are read

The outer DISTINCT is not needed where every column of L' and R' is shown, or is a key whose partner is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sash.plan.nodes import Join, Plan, Project
from sash.plan.rules.conditions import read
from sash.plan.rules.plain_columns import distinct, is_distinct, plain_places, selected
from sash.plan.tables import is_non_retroactive
from sash.scalar.nodes import remap


def distinct_below_joins(plan: Plan) -> Iterator[Plan]:
    if not is_distinct(plan):
        return
    below = plan.input  # type: ignore[union-attr]
    places = plain_places(below)
    join = below.input if isinstance(below, Project) and places is not None else below
    if not isinstance(join, Join) or is_non_retroactive(join.left) or is_non_retroactive(join.right):
        return
    if is_distinct(join.left) and is_distinct(join.right):
        return
    shown = places if places is not None else list(range(len(join.schema)))
    lefts, rights = _read_of(join, shown)
    if lefts and rights:  # without columns DISTINCT would be an aggregate without GROUP BY, which has a row also of nothing
        yield _lowered(join, lefts, rights, shown, plan.schema.names)


def _read_of(join: Join, shown: Sequence[int]) -> tuple[list[int], list[int]]:
    """The columns of both sides that are read."""
    width = len(join.left.schema)
    needed = set(shown) | (set() if join.residual is None else read(join.residual))
    lefts = sorted({place for place in needed if place < width} | set(join.left_keys))
    return lefts, sorted({place - width for place in needed if place >= width} | set(join.right_keys))


def _lowered(join: Join, lefts: list[int], rights: list[int], shown: Sequence[int], names: tuple[str, ...]) -> Plan:
    width = len(join.left.schema)
    places = {old: new for new, old in enumerate([*lefts, *(width + place for place in rights)])}
    inner = replace(
        join, left=distinct(selected(join.left, lefts)), right=distinct(selected(join.right, rights)),
        left_keys=tuple(map(lefts.index, join.left_keys)), right_keys=tuple(map(rights.index, join.right_keys)),
        residual=None if join.residual is None else remap(join.residual, places),
    )
    answer = selected(inner, [places[place] for place in shown], names)
    return answer if _is_determined(inner, {places[place] for place in shown}) else distinct(answer)


def _is_determined(join: Join, shown: set[int]) -> bool:
    """Whether the columns that are shown tell all others."""
    width = len(join.left.schema)
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        if shown & {left, width + right}:
            shown = shown | {left, width + right}
    return len(shown) == len(join.schema)
