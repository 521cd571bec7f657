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

from sash.operators.as_of.spec import AsOfSpec
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.expiry.spec import AnnounceSpec, ExpireSpec, InputExpireSpec, MessageExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.spec import GroupBySpec, OrderedGroupBySpec, SlidingGroupBySpec
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, SignedJoinSpec
from sash.operators.lookup.spec import LookupSpec
from sash.operators.over.spec import OverSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sequence.spec import SequenceSpec
from sash.operators.sets.spec import CombineSpec, MinusSpec, UnionAllSpec
from sash.operators.spec import BinarySpec, PortSpec, Spec, parts
from sash.operators.streams.spec import BeginSpec, DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec, TableChangesSpec
from sash.operators.time.spec import PacedSpec, ReachedSpec, TicksSpec
from sash.operators.top.spec import TopSpec
from sash.operators.unnest.spec import UnnestSpec
from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec
from sash.plan.aggregates import Function
from sash.plan.patterns import Pattern
from sash.planner.estimates import Estimates

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
        if isinstance(spec, BinarySpec):
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
            case FilterSpec():
                return Cost(changes * FILTER, 0.0)
            case ProjectSpec():
                return Cost(changes * PROJECT, 0.0)
            case TimeWindowSpec():
                return Cost(0.0, 0.0)
            case JumpingWindowSpec():
                return Cost(changes * JUMP, out.rows * spec.slide / spec.size)
            case CountWindowSpec():
                return Cost(changes * COUNT_WINDOW, out.rows)
            case PartitionWindowSpec():
                return Cost(changes * PARTITION_WINDOW, out.rows)
            case OverSpec():
                return Cost(changes * TOP * _steps(rows) + out.changes * NET, rows)
            case DistinctSpec():
                return Cost(changes * GROUP, out.rows)
            case AnnounceSpec():
                return Cost(2 * changes * NET, rows)
            case MessageExpireSpec() | InputExpireSpec():
                return Cost(changes * CALENDAR, rows)
            case ExpireSpec():
                return Cost(changes * (CALENDAR if below.pattern is Pattern.WEAK else RING), rows)
            case SlidingGroupBySpec():
                return Cost(2 * changes * GROUP, rows)
            case OrderedGroupBySpec():
                return Cost(changes * GROUP_DEQUES, out.rows * _steps(rows / max(1.0, out.rows)))
            case GroupBySpec():
                return Cost(changes * (GROUP if _adds_up(spec) else GROUP_VALUES), out.rows if _adds_up(spec) else rows)
            case TopSpec():
                return Cost(changes * TOP * _steps(rows), rows)
            case SnapshotsSpec():
                return Cost(changes * TOP * _steps(rows) + out.rate * NET, rows)
            case UnnestSpec():
                return Cost(changes * PROJECT + self._changes(spec) * NET, 0.0)
            case BeginSpec() | EmitSpec() | InsertionsSpec() | DeletionsSpec() | TableChangesSpec():
                return Cost(changes * NET, 0.0)
            case _:
                raise NotImplementedError(f"no cost is known for {type(spec).__name__}")

    def _binary(self, spec: BinarySpec) -> Cost:
        left, right = self.estimates.of(spec.left), self.estimates.of(spec.right)
        changes = self._changes(spec.left) + self._changes(spec.right)
        match spec:
            case LookupSpec():
                return Cost(changes * LOOKUP_ROW + self._changes(spec) * JOIN_PAIR, right.rows)
            case SignedJoinSpec():
                kept = left.distinct_rows + right.distinct_rows
                return Cost(changes * SIGNED_JOIN_ROW + self._changes(spec) * SIGNED_JOIN_PAIR, kept)
            case LeavingJoinSpec():
                return Cost(2 * changes * JOIN_ROW + self._changes(spec) * JOIN_PAIR, left.rows + right.rows)
            case JoinSpec():
                return Cost(changes * JOIN_ROW + self._changes(spec) * JOIN_PAIR, left.rows + right.rows)
            case CombineSpec():
                return Cost(changes * COMBINE, left.distinct_rows + right.distinct_rows)
            case MinusSpec():
                return Cost(changes * MINUS, left.rows)
            case SequenceSpec():
                return Cost(changes * SEQUENCE, left.rate * (spec.within or 0) / 1e6)
            case TicksSpec():
                return Cost(changes * TICK_ROW + self._changes(spec) * UNION, left.distinct_rows)
            case AsOfSpec():
                sought = changes * TOP * (_steps(left.rows) + _steps(right.rows))
                return Cost(sought + self._changes(spec) * NET, left.rows + right.rows)
            case ReachedSpec():
                return Cost(self._changes(spec) * (TOP * _steps(left.rows) + NET), left.rows)
            case UnionAllSpec() | PacedSpec():
                return Cost(changes * UNION, 0.0)
            case _:
                raise NotImplementedError(f"no cost is known for {type(spec).__name__}")


def _adds_up(spec: GroupBySpec) -> bool:
    return all(call.function in _ADDED_UP and not call.is_distinct for call in spec.calls)


def _steps(rows: float) -> float:
    return 1 + log2(1 + rows)
