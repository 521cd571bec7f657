"""Plans made of other plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sash.deep import deeply
from sash.interned import remembered
from sash.plan.nodes import Plan, Scan
from sash.tree import rebuild


def read_since(plan: Plan, since: int) -> Plan:
    """The same plan, sharing nothing with plans of another moment."""
    return over_scans(plan, lambda scan: replace(scan, since=since))


def read_through(plan: Plan, view: str) -> Plan:
    """The plan of a view, told from an equal one that a query has written out; with "", the plan itself again."""
    return over_scans(plan, lambda scan: replace(scan, through=view))


@deeply
def over_scans(plan: Plan, change: Callable[[Scan], Scan]) -> Plan:
    """The same plan over other scans."""
    known: dict[Plan, Plan] = {}

    def changed(part: Plan) -> Plan:
        if part not in known:
            known[part] = change(part) if isinstance(part, Scan) else rebuild(part, changed)
        return known[part]

    return changed(plan)


@remembered
def replaced(plan: Plan, old: Plan, new: Plan) -> Plan:
    """The same plan with another in the place of one of its parts, wherever it is."""
    if plan == old:
        return new
    return rebuild(plan, lambda child: replaced(child, old, new))
