"""Specs of what leaves rows where they are: windows, selections, and changes of views as streams."""

from __future__ import annotations

from typing import assert_never

from sash.operators.expiry.spec import ExpireSpec
from sash.operators.filter.spec import FilterSpec
from sash.operators.spec import PortSpec, Spec
from sash.operators.streams.spec import DeletionsSpec, EmitSpec, InsertionsSpec, SnapshotsSpec
from sash.operators.time.spec import TimeGatedSpec, time_port
from sash.operators.windows.spec import window_spec
from sash.plan.nodes import Deletions, Emit, Filter, Insertions, Snapshots, Window, scans
from sash.plan.patterns import Pattern
from sash.plan.times import Time
from sash.planner.distribution import Placed


def signed(spec: Spec) -> Spec:
    """Rows that never leave are signed changes as they are."""
    return ExpireSpec(spec) if spec.pattern in (Pattern.WEAKEST, Pattern.WEAK) else spec


def local_spec(plan: Filter | Insertions | Deletions | Snapshots | Emit, placed: Placed, time: Time) -> Spec:
    """Operators that leave rows where they are."""
    below = placed.spec
    if isinstance(plan, Filter):
        return FilterSpec(below, plan.predicate)
    if isinstance(plan, Emit):
        return EmitSpec(signed(below), time_port(placed.level, time), plan.period)
    if isinstance(plan, Insertions):
        return InsertionsSpec(signed(below))
    if isinstance(plan, Deletions):
        return DeletionsSpec(signed(below))
    if isinstance(plan, Snapshots):
        return SnapshotsSpec(signed(below))
    assert_never(plan)


def window_over(plan: Window, below: Placed, time: Time) -> Spec:
    """The rows that a window takes in, and the window."""
    rows = _in_time(plan, below, time) if plan.shape.goes_by_time else in_stream_order(below.spec)
    return window_spec(plan.shape, rows if plan.condition is None else FilterSpec(rows, plan.condition))


def in_stream_order(spec: Spec) -> Spec:
    """An exchange mixes the rows of an instant; those of a derived stream are in the order of the full row."""
    is_exchanged = isinstance(spec, PortSpec) and spec.source is not None
    return InsertionsSpec(spec) if is_exchanged else spec


def _in_time(plan: Window, below: Placed, time: Time) -> Spec:
    """Rows of tables alone would leave a window at once, since nobody waits for tables: they follow the clock of NOW()."""
    is_of_tables = all(scan.is_table for scan in scans(plan))
    return TimeGatedSpec(below.spec, time_port(below.level, time)) if is_of_tables else below.spec
