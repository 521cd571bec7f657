"""From a logical plan to specs: which operator does the work, and on which level and shard.

Operators that keep rows by key need all rows of a key on one shard. Each asks its input for that (`spread.py` says how). A scan
can be spread as anybody likes, so a request sinks to it where it can. Where it cannot, an exchange sends the rows through the
network once more, to the next level. With one shard nothing is ever asked for.

What expires by itself stays so as long as possible (seed of the rule: update patterns); it becomes signed changes below an
operator that must act on every expiration: a GROUP BY, a set operator, a view, a join with an input of signed changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import assert_never

from sash.errors import SashError
from sash.operators.as_of.spec import AsOfSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.spec import GroupBySpec
from sash.operators.join.spec import JoinSpec, SignedJoinSpec
from sash.operators.lookup.spec import LookupSpec, SignedLookupSpec
from sash.operators.over.spec import OverSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sequence.spec import SequenceSpec
from sash.operators.sets.spec import CombineSpec, MinusSpec, UnionAllSpec
from sash.operators.spec import TIME, PortSpec, Spec, beginning
from sash.operators.streams.spec import BeginSpec, TableChangesSpec
from sash.operators.time.spec import CurrentPeriodSpec, TimePredicateSpec, single_row, time_port
from sash.operators.top.spec import TopSpec
from sash.operators.unnest.spec import UnnestSpec
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import (
    Aggregate,
    Combination,
    Combine,
    Deletions,
    Emit,
    Filter,
    Insertions,
    Join,
    Minus,
    Plan,
    Project,
    Scan,
    Sequence,
    SingleRow,
    Snapshots,
    TableChanges,
    Top,
    Window,
    parts,
    scans,
)
from sash.plan.over import Over
from sash.plan.patterns import Pattern
from sash.plan.rules.budget import Budget
from sash.plan.streams import Updates
from sash.plan.tables import is_non_retroactive, turned
from sash.plan.time_predicate import TimePredicate
from sash.plan.times import Time, time_of
from sash.plan.unnest import Unnest
from sash.planner.distribution import SINGLE, Placed, Request, Spread, exactly, exchange, exchanges, within
from sash.planner.expiry import suit_the_pattern, tell_the_time, wait_for_input
from sash.planner.local_specs import in_stream_order, local_spec, signed, window_over
from sash.scalar.nodes import Column
from sash.tree import rebuild

BUDGET = 2_000  # ways of parts that are tried; then the rows of a union or a difference are spread by all of their columns
FEW = 1 << 16  # first rows that are worth finding on every shard before they are sent to one


class Expiry(Enum):
    """How rows leave their windows."""

    AUTO = "auto"  # as DIRECT or, from some join on, as NEGATIVE, whichever is cheaper; state knows in which order rows leave
    DIRECT = "direct"  # rows carry their expiry as far up as they can
    NEGATIVE = "negative"  # every window sends a negative row for every row that leaves
    TIME_MESSAGE = "time-message"  # windows announce when rows leave; joins pass the messages on
    PIGGYBACK = "piggyback"  # the same, messages being merged with the rows that follow them
    INPUT_TRIGGERED = "input-triggered"  # rows leave when a row comes: the same answers, late


def place_view(
    plan: Plan, shards: int, expiry: Expiry, signed_joins: frozenset[Join] = frozenset(), search: Budget | None = None
) -> tuple[Spec, int]:
    """The spec of a view, which gives signed changes, and its level. At `signed_joins` negative rows begin, at the latest.
    A search that this belongs to pays for every way of a part that is tried.
    """
    streams = _streams(plan)
    if not scans(plan) and not _shows_time(plan):
        raise SashError("a view of constants alone has no input to run on", "let it read a stream or a table")
    # What leaves late must do so everywhere at once, which only one shard knows how to.
    shards = 1 if expiry is Expiry.INPUT_TRIGGERED else shards
    time = time_of(plan)
    placement = Placement(shards, expiry, signed_joins, streams, time)
    placed = placement.place(plan, within(tuple(range(len(plan.schema)))), 1)
    if search is not None:
        search.take(placement.tried)
    spec = _STRATEGIES[expiry](signed(placed.spec), time_port(placed.level, time))
    if streams and any(scan.is_table for scan in scans(plan)):
        spec = rebuild(spec, lambda rows: BeginSpec(rows, streams)) if spec.is_held_back else BeginSpec(spec, streams)
    return spec, placed.level


def _shows_time(plan: Plan) -> bool:
    return any(isinstance(part, TimePredicate | CurrentPeriod) for part in parts(plan))


_STRATEGIES: dict[Expiry, Callable[[Spec, PortSpec], Spec]] = {
    Expiry.AUTO: lambda spec, _time: suit_the_pattern(spec),
    Expiry.DIRECT: lambda spec, _time: spec,
    Expiry.NEGATIVE: lambda spec, _time: spec,
    Expiry.TIME_MESSAGE: lambda spec, _time: tell_the_time(spec, merges=False),
    Expiry.PIGGYBACK: lambda spec, _time: tell_the_time(spec, merges=True),
    Expiry.INPUT_TRIGGERED: wait_for_input,
}


class Placement:
    """Places plans on a number of shards."""

    def __init__(
        self, shards: int, expiry: Expiry, signed_joins: frozenset[Join] = frozenset(), streams: tuple[str, ...] = (),
        time: Time = (),
    ) -> None:
        self._shards = shards
        self._streams = streams  # with whose first row the whole begins
        self._time = time  # that of the whole
        self._expiry = expiry
        self._signed_joins = signed_joins
        self._known: dict[tuple[Plan, Request, int], Placed] = {}  # several ways are tried, mostly made of the same parts

    @property
    def tried(self) -> int:
        """How many ways of parts of the plan were looked at."""
        return len(self._known)

    def place(self, plan: Plan, request: Request, at_least: int) -> Placed:
        """The plan's operators, spread as requested, at this level or above."""
        if self._shards == 1:
            request = SINGLE
        placed = self._natural(plan, request, at_least)
        return placed if self._shards == 1 or placed.meets(request) else exchange(placed, request, placed.level + 1)

    def _natural(self, plan: Plan, request: Request, at_least: int) -> Placed:
        """The same without an exchange on top: the request is met only where that is free."""
        known = (plan, request, at_least)
        if known not in self._known:
            self._known[known] = self._chosen(plan, request, at_least)
        return self._known[known]

    def _chosen(self, plan: Plan, request: Request, at_least: int) -> Placed:
        if isinstance(plan, Scan):
            return _scan(plan, request, at_least, self._time)
        if isinstance(plan, Window):
            return self._window(plan, request, at_least)
        if isinstance(plan, Project):
            return self._project(plan, request, at_least)
        if isinstance(plan, TableChanges):
            return self._table_changes(plan, request, at_least)
        if isinstance(plan, Join):
            return self._join(plan, at_least)
        if isinstance(plan, Combine):
            return self._combine(plan, request, at_least)
        if isinstance(plan, Minus):
            return self._minus(plan, at_least)
        if isinstance(plan, AsOf):
            return self._as_of(plan, at_least)
        if isinstance(plan, Sequence):
            return self._sequence(plan, at_least)
        if isinstance(plan, Top):
            return self._top(plan, at_least)
        if isinstance(plan, TimePredicate | CurrentPeriod):
            return self._timed(plan, request, at_least)
        if isinstance(plan, Unnest):
            return self._unnest(plan, request, at_least)
        if isinstance(plan, Over):
            below = self.place(plan.input, within(plan.partition), at_least)
            return replace(below, spec=OverSpec(signed(below.spec), plan.partition, plan.order, plan.calls, plan.names))
        if isinstance(plan, Aggregate):
            return self._aggregate(plan, at_least)
        if isinstance(plan, SingleRow):
            return Placed(single_row(at_least), at_least, ((),))
        if isinstance(plan, Filter | Insertions | Deletions | Snapshots | Emit):
            # What is shown at an instant depends on the rows of all shards.
            below = self.place(plan.input, SINGLE if isinstance(plan, Snapshots) else request, at_least)
            return replace(below, spec=local_spec(plan, below, self._time))
        assert_never(plan)

    def _window(self, plan: Window, request: Request, at_least: int) -> Placed:
        shape = plan.shape
        below = self.place(plan.input, request if shape.is_spread_anyhow else within(shape.partition), at_least)
        window = window_over(plan, below, self._time)
        return replace(below, spec=signed(window) if self._expiry is Expiry.NEGATIVE else window)

    def _project(self, plan: Project, request: Request, at_least: int) -> Placed:
        sources = [e.index if isinstance(e, Column) else None for e in plan.expressions]
        below = self.place(plan.input, _through(request, sources, len(plan.input.schema)), at_least)
        return Placed(ProjectSpec(below.spec, plan.expressions, plan.names), below.level, below.keys_among(sources))

    def _unnest(self, plan: Unnest, request: Request, at_least: int) -> Placed:
        below = self._widened(plan, request, at_least)
        return replace(below, spec=UnnestSpec(signed(below.spec), plan.array, plan.name, plan.place_name, plan.is_outer))

    def _widened(self, plan: Unnest | TimePredicate | CurrentPeriod, request: Request, at_least: int) -> Placed:
        """The input of a plan that has its columns, and then some of its own."""
        width = len(plan.input.schema)
        sources = [place if place < width else None for place in range(len(plan.schema))]
        return self.place(plan.input, _through(request, sources, width), at_least)

    def _timed(self, plan: TimePredicate | CurrentPeriod, request: Request, at_least: int) -> Placed:
        below = self._widened(plan, request, at_least)
        rows, time = signed(below.spec), time_port(below.level, self._time)
        if isinstance(plan, TimePredicate):
            return replace(below, spec=TimePredicateSpec(rows, time, plan.instants))
        return replace(below, spec=CurrentPeriodSpec(rows, time, plan.periods, self._streams or (TIME,)))

    def _table_changes(self, plan: TableChanges, request: Request, at_least: int) -> Placed:
        sources: list[int | None] = list(plan.columns)
        below = self.place(plan.input, _through(request, sources, len(plan.input.schema)), at_least)
        spec = TableChangesSpec(below.spec, plan.columns, plan.sign, plan.names)
        return Placed(spec, below.level, below.keys_among(plan.columns))

    def _join(self, plan: Join, at_least: int) -> Placed:
        if is_non_retroactive(plan.left) and not is_non_retroactive(plan.right):
            return self._natural(turned(plan), within(tuple(range(len(plan.schema)))), at_least)
        spec: Spec
        left, right = self._keyed_sides(plan, at_least)
        if is_non_retroactive(plan.right) and not is_non_retroactive(plan.left):
            kind = SignedLookupSpec if left.spec.pattern is Pattern.STRICT else LookupSpec
            spec = kind(left.spec, right.spec, plan.left_keys, plan.right_keys)
        elif Pattern.STRICT in (left.spec.pattern, right.spec.pattern) or plan in self._signed_joins:
            spec = SignedJoinSpec(signed(left.spec), signed(right.spec), plan.left_keys, plan.right_keys)
        else:
            spec = JoinSpec(left.spec, right.spec, plan.left_keys, plan.right_keys)
        if plan.residual is not None:
            spec = FilterSpec(spec, plan.residual)
        return Placed(spec, left.level, _keys_of_pairs(plan, left, right))

    def _minus(self, plan: Minus, at_least: int) -> Placed:
        left, right = self._keyed_sides(plan, at_least)
        sides = signed(left.spec), signed(right.spec)
        return replace(left, spec=MinusSpec(*sides, plan.left_keys, plan.right_keys, plan.by_position))

    def _as_of(self, plan: AsOf, at_least: int) -> Placed:
        left, right = self._keyed_sides(plan, at_least)
        spec = AsOfSpec(
            signed(left.spec), signed(right.spec), plan.left_keys, plan.right_keys, plan.left_at, plan.right_at,
            plan.is_forward, plan.is_strict, plan.is_outer,
        )
        return replace(left, spec=spec)

    def _sequence(self, plan: Sequence, at_least: int) -> Placed:
        left, right = self._keyed_sides(plan, at_least)
        spec = SequenceSpec(
            in_stream_order(left.spec), in_stream_order(right.spec), plan.left_keys, plan.right_keys, plan.pairing,
            plan.within, plan.residual,
        )
        return Placed(spec, left.level, _keys_of_pairs(plan, left, right))

    def _keyed_sides(self, plan: Join | AsOf | Minus | Sequence, at_least: int) -> tuple[Placed, Placed]:
        return self._sides(plan, exactly(plan.left_keys), exactly(plan.right_keys), at_least)

    def _sides(
        self, plan: Join | AsOf | Minus | Sequence | Combine, left_request: Request, right_request: Request, at_least: int
    ) -> tuple[Placed, Placed]:
        """Both inputs, on the same level."""
        left = self.place(plan.left, left_request, at_least)
        right = self.place(plan.right, right_request, at_least)
        level = max(left.level, right.level)
        left = self._raised(left, plan.left, left_request, at_least, level)
        return left, self._raised(right, plan.right, right_request, at_least, level)

    def _combine(self, plan: Combine, request: Request, at_least: int) -> Placed:
        """Equal rows of both sides must meet, for a union only where somebody above wants it. Any columns will do, if they are
        the same on both sides: those by which one side is spread anyway, or all of them. The cheapest way is taken.
        """
        if self._shards == 1:
            return self._combined(plan, SINGLE, at_least)
        is_union = plan.how is Combination.UNION_ALL
        wishes = [request] if is_union or request.spread is Spread.EXACTLY else []
        if request.spread is Spread.WITHIN or not is_union:
            wishes += self._common_keys(plan, at_least)
        placed = [self._combined(plan, wish, at_least) for wish in dict.fromkeys(wishes)]
        return min(placed, key=lambda way: _cost(way, request))

    def _common_keys(self, plan: Combine, at_least: int) -> Iterable[Request]:
        everything = within(tuple(range(len(plan.schema))))
        for side in (plan.left, plan.right) if self.tried < BUDGET else ():
            yield from (exactly(key) for key in self._natural(side, everything, at_least).keys)
        yield exactly(everything.columns)

    def _combined(self, plan: Combine, request: Request, at_least: int) -> Placed:
        left, right = self._sides(plan, request, request, at_least)
        keys = tuple(key for key in left.keys if key in right.keys)
        if plan.how is not Combination.UNION_ALL:
            return Placed(CombineSpec(signed(left.spec), signed(right.spec), plan.how), left.level, keys)
        if Pattern.STRICT in (left.spec.pattern, right.spec.pattern):
            return Placed(UnionAllSpec(signed(left.spec), signed(right.spec)), left.level, keys)
        return Placed(UnionAllSpec(left.spec, right.spec), left.level, keys)

    def _top(self, plan: Top, at_least: int) -> Placed:
        if self._shards > 1 and not plan.partition and plan.offset + plan.count <= FEW:
            below = self._first_rows(plan, at_least)
        else:
            below = self.place(plan.input, within(plan.partition), at_least)
        spec = TopSpec(signed(below.spec), plan.partition, plan.order, plan.count, plan.offset, plan.numbered)
        return replace(below, spec=spec)

    def _first_rows(self, plan: Top, at_least: int) -> Placed:
        """All that can be among the first rows, on one shard: only the first rows of every shard are sent there."""
        below = self._natural(plan.input, within(tuple(range(len(plan.input.schema)))), at_least)
        if below.is_single:
            return below
        first = replace(below, spec=TopSpec(signed(below.spec), (), plan.order, plan.offset + plan.count))
        return exchange(first, SINGLE, first.level + 1)

    def _raised(self, placed: Placed, plan: Plan, request: Request, at_least: int, level: int) -> Placed:
        """The same at a higher level: without an exchange inside, its streams can as well be read there."""
        if placed.level == level:
            return placed
        if placed.level == at_least:
            return self.place(plan, request, level)
        return exchange(placed, request, level)

    def _aggregate(self, plan: Aggregate, at_least: int) -> Placed:
        below = self.place(plan.input, within(plan.keys), at_least)
        streams = () if plan.keys else _streams(plan)
        spec = GroupBySpec(signed(below.spec), plan.keys, plan.calls, plan.names, streams)
        return Placed(spec, below.level, below.keys_among(plan.keys))


def _streams(plan: Plan) -> tuple[str, ...]:
    """The names of the streams that a plan reads."""
    return tuple(sorted(beginning(scan.name, scan.stamped_by) for scan in scans(plan) if not scan.is_table))


def _keys_of_pairs(plan: Join | Sequence, left: Placed, right: Placed) -> tuple[tuple[int, ...], ...]:
    shift = len(plan.left.schema)
    return tuple(dict.fromkeys([*left.keys, *(tuple(shift + column for column in key) for key in right.keys)]))


def _cost(placed: Placed, request: Request) -> tuple[int, int]:
    """Levels, then exchanges, the one above included."""
    extra = 0 if placed.meets(request) else 1
    return placed.level + extra, len(exchanges(placed.spec)) + extra


def _scan(plan: Scan, request: Request, at_least: int, time: Time) -> Placed:
    pattern = Pattern.MONOTONIC if plan.updates is Updates.NEVER else Pattern.STRICT
    timed_by = (time if plan.timed_by is None else plan.timed_by) if plan.is_table else ()
    port = PortSpec(
        at_least, plan.schema, pattern, request.columns, plan.name, plan.is_table, plan.since, stamped_by=plan.stamped_by,
        timed_by=timed_by,
    )
    return Placed(port, at_least, (request.columns,))


def _through(request: Request, sources: list[int | None], width: int) -> Request:
    """What to ask below a projection whose i-th output is the input's column sources[i], or computed (None)."""
    if request.spread is Spread.SINGLE:
        return request
    columns = tuple(source for source in (sources[column] for column in request.columns) if source is not None)
    if request.spread is Spread.EXACTLY and len(columns) == len(request.columns):
        return exactly(columns)
    if request.spread is Spread.WITHIN and columns:
        return within(tuple(dict.fromkeys(columns)))
    return within(tuple(range(width)))
