"""From a logical plan to specs: which operator does the work, and on which level and shard.

Operators that keep rows by key need all rows of a key on one shard. Each asks its input for that:

    exactly(columns)   rows are spread by the hash of just these columns, in this order    (both sides of a join)
    within(columns)    rows that agree on these columns are together                       (groups, net changes)
    single             all rows are on shard 0                                             (windows and aggregates of everything)

A scan can be spread as anybody likes, so a request sinks to it where it can. Where it cannot, an exchange sends the rows through
the network once more, to the next level. With one shard nothing is ever asked for.

What expires by itself stays so as long as possible (seed of the rule: update patterns); it becomes signed changes below an
operator that must act on every expiration: a GROUP BY, a view, a join with an input of signed changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from sash.logical.nodes import Aggregate, Filter, Insertions, Join, Plan, Project, Scan, Window, WindowKind, WindowSpec
from sash.logical.patterns import Pattern
from sash.physical.specs import (
    CountWindowSpec,
    ExpireSpec,
    FilterSpec,
    GroupBySpec,
    InsertionsSpec,
    JoinSpec,
    JumpingWindowSpec,
    PartitionWindowSpec,
    PortSpec,
    ProjectSpec,
    SignedJoinSpec,
    Spec,
    TimeWindowSpec,
)
from sash.scalar.nodes import Column
from sash.schema import FOREVER, MICROSECOND


class Expiry(Enum):
    """How rows leave their windows."""

    AUTO = "auto"  # the planner chooses; today that is DIRECT
    DIRECT = "direct"  # rows carry their expiry as far up as they can
    NEGATIVE = "negative"  # every window sends a negative row for every row that leaves


class Spread(Enum):
    EXACTLY = "exactly"
    WITHIN = "within"
    SINGLE = "single"


@dataclass(frozen=True)
class Request:
    """How an operator wants its input spread over the shards."""

    spread: Spread
    columns: tuple[int, ...] = ()


SINGLE = Request(Spread.SINGLE)


def exactly(columns: tuple[int, ...]) -> Request:
    return Request(Spread.EXACTLY, columns) if columns else SINGLE


def within(columns: tuple[int, ...]) -> Request:
    return Request(Spread.WITHIN, columns) if columns else SINGLE


@dataclass(frozen=True)
class Placed:
    """A spec, its level, and by which columns its rows are spread: any of `keys` tells the shard; () means all on shard 0."""

    spec: Spec
    level: int
    keys: tuple[tuple[int, ...], ...]

    def meets(self, request: Request) -> bool:
        if () in self.keys:
            return request.spread is not Spread.EXACTLY
        if request.spread is Spread.EXACTLY:
            return request.columns in self.keys
        return request.spread is Spread.WITHIN and any(set(key) <= set(request.columns) for key in self.keys)


def place_view(plan: Plan, shards: int, expiry: Expiry) -> tuple[Spec, int]:
    """The spec of a view, which gives signed changes, and its level."""
    placed = Placement(shards, expiry).place(plan, within(tuple(range(len(plan.schema)))), 1)
    return signed(placed.spec), placed.level


def signed(spec: Spec) -> Spec:
    """Rows that never leave are signed changes as they are."""
    return ExpireSpec(spec) if spec.pattern in (Pattern.WEAKEST, Pattern.WEAK) else spec


class Placement:
    """Places plans on a number of shards."""

    def __init__(self, shards: int, expiry: Expiry) -> None:
        self._shards = shards
        self._expiry = expiry

    def place(self, plan: Plan, request: Request, at_least: int) -> Placed:
        """The plan's operators, spread as requested, at this level or above."""
        if self._shards == 1:
            request = SINGLE
        placed = self._natural(plan, request, at_least)
        return placed if self._shards == 1 or placed.meets(request) else exchange(placed, request, placed.level + 1)

    def _natural(self, plan: Plan, request: Request, at_least: int) -> Placed:
        if isinstance(plan, Scan):
            return _scan(plan, request, at_least)
        if isinstance(plan, Insertions):
            below = self.place(plan.input, request, at_least)
            return replace(below, spec=InsertionsSpec(signed(below.spec)))
        if isinstance(plan, Window):
            return self._window(plan, request, at_least)
        if isinstance(plan, Filter):
            below = self.place(plan.input, request, at_least)
            return replace(below, spec=FilterSpec(below.spec, plan.predicate))
        if isinstance(plan, Project):
            return self._project(plan, request, at_least)
        if isinstance(plan, Join):
            return self._join(plan, at_least)
        return self._aggregate(plan, at_least)

    def _window(self, plan: Window, request: Request, at_least: int) -> Placed:
        spec = plan.spec
        if spec.kind is WindowKind.ROWS:
            below = self.place(plan.input, within(spec.partition), at_least)
            if spec.partition:
                return replace(below, spec=PartitionWindowSpec(below.spec, spec.size, spec.partition))
            return replace(below, spec=CountWindowSpec(below.spec, spec.size, spec.slide or 1))
        below = self.place(plan.input, request, at_least)
        window: Spec = TimeWindowSpec(below.spec, _size(spec))
        if spec.kind is WindowKind.RANGE and spec.slide:
            window = JumpingWindowSpec(below.spec, spec.size, spec.slide)
        return replace(below, spec=signed(window) if self._expiry is Expiry.NEGATIVE else window)

    def _project(self, plan: Project, request: Request, at_least: int) -> Placed:
        sources = [e.index if isinstance(e, Column) else None for e in plan.expressions]
        below = self.place(plan.input, _through(request, sources, len(plan.input.schema)), at_least)
        keys = tuple(tuple(sources.index(column) for column in key) for key in below.keys if set(key) <= set(sources))
        # No key left: rows are spread by something that the output does not show.
        return Placed(ProjectSpec(below.spec, plan.expressions, plan.names), below.level, keys)

    def _join(self, plan: Join, at_least: int) -> Placed:
        left_request, right_request = exactly(plan.left_keys), exactly(plan.right_keys)
        left = self.place(plan.left, left_request, at_least)
        right = self.place(plan.right, right_request, at_least)
        level = max(left.level, right.level)
        left = self._raised(left, plan.left, left_request, at_least, level)
        right = self._raised(right, plan.right, right_request, at_least, level)
        shift = len(plan.left.schema)
        keys = (*left.keys, *(tuple(shift + column for column in key) for key in right.keys))
        if Pattern.STRICT in (left.spec.pattern, right.spec.pattern):
            spec: Spec = SignedJoinSpec(signed(left.spec), signed(right.spec), plan.left_keys, plan.right_keys)
        else:
            spec = JoinSpec(left.spec, right.spec, plan.left_keys, plan.right_keys)
        if plan.residual is not None:
            spec = FilterSpec(spec, plan.residual)
        return Placed(spec, left.level, keys)

    def _raised(self, placed: Placed, plan: Plan, request: Request, at_least: int, level: int) -> Placed:
        """The same at a higher level: without an exchange inside, its streams can as well be read there."""
        if placed.level == level:
            return placed
        if placed.level == at_least:
            return self.place(plan, request, level)
        return exchange(placed, request, level)

    def _aggregate(self, plan: Aggregate, at_least: int) -> Placed:
        below = self.place(plan.input, within(plan.keys), at_least)
        keys = tuple(tuple(plan.keys.index(column) for column in key) for key in below.keys)
        return Placed(GroupBySpec(signed(below.spec), plan.keys, plan.calls, plan.names), below.level, keys)


def exchange(placed: Placed, request: Request, level: int) -> Placed:
    """Send the rows to a higher level, spread as requested."""
    spec = placed.spec
    port = PortSpec(level, spec.schema, spec.pattern, request.columns, source=spec, source_level=placed.level)
    return Placed(port, level, (request.columns,))


def _scan(plan: Scan, request: Request, at_least: int) -> Placed:
    port = PortSpec(at_least, plan.schema, Pattern.MONOTONIC, request.columns, plan.name, plan.is_table)
    return Placed(port, at_least, (request.columns,))


def _size(spec: WindowSpec) -> int:
    if spec.kind is WindowKind.NOW:
        return MICROSECOND
    return FOREVER if spec.kind is WindowKind.UNBOUNDED else spec.size


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
