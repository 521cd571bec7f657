"""What a plan costs for every second of its streams: the model of seed 003, section 5.4, with the stores that we have.

    filter, projection, union   every change, once
    expiration                  every row comes and goes: a ring, or the calendar where the order is not that of coming
    join of expiring rows       every row is kept and looks at the other side, every pair is made once; expiration is free
    join of signed rows         the same for every change, so twice for rows that leave; equal rows count once
    ASOF join, NOW()            every change is sought in a tree of the rows that are there
    group by                    every change; more where values are kept (MIN, MEDIAN, DISTINCT calls)
    set operators, negation     every change
    exchange                    every change through the network

The unit is a nanosecond of one core, as measured on one machine; only proportions matter. A part that several others read is
counted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from sash.logical.aggregates import Function
from sash.logical.patterns import Pattern
from sash.physical import group_specs, pair_specs, set_specs, specs
from sash.physical.as_of import AsOfSpec
from sash.physical.estimates import Estimates
from sash.physical.expiry_specs import AnnounceSpec, DistinctSpec, InputExpireSpec, LeavingJoinSpec, MessageExpireSpec
from sash.physical.over import OverSpec
from sash.physical.paced import PacedSpec
from sash.physical.reached import ReachedSpec
from sash.physical.specs import PortSpec, Spec, parts
from sash.physical.ticks import TicksSpec
from sash.physical.unnest import UnnestSpec

FILTER, PROJECT, UNION = 250.0, 60.0, 60.0
RING, CALENDAR = 300.0, 1000.0  # for a row that comes and goes
JOIN_ROW, JOIN_PAIR = 1000.0, 700.0
SIGNED_JOIN_ROW, SIGNED_JOIN_PAIR = 1500.0, 700.0
LOOKUP_ROW = 500.0
GROUP, GROUP_DEQUES, GROUP_VALUES = 500.0, 700.0, 1500.0
COMBINE, MINUS, TOP = 900.0, 1000.0, 250.0  # the latter for every step down a tree
COUNT_WINDOW, PARTITION_WINDOW, JUMP = 250.0, 700.0, 150.0
SEQUENCE, NET, TICK_ROW = 800.0, 200.0, 200.0
EXCHANGE = 1500.0

_ADDED_UP = (
    Function.COUNT, Function.SUM, Function.AVG, Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP,
    Function.BIT_AND, Function.BIT_OR, Function.BIT_XOR, Function.BOOL_AND, Function.BOOL_OR,
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Of one operator: work for every second of the streams, and rows that it keeps."""

    work: float
    kept: float


class Costs:
    """The costs of all operators of the plans it is asked for."""

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates

    def total(self, spec: Spec) -> float:
        return sum(self.of(one).work for one in parts(spec))

    def of(self, spec: Spec) -> Cost:
        """Of one operator, without what lies below."""
        if isinstance(spec, PortSpec):
            return Cost(self._changes(spec.source) * EXCHANGE if spec.source is not None else 0.0, 0.0)
        if isinstance(spec, specs.BinarySpec):
            return self._binary(spec)
        return self._unary(spec, spec.inputs[0])

    def _changes(self, spec: Spec) -> float:
        """That an edge carries: a row that says itself when it leaves is told of once."""
        estimate = self.estimates.of(spec)
        return estimate.changes if spec.pattern is Pattern.STRICT else estimate.rate

    def _unary(self, spec: Spec, below: Spec) -> Cost:
        changes, rows = self._changes(below), self.estimates.of(below).rows
        out = self.estimates.of(spec)
        match spec:
            case specs.FilterSpec():
                return Cost(changes * FILTER, 0.0)
            case specs.ProjectSpec():
                return Cost(changes * PROJECT, 0.0)
            case specs.TimeWindowSpec():
                return Cost(0.0, 0.0)
            case specs.JumpingWindowSpec():
                return Cost(changes * JUMP, out.rows * spec.slide / spec.size)
            case specs.CountWindowSpec():
                return Cost(changes * COUNT_WINDOW, out.rows)
            case specs.PartitionWindowSpec():
                return Cost(changes * PARTITION_WINDOW, out.rows)
            case OverSpec():
                return Cost(changes * TOP * _steps(rows) + out.changes * NET, rows)
            case DistinctSpec():
                return Cost(changes * GROUP, out.rows)
            case AnnounceSpec():
                return Cost(2 * changes * NET, rows)
            case MessageExpireSpec() | InputExpireSpec():
                return Cost(changes * CALENDAR, rows)
            case specs.ExpireSpec():
                return Cost(changes * (CALENDAR if below.pattern is Pattern.WEAK else RING), rows)
            case group_specs.SlidingGroupBySpec():
                return Cost(2 * changes * GROUP, rows)
            case group_specs.OrderedGroupBySpec():
                return Cost(changes * GROUP_DEQUES, out.rows * _steps(rows / max(1.0, out.rows)))
            case group_specs.GroupBySpec():
                return Cost(changes * (GROUP if _adds_up(spec) else GROUP_VALUES), out.rows if _adds_up(spec) else rows)
            case group_specs.TopSpec():
                return Cost(changes * TOP * _steps(rows), rows)
            case specs.SnapshotsSpec():
                return Cost(changes * TOP * _steps(rows) + out.rate * NET, rows)
            case UnnestSpec():
                return Cost(changes * PROJECT + self._changes(spec) * NET, 0.0)
            case specs.BeginSpec() | specs.EmitSpec() | specs.InsertionsSpec() | specs.DeletionsSpec() | specs.TableChangesSpec():
                return Cost(changes * NET, 0.0)
            case _:
                raise NotImplementedError(f"no cost is known for {type(spec).__name__}")

    def _binary(self, spec: specs.BinarySpec) -> Cost:
        left, right = self.estimates.of(spec.left), self.estimates.of(spec.right)
        changes = self._changes(spec.left) + self._changes(spec.right)
        match spec:
            case pair_specs.LookupSpec():
                return Cost(changes * LOOKUP_ROW + self._changes(spec) * JOIN_PAIR, right.rows)
            case pair_specs.SignedJoinSpec():
                kept = left.distinct_rows + right.distinct_rows
                return Cost(changes * SIGNED_JOIN_ROW + self._changes(spec) * SIGNED_JOIN_PAIR, kept)
            case LeavingJoinSpec():
                return Cost(2 * changes * JOIN_ROW + self._changes(spec) * JOIN_PAIR, left.rows + right.rows)
            case pair_specs.JoinSpec():
                return Cost(changes * JOIN_ROW + self._changes(spec) * JOIN_PAIR, left.rows + right.rows)
            case set_specs.CombineSpec():
                return Cost(changes * COMBINE, left.distinct_rows + right.distinct_rows)
            case set_specs.MinusSpec():
                return Cost(changes * MINUS, left.rows)
            case pair_specs.SequenceSpec():
                return Cost(changes * SEQUENCE, left.rate * (spec.within or 0) / 1e6)
            case TicksSpec():
                return Cost(changes * TICK_ROW + self._changes(spec) * UNION, left.distinct_rows)
            case AsOfSpec():
                sought = changes * TOP * (_steps(left.rows) + _steps(right.rows))
                return Cost(sought + self._changes(spec) * NET, left.rows + right.rows)
            case ReachedSpec():
                return Cost(self._changes(spec) * (TOP * _steps(left.rows) + NET), left.rows)
            case set_specs.UnionAllSpec() | PacedSpec():
                return Cost(changes * UNION, 0.0)
            case _:
                raise NotImplementedError(f"no cost is known for {type(spec).__name__}")


def _adds_up(spec: group_specs.GroupBySpec) -> bool:
    return all(call.function in _ADDED_UP and not call.is_distinct for call in spec.calls)


def _steps(rows: float) -> float:
    return 1 + log2(1 + rows)
