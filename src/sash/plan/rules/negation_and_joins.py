"""Negation above or below a join (seed 003, figure 6): which is cheaper depends on what each of them lets through.

    (A anti B) join C   =   (A join C) anti B        where the negation looks at columns of A only; semi joins alike

Both are exact: a row of A has its matches in B whatever it is joined with. That does not hold for MINUS … ON, which counts rows:
a join changes the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sash.plan.nodes import Combination, Combine, Join, Plan
from sash.plan.rules.conditions import read
from sash.plan.rules.plain_columns import plain_places, selected
from sash.plan.tables import is_non_retroactive
from sash.scalar.nodes import Expression, remap


@dataclass(frozen=True)
class Matched:
    """Rows of `kept` that have (SEMI) or have not (ANTI) a match among `others`."""

    kept: Plan
    others: Plan
    kept_keys: tuple[int, ...]
    other_keys: tuple[int, ...]
    residual: Expression | None  # over the columns of kept, then those of others
    how: Combination

    @property
    def reads(self) -> set[int]:
        """The columns of `kept` that decide."""
        more = set() if self.residual is None else {c for c in read(self.residual) if c < len(self.kept.schema)}
        return set(self.kept_keys) | more

    def over(self, kept: Plan, places: dict[int, int]) -> Matched:
        """The same question about another plan, in which the columns of this one lie at `places`."""
        width, new = len(self.kept.schema), len(kept.schema)
        moved = places | {width + place: new + place for place in range(len(self.others.schema))}
        residual = None if self.residual is None else remap(self.residual, moved)
        return replace(self, kept=kept, kept_keys=tuple(places[key] for key in self.kept_keys), residual=residual)

    def plan(self) -> Plan:
        pairs = Join(self.kept, self.others, self.kept_keys, self.other_keys, self.residual)
        return Combine(self.kept, selected(pairs, range(len(self.kept.schema))), self.how)


def matched(plan: Plan) -> Matched | None:
    """A plan as a semi or anti join, if it is one."""
    if not isinstance(plan, Combine) or plan.how not in (Combination.SEMI, Combination.ANTI):
        return None
    places, pairs = plain_places(plan.right), getattr(plan.right, "input", None)
    if places != list(range(len(plan.schema))) or not isinstance(pairs, Join) or pairs.left != plan.left:
        return None
    return Matched(plan.left, pairs.right, pairs.left_keys, pairs.right_keys, pairs.residual, plan.how)


def negation_up(plan: Plan) -> Iterator[Plan]:
    """Join first."""
    if not isinstance(plan, Join) or is_non_retroactive(plan.left) or is_non_retroactive(plan.right):
        return
    found = matched(plan.left)
    if found is not None:
        joined = replace(plan, left=found.kept)
        yield found.over(joined, {place: place for place in range(len(found.kept.schema))}).plan()
    found = matched(plan.right)
    if found is not None:
        joined, shift = replace(plan, right=found.kept), len(plan.left.schema)
        yield found.over(joined, {place: shift + place for place in range(len(found.kept.schema))}).plan()


def negation_down(plan: Plan) -> Iterator[Plan]:
    """Negate first."""
    found = matched(plan)
    if found is None or not isinstance(found.kept, Join):
        return
    join, width = found.kept, len(found.kept.left.schema)
    if is_non_retroactive(join.left) or is_non_retroactive(join.right):
        return  # a table's row is that of the pair's own instant, which the negation may move
    if max(found.reads, default=0) < width:
        yield replace(join, left=_lower(found, join.left, 0).plan())
    elif min(found.reads) >= width:
        yield replace(join, right=_lower(found, join.right, width).plan())


def _lower(found: Matched, kept: Plan, shift: int) -> Matched:
    """The same question about one side of the join, whose columns begin at `shift`."""
    width, new = len(found.kept.schema), len(kept.schema)
    places = {shift + place: place for place in range(new)} | {
        width + place: new + place for place in range(len(found.others.schema))
    }
    residual = None if found.residual is None else remap(found.residual, places)
    return replace(found, kept=kept, kept_keys=tuple(places[key] for key in found.kept_keys), residual=residual)
