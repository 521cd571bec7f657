"""The choice of a plan: of all candidates and all ways to let rows leave, the cheapest (seed 003, sections 5.4.2 and 5.4.3).

With `auto`, rows carry their expiry as far up as they can, or become negative rows at one of the joins: below it direct, above it
negative. A join of negative rows counts equal rows once and leaves nothing to expire above; it works twice for every row.

Estimates are rough, so a plan as it was written is left only for one that is clearly cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from sash.deep import deeply
from sash.errors import SashError
from sash.operators.spec import Spec
from sash.plan.nodes import Join, Plan, parts
from sash.plan.rules.budget import Budget
from sash.plan.rules.candidates import candidates
from sash.plan.statistics import NOTHING_KNOWN, Statistics
from sash.planner.common_joins import with_common_joins
from sash.planner.cost import Costs
from sash.planner.estimates import Estimates
from sash.planner.placement import Expiry, place_view

CLEARLY = 0.8  # of the cost of the plan as it was written
BUDGET = 4_000  # nodes of plans that are placed and priced: a plan of a hundred nodes in forty ways
PLACES = 3_000  # ways of such nodes that are tried to place them on several shards
FAR = 0.5  # of the cost of the plan that runs: to change it costs something too


@dataclass(frozen=True)
class Choice:
    """A plan, and the joins at whose inputs negative rows begin at the latest."""

    plan: Plan
    signed_joins: frozenset[Join] = frozenset()
    is_only: bool = field(default=False, compare=False)  # there is no other way, whatever is known of the streams

    @deeply
    def placed(self, shards: int, expiry: Expiry) -> tuple[Spec, int]:
        return self.placed_in(None, shards, expiry)

    def placed_in(self, search: Budget | None, shards: int, expiry: Expiry) -> tuple[Spec, int]:
        """The same, paid for by a search."""
        if (shards, expiry) not in self._places:
            self._places[shards, expiry] = place_view(self.plan, shards, expiry, self.signed_joins, search)
        return self._places[shards, expiry]

    @cached_property
    def _places(self) -> dict[tuple[int, Expiry], tuple[Spec, int]]:
        return {}


@dataclass(frozen=True)
class CommonChoice(Choice):
    """The same with conditions and columns above some joins, which other queries have too."""

    common: frozenset[Spec] = frozenset()

    def placed_in(self, search: Budget | None, shards: int, expiry: Expiry) -> tuple[Spec, int]:
        spec, level = super().placed_in(search, shards, expiry)
        return with_common_joins(spec, self.common), level

    @property
    def below(self) -> Choice:
        """The same with these below."""
        return Choice(self.plan, self.signed_joins, self.is_only)


@dataclass(frozen=True)
class Offer:
    """A choice and what it costs."""

    choice: Choice
    cost: float


@deeply
def choose(plan: Plan, shards: int, expiry: Expiry, statistics: Statistics = NOTHING_KNOWN) -> Choice:
    """The cheapest way to run a plan; as it was written, directly, unless another way is clearly cheaper."""
    plans = candidates(plan)
    if len(plans) == 1 and len(ways := list(_ways(plans[0], expiry))) == 1:
        only = replace(ways[0], is_only=True)
        only.placed(shards, expiry)  # an error if it cannot be run
        return only
    first, *others = _offers(plans, shards, expiry, statistics)
    best = min(others, key=lambda offer: offer.cost, default=first)
    return best.choice if best.cost < CLEARLY * first.cost else first.choice


@deeply
def better(plan: Plan, current: Choice, shards: int, expiry: Expiry, statistics: Statistics) -> Choice | None:
    """Another way to run a plan, if by what is known now it is far cheaper than the current one."""
    if current.is_only:
        return None
    costs = Costs(Estimates(statistics))
    best = min(offers(plan, shards, expiry, statistics), key=lambda offer: offer.cost)
    return best.choice if best.cost < FAR * _offer(current, shards, expiry, costs).cost else None


@deeply
def offers(plan: Plan, shards: int, expiry: Expiry, statistics: Statistics = NOTHING_KNOWN) -> list[Offer]:
    """All choices with their costs, the plan as it was written first."""
    return _offers(candidates(plan), shards, expiry, statistics)


def _offers(plans: Sequence[Plan], shards: int, expiry: Expiry, statistics: Statistics) -> list[Offer]:
    """Every plan directly, then the cheapest of them in other ways, as long as the budget lasts; the plan as it was written
    comes first, and is looked at whatever that takes.
    """
    costs = Costs(Estimates(statistics))
    nodes, places = Budget(BUDGET - len(parts(plans[0]))), Budget(PLACES)
    found = [_offer(Choice(plans[0]), shards, expiry, costs, places)]
    for way in chain((Choice(plan) for plan in plans[1:]), _other_ways(found, expiry)):
        nodes.take(len(parts(way.plan)))
        if nodes.is_spent or places.is_spent:
            break
        with suppress(SashError):  # a table would have to be joined with rows that leave early
            found.append(_offer(way, shards, expiry, costs, places))
    return found


def _other_ways(found: Sequence[Offer], expiry: Expiry) -> Iterator[Choice]:
    """Of all that is found when the first of them is asked for."""
    for offer in sorted(found, key=lambda offer: offer.cost):
        _, *others = _ways(offer.choice.plan, expiry)
        yield from others


def _offer(choice: Choice, shards: int, expiry: Expiry, costs: Costs, search: Budget | None = None) -> Offer:
    spec, _ = choice.placed_in(search, shards, expiry)
    return Offer(choice, costs.total(spec))


def _ways(plan: Plan, expiry: Expiry) -> Iterator[Choice]:
    yield Choice(plan)
    if expiry is Expiry.AUTO:
        joins = [part for part in parts(plan) if isinstance(part, Join)]
        yield from (Choice(plan, frozenset({join})) for join in joins)
        if len(joins) > 1:
            yield Choice(plan, frozenset(joins))


