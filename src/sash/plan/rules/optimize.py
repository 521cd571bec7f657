"""The optimizer: an ordered list of rules, each from plan to plan, with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable

from sash.plan.nodes import Plan
from sash.plan.rules.prune_columns import prune_columns
from sash.plan.rules.push_filters import push_filters

Rule = Callable[[Plan], Plan]

RULES: tuple[Rule, ...] = (
    push_filters,  # first: what it moves down reads columns there, and no longer above
    prune_columns,  # last: what the other rules leave unused is not kept in any window
)


def optimize(plan: Plan) -> Plan:
    for rule in RULES:
        plan = rule(plan)
    return plan
