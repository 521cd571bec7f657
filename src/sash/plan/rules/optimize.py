"""The optimizer: rules that are always right, in an order that has its reasons."""

from __future__ import annotations

from sash.plan.nodes import Plan
from sash.plan.rules.budget import Budget
from sash.plan.rules.prune_columns import prune_columns
from sash.plan.rules.push_filters import push_filters


def optimize(plan: Plan, search: Budget | None = None) -> Plan:
    """The same plan, better. A search that this belongs to pays for it."""
    plan = push_filters(plan, search)  # first: what it moves down reads columns there, and no longer above
    return prune_columns(plan)  # last: what the other rules leave unused is not kept in any window
