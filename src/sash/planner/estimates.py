"""Estimates of every edge: how many rows a second come, how many are there, how many values their columns have.

Independence and uniform values are assumed, as in the cost models that seed 003, section 5.4 builds on. Where an operator already
runs and has been counted, its own numbers are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, prod
from typing import Any

from sash.operators.as_of.spec import AsOfSpec
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.expiry.spec import AnnounceSpec, ExpireSpec, InputExpireSpec, MessageExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.spec import GroupBySpec, SlidingGroupBySpec
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, SignedJoinSpec
from sash.operators.lookup.spec import LookupSpec
from sash.operators.over.spec import OverSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sequence.spec import SequenceSpec
from sash.operators.sets.spec import CombineSpec, MinusSpec, UnionAllSpec
from sash.operators.spec import PortSpec, Spec
from sash.operators.streams.spec import BeginSpec, DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec, TableChangesSpec
from sash.operators.time.spec import PacedSpec, ReachedSpec, TicksSpec
from sash.operators.top.spec import TopSpec
from sash.operators.unnest.spec import UnnestSpec
from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec
from sash.plan.nodes import Combination, Pairing
from sash.plan.patterns import Pattern
from sash.plan.statistics import UNBOUNDED_SECONDS, Statistics
from sash.planner.selectivity import selectivity
from sash.schema import FOREVER, SECOND

LEAST, MOST = 1e-9, 1e100  # numbers that are reckoned with: the product of many joins has no end
ELEMENTS = 4.0  # of an array, as long as nobody has looked
MOST_TAKEN_AWAY = 0.95  # of the left side of a negation: values are never so uniform that nothing is left


@dataclass(frozen=True)
class Estimate:
    """Of one edge."""

    rate: float  # rows that come, a second
    rows: float  # that are there
    values: tuple[float, ...]  # of every column, how many different ones there can be
    premature: float = 0.0  # the share of rows that leave before their time
    leaves: bool = True

    @property
    def distinct_rows(self) -> float:
        """Of the rows that are there, how many are different."""
        return self.groups(range(len(self.values)))

    @property
    def changes(self) -> float:
        """Of a signed edge, a second."""
        return 2 * self.rate if self.leaves else self.rate

    def domain(self, columns: Sequence[int]) -> float:
        """How many different values these columns can have together."""
        return min(MOST, max(1.0, prod(self.values[column] for column in columns)))

    def groups(self, columns: Sequence[int]) -> float:
        """How many of them are expected among the rows."""
        domain = self.domain(columns)
        return -domain * expm1(-self.rows / domain)


class Estimates:
    """Of all edges of the plans it is asked for."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[Spec, Estimate] = {}

    def of(self, spec: Spec) -> Estimate:
        if spec not in self._known:
            self._known[spec] = _in_bounds(self._counted(spec, self._estimate(spec)))
        return self._known[spec]

    def _counted(self, spec: Spec, estimate: Estimate) -> Estimate:
        counted = self._statistics.operators.get(spec.fingerprint)
        if counted is None:
            return estimate
        premature = estimate.premature if counted.premature is None else counted.premature
        grown = counted.rate / estimate.rate if estimate.rate > LEAST else 1.0
        rows = estimate.rows * grown if counted.rows is None else counted.rows
        return replace(estimate, rate=counted.rate, rows=rows, premature=premature)

    def _estimate(self, spec: Spec) -> Estimate:
        if isinstance(spec, PortSpec):
            return self.of(spec.source) if spec.source is not None else self._port(spec)
        rule = next((_RULES[kind] for kind in type(spec).__mro__ if kind in _RULES), None)
        if rule is None:
            raise NotImplementedError(f"no estimate is known for {type(spec).__name__}")
        estimate: Estimate = rule(spec, *(self.of(one) for one in spec.inputs))
        return estimate

    def _port(self, spec: PortSpec) -> Estimate:
        if spec.is_time:
            return Estimate(0.0, 0.0, (), leaves=False)
        assert spec.stream is not None
        values_of = self._statistics.table_values if spec.is_table else self._statistics.values
        values = tuple(values_of(spec.stream, name) for name in spec.schema.names)
        if spec.is_table:
            return Estimate(0.0, self._statistics.rows(spec.stream), values, leaves=spec.pattern is not Pattern.MONOTONIC)
        rate = self._statistics.rate(spec.stream)
        return Estimate(rate, rate * UNBOUNDED_SECONDS, values, leaves=False)


def _in_bounds(estimate: Estimate) -> Estimate:
    return replace(estimate, rate=min(MOST, estimate.rate), rows=min(MOST, estimate.rows))


def _plain(spec: Spec, *below: Estimate) -> Estimate:
    """As many rows as the first input has; of new columns nothing is known."""
    values = [value for one in below for value in one.values]
    values += [below[0].rows] * (len(spec.schema) - len(values))
    return replace(below[0], values=tuple(values[: len(spec.schema)]))


def _time_window(spec: TimeWindowSpec | JumpingWindowSpec, below: Estimate) -> Estimate:
    if spec.size == FOREVER:
        return below
    return replace(below, rows=below.rate * spec.size / SECOND, leaves=True)


def _count_window(spec: CountWindowSpec, below: Estimate) -> Estimate:
    return replace(below, rows=float(spec.size), leaves=True)


def _partition_window(spec: PartitionWindowSpec, below: Estimate) -> Estimate:
    return replace(below, rows=spec.size * below.groups(spec.columns), leaves=True)


def _filter(spec: FilterSpec, below: Estimate) -> Estimate:
    share = selectivity(spec.predicate, below.values)
    return replace(below, rate=below.rate * share, rows=below.rows * share)


def _project(spec: ProjectSpec, below: Estimate) -> Estimate:
    columns = (getattr(expression, "index", None) for expression in spec.expressions)
    return replace(below, values=tuple(below.rows if c is None else below.values[c] for c in columns))


def _unnest(spec: UnnestSpec, below: Estimate) -> Estimate:
    made = _plain(spec, below)
    return replace(made, rate=below.rate * ELEMENTS, rows=below.rows * ELEMENTS)


def _join(spec: JoinSpec, left: Estimate, right: Estimate) -> Estimate:
    share = _meeting(spec, left, right)
    rate = (left.rate * right.rows + right.rate * left.rows) * share
    premature = 1 - (1 - left.premature) * (1 - right.premature)
    return Estimate(rate, left.rows * right.rows * share, left.values + right.values, premature, left.leaves or right.leaves)


def _signed_join(spec: SignedJoinSpec, left: Estimate, right: Estimate) -> Estimate:
    """A bag has equal rows once, with a count: a change meets different rows, however often they are there."""
    share = _meeting(spec, left, right)
    rate = (left.rate * right.distinct_rows + right.rate * left.distinct_rows) * share
    return replace(_join(spec, left, right), rate=rate)


def _lookup(spec: LookupSpec, left: Estimate, right: Estimate) -> Estimate:
    found = right.rows * _meeting(spec, left, right)
    return replace(left, rate=left.rate * found, rows=left.rows * found, values=left.values + right.values)


def _meeting(spec: JoinSpec | SequenceSpec, left: Estimate, right: Estimate) -> float:
    """The share of all pairs whose keys are equal."""
    pairs = zip(spec.left_keys, spec.right_keys, strict=True)
    return prod(1 / max(1.0, left.values[mine], right.values[theirs]) for mine, theirs in pairs)


def _group_by(spec: GroupBySpec, below: Estimate) -> Estimate:
    """A group changes with each of its rows; DISTINCT only where a value comes that is not there."""
    keys = tuple(below.values[key] for key in spec.keys)
    groups = below.groups(spec.keys)
    if not spec.calls:
        return Estimate(below.rate * exp(-below.rows / below.domain(spec.keys)), groups, keys, leaves=below.leaves)
    return Estimate(below.changes, groups, (*keys, *(groups for _ in spec.calls)))


def _union(spec: UnionAllSpec, left: Estimate, right: Estimate) -> Estimate:
    values = tuple(map(max, left.values, right.values))
    return Estimate(left.rate + right.rate, left.rows + right.rows, values, left.premature, left.leaves or right.leaves)


def _combine(spec: CombineSpec, left: Estimate, right: Estimate) -> Estimate:
    share = min(1.0, right.rows / max(LEAST, left.rows))
    if spec.how in (Combination.SEMI, Combination.INTERSECT_ALL, Combination.INTERSECT):
        return replace(left, rate=left.rate * share, rows=left.rows * share)
    return _negated(left, share)


def _minus(spec: MinusSpec, left: Estimate, right: Estimate) -> Estimate:
    """The more values both sides have in common, the more is taken away, and the more often too early."""
    common = min(1.0, right.domain(spec.right_keys) / left.domain(spec.left_keys))
    return _negated(left, min(1.0, right.rows / max(LEAST, left.rows)) * common)


def _negated(left: Estimate, most: float) -> Estimate:
    share = min(most, MOST_TAKEN_AWAY)
    return replace(left, rate=left.rate * (1 - share) * (1 + share), rows=left.rows * (1 - share), premature=share)


def _top(spec: TopSpec, below: Estimate) -> Estimate:
    groups = below.groups(spec.partition) if spec.partition else 1.0
    shown = min(below.rows, groups * spec.count)
    values = below.values if spec.numbered is None else (*below.values, float(spec.count))
    share = shown / max(LEAST, below.rows)
    return replace(below, rate=below.changes * share, rows=shown, values=values, premature=1 - share)


def _over(spec: OverSpec, below: Estimate) -> Estimate:
    """A change may change its neighbours: half of the partition, where the reach has no bound."""
    partition = below.rows / max(LEAST, below.groups(spec.partition) if spec.partition else 1.0)
    touched = sum(partition / 2 if far is None else min(far, partition) for far in (spec.reach.behind, spec.reach.ahead))
    values = (*below.values, *(below.rows for _ in spec.calls))
    return replace(below, rate=below.changes * (1 + touched), values=values, premature=1.0)


def _as_of(spec: AsOfSpec, left: Estimate, right: Estimate) -> Estimate:
    """A row that comes on the right becomes the nearest of half of the left rows that are there and have its key."""
    mates = left.rows / max(1.0, min(left.groups(spec.left_keys), right.groups(spec.right_keys))) if spec.left_keys else left.rows
    rate = left.rate + right.changes * mates / 2
    return Estimate(rate, left.rows, left.values + right.values, 1.0, left.leaves or right.leaves)


def _reached(spec: ReachedSpec, below: Estimate, time: Estimate) -> Estimate:
    """A row comes, and comes anew with every instant that it names."""
    values = (*below.values, *(2.0 for _ in spec.instants))
    return replace(below, rate=below.rate * (1 + len(spec.instants)), values=values, premature=1.0)


def _leaving_join(spec: LeavingJoinSpec, left: Estimate, right: Estimate) -> Estimate:
    pairs = _join(spec, left, right)
    return replace(pairs, values=tuple(pairs.values[column] for column in spec.columns))


def _distinct(spec: DistinctSpec, below: Estimate) -> Estimate:
    columns = range(len(below.values))
    rate = below.rate * exp(-below.rows / below.domain(columns))
    return Estimate(rate, below.groups(columns), below.values, leaves=below.leaves)


def _sequence(spec: SequenceSpec, left: Estimate, right: Estimate) -> Estimate:
    """CHRONICLE uses a left row once, RECENT pairs every right row that finds one."""
    waiting = left.rate * (UNBOUNDED_SECONDS if spec.within is None else spec.within / SECOND)
    found = right.rate * min(1.0, waiting * _meeting(spec, left, right))
    rate = min(found, left.rate) if spec.pairing is Pairing.CHRONICLE else found
    return Estimate(rate, rate * UNBOUNDED_SECONDS, left.values + right.values, leaves=False)


def _stream(spec: Spec, below: Estimate) -> Estimate:
    """What enters or leaves a view, from then on for good."""
    return replace(below, rows=below.rate * UNBOUNDED_SECONDS, premature=0.0, leaves=False)


def _ticks(spec: TicksSpec, below: Estimate, time: Estimate) -> Estimate:
    """Every row comes anew with every period."""
    rate = below.rate + below.rows * sum(SECOND / period.length for period in spec.periods)
    return replace(_plain(spec, below), rate=rate, leaves=True)


def _table_changes(spec: TableChangesSpec, below: Estimate) -> Estimate:
    return replace(below, values=tuple(below.values[column] for column in spec.columns), leaves=True)


def _snapshots(spec: SnapshotsSpec, below: Estimate) -> Estimate:
    rate = below.changes * max(1.0, below.rows)
    return replace(below, rate=rate, rows=rate * UNBOUNDED_SECONDS, premature=0.0, leaves=False)


_RULES: dict[type, Callable[..., Any]] = {
    TimeWindowSpec: _time_window,
    JumpingWindowSpec: _time_window,
    CountWindowSpec: _count_window,
    PartitionWindowSpec: _partition_window,
    FilterSpec: _filter,
    ProjectSpec: _project,
    UnnestSpec: _unnest,
    LookupSpec: _lookup,
    SignedJoinSpec: _signed_join,
    JoinSpec: _join,
    GroupBySpec: _group_by,
    SlidingGroupBySpec: _group_by,
    UnionAllSpec: _union,
    CombineSpec: _combine,
    MinusSpec: _minus,
    TopSpec: _top,
    OverSpec: _over,
    DistinctSpec: _distinct,
    LeavingJoinSpec: _leaving_join,
    SequenceSpec: _sequence,
    InsertionsSpec: _stream,
    DeletionsSpec: _stream,
    SnapshotsSpec: _snapshots,
    TicksSpec: _ticks,
    ReachedSpec: _reached,
    AsOfSpec: _as_of,
    PacedSpec: _plain,
    ExpireSpec: _plain,
    BeginSpec: _plain,
    EmitSpec: _plain,
    TableChangesSpec: _table_changes,
    AnnounceSpec: _plain,
    MessageExpireSpec: _plain,
    InputExpireSpec: _plain,
}
