"""In whose time a query lives: that of the streams that it reads, itself or through other views.

    SELECT … FROM bids, rates                          in the time of bids; rates, a table, changes in it
    SELECT … FROM asks, (a materialized view of it)    in the time of asks and bids; rates still changes in that of bids alone

So a view is what it would be alone: the rows of a stream that it does not read never move its time. A query that reads no stream
has no time of its own: inside another one it goes by that one's, by itself only by what it is told. One that asks for the time,
like NOW() over tables, is told more: where nobody else does, its host tells it.
"""

from __future__ import annotations

from dataclasses import replace

from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import Plan, Scan, SingleRow, Window, inputs, scans
from sash.plan.rewrite import over_scans
from sash.plan.time_predicate import TimePredicate
from sash.plan.windows import UNBOUNDED

Time = tuple[str, ...]  # the names of the streams, in order
ASKED: Time = ("",)  # of a query that reads no stream, and asks for the time


def time_of(plan: Plan) -> Time:
    """Rows of a latent stream take the time of others."""
    streams = [scan for scan in scans(plan) if not scan.is_table]
    if not streams:
        return ASKED if _asks(plan) else ()
    return tuple(sorted({name for scan in streams for name in scan.stamped_by or (scan.name,)}))


def _asks(plan: Plan) -> bool:
    is_timed = isinstance(plan, Window) and plan.shape != UNBOUNDED
    return is_timed or isinstance(plan, TimePredicate | CurrentPeriod | SingleRow) or any(map(_asks, inputs(plan)))


def with_own_time(plan: Plan) -> Plan:
    """The same plan, whose tables change in its own time whoever reads it."""
    time = time_of(plan)

    def timed(scan: Scan) -> Scan:
        return replace(scan, timed_by=time) if scan.is_table and scan.timed_by is None else scan

    return over_scans(plan, timed) if any(time) else plan
