"""Specs of what leaves rows where they are: windows, selections, and changes of views as streams."""

from __future__ import annotations

from sash.operators.expiry.spec import ExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.spec import PortSpec, Spec
from sash.operators.streams.spec import DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec
from sash.operators.time.spec import TimeGatedSpec, time_port
from sash.operators.windows.spec import CountWindowSpec, JumpingWindowSpec, PartitionWindowSpec, TimeWindowSpec
from sash.plan.nodes import Deletions, Emit, Filter, Insertions, Snapshots, Window, WindowKind, WindowSpec, scans
from sash.plan.patterns import Pattern
from sash.plan.times import Time
from sash.planner.distribution import Placed
from sash.schema import FOREVER, MICROSECOND


def signed(spec: Spec) -> Spec:
    """Rows that never leave are signed changes as they are."""
    return ExpireSpec(spec) if spec.pattern in (Pattern.WEAKEST, Pattern.WEAK) else spec


def in_place(plan: Filter | Insertions | Deletions | Snapshots | Emit, placed: Placed, time: Time) -> Spec:
    """Operators that leave rows where they are."""
    below = placed.spec
    if isinstance(plan, Filter):
        return FilterSpec(below, plan.predicate)
    if isinstance(plan, Emit):
        return EmitSpec(signed(below), time_port(placed.level, time), plan.period)
    if isinstance(plan, Insertions):
        return InsertionsSpec(signed(below))
    return DeletionsSpec(signed(below)) if isinstance(plan, Deletions) else SnapshotsSpec(signed(below))


def count_window(plan: Window, stream: Spec) -> Spec:
    spec, rows = plan.spec, _met(plan, in_stream_order(stream))
    if spec.partition:
        return PartitionWindowSpec(rows, spec.size, spec.partition)
    return CountWindowSpec(rows, spec.size, spec.slide or 1)


def time_window(plan: Window, below: Placed, time: Time) -> Spec:
    spec, rows = plan.spec, _met(plan, _in_time(plan, below, time))
    if spec.kind is WindowKind.RANGE and spec.slide:
        return JumpingWindowSpec(rows, spec.size, spec.slide)
    return TimeWindowSpec(rows, _size(spec))


def in_stream_order(spec: Spec) -> Spec:
    """An exchange mixes the rows of an instant; those of a derived stream are in the order of the full row."""
    is_exchanged = isinstance(spec, PortSpec) and spec.source is not None
    return InsertionsSpec(spec) if is_exchanged else spec


def _in_time(plan: Window, below: Placed, time: Time) -> Spec:
    """Rows of tables alone would leave a window at once, since nobody waits for tables: they follow the clock of NOW()."""
    is_timed = plan.spec.kind is not WindowKind.UNBOUNDED and all(scan.is_table for scan in scans(plan))
    return TimeGatedSpec(below.spec, time_port(below.level, time)) if is_timed else below.spec


def _met(plan: Window, stream: Spec) -> Spec:
    """The rows of a stream that the window takes in."""
    return stream if plan.condition is None else FilterSpec(stream, plan.condition)


def _size(spec: WindowSpec) -> int:
    if spec.kind is WindowKind.NOW:
        return MICROSECOND
    return FOREVER if spec.kind is WindowKind.UNBOUNDED else spec.size
