"""Rows of a latent stream take the time of the query that reads them: the least clock of its other streams.

A query that reads latent streams only goes by the time of arrival. A view is a query of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sash.logical.nodes import Emit, Plan, Scan, scans
from sash.sql.catalog import Catalog

_CHILDREN = ("input", "left", "right")


def stamp_latent(plan: Plan, catalog: Catalog) -> Plan:
    """The plan of a query, in which latent streams know whose time they take."""
    found = list(scans(plan))
    timed = tuple(sorted({scan.name for scan in found if not scan.is_table and scan.stamped_by is None}))
    if not timed or all(scan.stamped_by is None for scan in found):
        return plan
    views = [view.plan for view in catalog.views.values()]
    known = {id(plan) for plan in views} | {id(plan.input) for plan in views if isinstance(plan, Emit)}
    return _stamped(plan, timed, known)


def _stamped(plan: Plan, timed: tuple[str, ...], views: set[int]) -> Plan:
    if id(plan) in views:
        return plan
    if isinstance(plan, Scan):
        return plan if plan.stamped_by is None else replace(plan, stamped_by=timed)
    children: dict[str, Any] = {n: _stamped(getattr(plan, n), timed, views) for n in _CHILDREN if hasattr(plan, n)}
    return plan if all(getattr(plan, n) is child for n, child in children.items()) else replace(plan, **children)
