"""Plans made of other plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sash.deep import deeply
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
    return over_parts(plan, lambda part, changed: change(part) if isinstance(part, Scan) else rebuild(part, changed))


def replaced(plan: Plan, old: Plan, new: Plan) -> Plan:
    """The same plan with another in the place of one of its parts, wherever it is."""
    return over_parts(plan, lambda part, changed: new if part == old else rebuild(part, changed))


def over_parts(plan: Plan, change: Callable[[Plan, Callable[[Plan], Plan]], Plan]) -> Plan:
    """A plan written otherwise part by part, each once. Nothing of it is remembered at nodes that outlive the plan."""
    known: dict[Plan, Plan] = {}

    def changed(part: Plan) -> Plan:
        if part not in known:
            known[part] = change(part, changed)
        return known[part]

    return changed(plan)
