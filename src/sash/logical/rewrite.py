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
