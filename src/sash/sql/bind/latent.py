"""Rows of a latent stream take the time of the query that reads them: the least clock of its other streams.

A query that reads latent streams only goes by the time of arrival. A view is a query of its own.
"""

from __future__ import annotations

from dataclasses import replace

from sash.interned import remembered
from sash.plan.nodes import Plan, Scan, scans
from sash.tree import rebuild


def stamp_latent(plan: Plan) -> Plan:
    """The plan of a query, in which latent streams know whose time they take."""
    found = list(scans(plan))
    timed = tuple(sorted({scan.name for scan in found if not scan.is_table and scan.stamped_by is None}))
    if not timed or all(scan.stamped_by is None for scan in found):
        return plan
    return _stamped(plan, timed)


@remembered
def _stamped(plan: Plan, timed: tuple[str, ...]) -> Plan:
    if isinstance(plan, Scan):
        return plan if plan.stamped_by is None or plan.through else replace(plan, stamped_by=timed)
    return rebuild(plan, lambda child: _stamped(child, timed))
