"""The optimizer: an ordered list of rules, each from plan to plan, with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable

from sash.logical.nodes import Plan
from sash.optimizer.prune_columns import prune_columns

Rule = Callable[[Plan], Plan]

RULES: tuple[Rule, ...] = (
    prune_columns,  # last: what the other rules leave unused is not kept in any window
)


def optimize(plan: Plan) -> Plan:
    for rule in RULES:
        plan = rule(plan)
    return plan
