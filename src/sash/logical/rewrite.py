"""Plans made of other plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sash.logical.nodes import Plan, Scan

_CHILDREN = ("input", "left", "right")


def read_since(plan: Plan, since: int) -> Plan:
    """The same plan, sharing nothing with plans of another moment."""
    if isinstance(plan, Scan):
        return replace(plan, since=since)
    children: dict[str, Any] = {n: read_since(getattr(plan, n), since) for n in _CHILDREN if hasattr(plan, n)}
    return replace(plan, **children)


def replaced(plan: Plan, old: Plan, new: Plan) -> Plan:
    """The same plan with another in the place of one of its parts, wherever it is."""
    if plan == old:
        return new
    children: dict[str, Any] = {n: replaced(getattr(plan, n), old, new) for n in _CHILDREN if hasattr(plan, n)}
    return replace(plan, **children) if any(getattr(plan, n) is not child for n, child in children.items()) else plan
