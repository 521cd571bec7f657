"""Inner joins in another order: the one whose first join lets little through keeps the others small.

    (A join B) join C   =   (A join C) join B     where C meets A, or a column of B that equals one of A
                        =   A join (B join C)     where C meets B

Every order of a chain of joins is reached in a few such steps. A NON RETROACTIVE table stays where it is: what is found in it
depends on the instant of the row that looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sash.plan.nodes import Join, Plan
from sash.plan.rules.conditions import read
from sash.plan.rules.plain_columns import selected
from sash.plan.tables import is_non_retroactive
from sash.scalar.nodes import Expression, remap


def join_orders(plan: Plan) -> Iterator[Plan]:
    if not isinstance(plan, Join) or not isinstance(plan.left, Join) or not plan.left_keys:
        return
    if any(map(is_non_retroactive, (plan.left.left, plan.left.right, plan.right))):
        return
    yield from _last_first(plan, plan.left)
    yield from _last_two_first(plan, plan.left)


def _last_first(plan: Join, inner: Join) -> Iterator[Plan]:
    """(A join C) join B."""
    a, b, c = len(inner.left.schema), len(inner.right.schema), len(plan.right.schema)
    same = {a + theirs: mine for mine, theirs in zip(inner.left_keys, inner.right_keys, strict=True)}
    keys = tuple(same.get(key, key) for key in plan.left_keys)
    if max(keys) >= a or any(a <= place < a + b for place in _residual(plan)):
        return
    c_places = {place: place for place in range(a)} | {a + b + place: a + place for place in range(c)}
    b_places = {place: place for place in range(a)} | {a + place: a + c + place for place in range(b)}
    first = replace(plan, left=inner.left, left_keys=keys, residual=_moved(plan, c_places))
    second = replace(inner, left=first, residual=_moved(inner, b_places))
    order = [*range(a), *range(a + c, a + c + b), *range(a, a + c)]
    yield selected(second, order, plan.schema.names)


def _last_two_first(plan: Join, inner: Join) -> Iterator[Plan]:
    """A join (B join C)."""
    a, b, c = len(inner.left.schema), len(inner.right.schema), len(plan.right.schema)
    same = {mine: a + theirs for mine, theirs in zip(inner.left_keys, inner.right_keys, strict=True)}
    keys = tuple(same.get(key, key) for key in plan.left_keys)
    if min(keys) < a or any(place < a for place in _residual(plan)):
        return
    places = {a + place: place for place in range(b + c)}
    last = replace(plan, left=inner.right, left_keys=tuple(key - a for key in keys), residual=_moved(plan, places))
    yield replace(inner, right=last)


def _residual(join: Join) -> set[int]:
    return set() if join.residual is None else read(join.residual)


def _moved(join: Join, places: dict[int, int]) -> Expression | None:
    return None if join.residual is None else remap(join.residual, places)
