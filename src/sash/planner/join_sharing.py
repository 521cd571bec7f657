"""Which joins run with their conditions and columns above a common join (`common_joins.py`), and which keep these below.

    below    each join takes in the rows that its conditions let through, and writes its own pairs
    above    one join takes in all rows and writes all pairs; each query asks its conditions of every pair, and copies some

What a join spares by moving up is what it costs below, less what it asks of pairs above. Those that spare something move if
they spare more together than the common join costs. So few queries with choosy conditions stay below, and many over the same rows
meet. All is reckoned with the prices that plans are compared by, for streams as they have been seen to be: nothing moves before.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from sash.operators.estimate import LEAST
from sash.operators.filter.spec import FILTER, LOOKED_UP, selectivity
from sash.operators.join.spec import JOIN_PAIR, JOIN_ROW
from sash.operators.spec import PortSpec, Spec, parts
from sash.plan.rules.conditions import conjuncts
from sash.plan.statistics import Statistics
from sash.planner.cost import Costs
from sash.planner.estimates import Estimates
from sash.scalar.nodes import Call, Expression

ASK, CHOOSE = 60.0, 600.0  # of a change above a common join: to ask it a condition, to copy it for one who wants it
LONELY = 0.3  # what a row costs that meets nobody, of one that does
CLEARLY = 0.8  # a common join begins where it costs less than that much of what it spares, and ends the other way round


class Seen:
    """What has been seen of streams, and of what share of rows the filters that run have let through, by fingerprint."""

    def __init__(self, statistics: Statistics, shares: Mapping[str, float]) -> None:
        self.costs, self.shares, self._streams = Costs(Estimates(statistics)), shares, statistics.rates.keys()

    def has_counted(self, spec: Spec, below: Spec) -> bool:
        """Whether it is a filter of what comes from below that has seen enough."""
        return spec.fingerprint in self.shares and spec.inputs == (below,)

    def knows(self, spec: Spec) -> bool:
        """Whether all streams that are read here have been seen."""
        return all(part.stream is None or part.stream in self._streams for part in parts(spec) if isinstance(part, PortSpec))


@dataclass
class Own:
    """A join with its conditions below it."""

    taps: dict[Spec, dict[str, None]] = field(default_factory=dict)  # with the queries that read them
    spares: float = 0.0  # work a second, if it moves up, of all of its taps
    asks: float = 0.0  # of that, what its conditions cost above if they are asked one by one
    is_looked_up: bool = False  # whether a condition asks for a value: many such are asked at once
    is_above: bool = False


@dataclass
class Common:
    """A join that others could be made of."""

    own: dict[Spec, Own] = field(default_factory=dict)
    prices: dict[Spec, tuple[float, float]] = field(default_factory=dict)  # of its taps: for rows, for pairs

    @property
    def runs(self) -> bool:
        return any(one.is_above for one in self.own.values())

    def moving(self) -> list[Own]:
        """Those that are to be above, if any are."""
        is_asked_at_once = sum(one.is_looked_up for one in self.own.values()) >= LOOKED_UP
        worth = {id(one): one.spares + (one.asks if one.is_looked_up and is_asked_at_once else 0.0) for one in self.own.values()}
        moving = [one for one in self.own.values() if worth[id(one)] > 0]
        taps = {common for one in moving for tap in one.taps if (common := tap.common) in self.prices}
        price = max((self.prices[tap][0] for tap in taps), default=0.0) + sum(self.prices[tap][1] for tap in taps)
        spared = sum(worth[id(one)] for one in moving)
        pays = spared > CLEARLY * price if self.runs else CLEARLY * spared > price
        return moving if pays and len(moving) > 1 else []


class JoinSharing:
    """The joins of all queries that could share more than they do, and which of them do."""

    def __init__(self) -> None:
        self._common: dict[Spec, Common] = {}
        self._joins: dict[str, list[Spec]] = {}  # of a query: with all conditions below

    def add(
        self, name: str, spec: Spec, seen: Seen | None, common: Container[Spec] = ()
    ) -> frozenset[str]:
        """A query comes, whose plan has all conditions below, and which uses these common joins already. The queries that are to
        use others from now on: none while nothing was seen of the streams.
        """
        self._joins[name] = [one for one in parts(spec) if one.common is not None]
        for join in self._joins[name]:
            here = self._common.setdefault(_above(join), Common())
            own = here.own.setdefault(_shared(join), Own(is_above=_above(join) in common))
            if join not in own.taps and seen is not None and seen.knows(join):
                _reckon(here, own, join, seen)
            own.taps.setdefault(join, {})[name] = None
        return self._decided(map(_above, self._joins[name])) if seen is not None else frozenset()

    def remove(self, name: str) -> frozenset[str]:
        """A query goes. Those that are to use other joins from now on."""
        gone = self._joins.pop(name, [])
        for join in gone:
            here = self._common[_above(join)]
            own = here.own[_shared(join)]
            del own.taps[join][name]
            if not own.taps[join]:
                del own.taps[join]
            if not own.taps:
                del here.own[_shared(join)]
        changed = self._decided(map(_above, gone))
        self._common = {join: one for join, one in self._common.items() if one.own} if gone else self._common
        return changed

    def judged_anew(self, seen: Seen) -> frozenset[str]:
        """More is known of the streams. The queries that are to use other joins from now on."""
        known = {join: here for join, here in self._common.items() if seen.knows(join)}
        for here in known.values():
            here.prices.clear()
            for own in here.own.values():
                taps, own.taps = own.taps, {}
                own.spares = own.asks = 0.0
                for join, users in taps.items():
                    _reckon(here, own, join, seen)
                    own.taps[join] = users
        return self._decided(known)

    @property
    def has_choices(self) -> bool:
        """Whether there are joins that could be one."""
        return any(len(here.own) > 1 for here in self._common.values())

    def of(self, name: str) -> frozenset[Spec]:
        """The common joins that a query is to use."""
        joins = self._joins.get(name, ())
        return frozenset(_above(join) for join in joins if self._common[_above(join)].own[_shared(join)].is_above)

    def where(self, here: Common) -> list[Own]:
        """Those of the joins that could be one that are to have their conditions above it."""
        return here.moving()

    def _decided(self, touched: Iterable[Spec]) -> frozenset[str]:
        """Begin or end these joins where that pays: the queries of those that move."""
        names: set[str] = set()
        for join in touched:
            here = self._common[join]
            moving = {id(one) for one in self.where(here)}
            for own in here.own.values():
                if own.is_above != (id(own) in moving):
                    own.is_above = not own.is_above
                    names.update(name for users in own.taps.values() for name in users)
        return frozenset(names)


def _reckon(here: Common, own: Own, join: Spec, seen: Seen) -> None:
    """Add what one more tap of a join spares above; of its rows, which it takes in once, only with the first one."""
    common, estimates = join.common, seen.costs.estimates
    assert common is not None
    here.prices[common] = _rows_and_pairs(common, seen.costs)
    sides = list(zip(join.made_of, common.made_of, strict=True))
    rates, shares = [estimates.of(window).rate for _, window in sides], [_share(*side, seen) for side in sides]
    conditions = [side.of_all_rows.conditions for side, _ in sides]
    partners, pairs = estimates.of(common).rate / max(LEAST, sum(rates)), estimates.of(common).changes
    if not own.taps:
        for rate, share, others, asked in zip(rates, shares, reversed(shares), conditions, strict=True):
            is_looked_up = any(map(_asks_for_a_value, asked))
            own.is_looked_up = own.is_looked_up or is_looked_up
            own.spares += 2 * JOIN_ROW * rate * share * (LONELY + (1 - LONELY) * min(1.0, partners * others))
            own.spares += FILTER * rate if asked and not is_looked_up else 0.0
    share = prod(shares)
    if own.is_above:
        share = next((seen.shares[one.fingerprint] for one in parts(join.above_common) if seen.has_counted(one, common)), share)
    asks = ASK * sum(map(len, conditions)) * pairs
    own.asks += asks
    own.spares += share * pairs * (JOIN_PAIR - CHOOSE) - asks


def _share(side: Spec, window: Spec, seen: Seen) -> float:
    """Of the rows of a window, how many its conditions let through: as was counted where they run, or as is thought."""
    share, values = 1.0, seen.costs.estimates.of(window).values
    if not any(map(_asks_for_a_value, side.of_all_rows.conditions)):  # of those that are looked up, others see no row
        names = [one.fingerprint for one in parts(side).keys() - parts(window).keys()]
        if counted := [seen.shares[name] for name in names if name in seen.shares]:
            return prod(counted)
    for condition in side.of_all_rows.conditions:
        share *= selectivity(condition, values)
    return share


def _rows_and_pairs(join: Spec, costs: Costs) -> tuple[float, float]:
    """What a join costs for the rows that come and leave, and for its pairs."""
    pairs = JOIN_PAIR * costs.estimates.of(join).changes
    return costs.of(join).work - pairs, pairs


def _asks_for_a_value(condition: Expression) -> bool:
    return any(isinstance(one, Call) and one.function == "equal" for one in conjuncts(condition))


def _shared(join: Spec) -> Spec:
    assert join.shared is not None
    return join.shared


def _above(join: Spec) -> Spec:
    assert join.common is not None
    return _shared(join.common)
