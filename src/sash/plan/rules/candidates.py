"""Other plans with the same answers, of which the cheapest is to be chosen: an ordered list of rewritings, with their reasons.

A rewriting gives the ways in which one node may be written otherwise. Candidates are what a few steps of them reach, each then
optimized by the rules that are always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from sash.interned import remembered
from sash.plan.nodes import Join, Plan, inputs, parts
from sash.plan.rewrite import replaced
from sash.plan.rules.budget import Budget
from sash.plan.rules.distinct_below_joins import distinct_below_joins
from sash.plan.rules.join_orders import join_orders
from sash.plan.rules.negation_and_joins import matched, negation_down, negation_up
from sash.plan.rules.optimize import optimize
from sash.plan.rules.plain_columns import lifted
from sash.plan.rules.push_filters import push_filters
from sash.tree import reached, rebuild

Rewriting = Callable[[Plan], Iterator[Plan]]

REWRITINGS: tuple[Rewriting, ...] = (
    negation_up,  # strict patterns go up: what lies below needs no negative rows
    negation_down,  # but few rows may be left after a negation
    distinct_below_joins,  # fewer rows to join, the more duplicates there are
    join_orders,  # last: there are many
)

MOST = 32  # plans that are looked at; joins of five inputs and more may have other orders too
BUDGET = 3_000  # nodes of the plans that are written otherwise and parts that conditions come to in them, and as many to optimize


def candidates(plan: Plan) -> tuple[Plan, ...]:
    """A plan as it was written, then others, all optimized; none twice. The search ends when its budget is spent, which is
    counted in nodes, never in time: what is chosen is a function of the text.
    """
    if all(len(inputs(part)) < 2 for part in parts(plan)):  # all rewritings change places with a node that has two
        return (optimize(plan),)
    search = Budget(BUDGET)
    found: dict[Plan, None] = {_flat(push_filters(plan, search)): None}
    for known in _growing(found):
        size = len(parts(known))
        for other in chain.from_iterable(_everywhere(rewriting, known) for rewriting in REWRITINGS):
            search.take(size)
            if len(found) == MOST or search.is_spent:
                return _all_optimized(plan, found, Budget(BUDGET, search.grows))
            found.setdefault(_flat(push_filters(other, search)))
    return _all_optimized(plan, found, Budget(BUDGET, search.grows))


def _all_optimized(plan: Plan, others: Iterable[Plan], search: Budget) -> tuple[Plan, ...]:
    found = {optimize(plan, search): None}
    for other in others:
        search.take(len(parts(other)))
        if search.is_spent:
            break
        found.setdefault(optimize(other, search))
    return tuple(found)


def _growing(found: dict[Plan, None]) -> Iterator[Plan]:
    """All that is found, and what is found while it is looked at."""
    place = 0
    while place < len(found):
        yield list(found)[place]
        place += 1


def _everywhere(rewriting: Rewriting, plan: Plan) -> Iterator[Plan]:
    """A plan with one of its nodes written otherwise, wherever it is read."""
    for part in _rewritable(plan):
        for other in rewriting(part):
            yield replaced(plan, part, other)


def _rewritable(plan: Plan) -> dict[Plan, None]:
    """The parts of a plan, but for the joins that semi and anti joins are made of: those stay what they are."""
    return reached(plan, _below_rewritable)


def _below_rewritable(plan: Plan) -> tuple[Plan, ...]:
    found = matched(plan)
    return inputs(plan) if found is None else (found.kept, found.others)


@remembered
def _flat(plan: Plan) -> Plan:
    """The same plan with plain projections above its joins."""
    found = matched(plan)
    if found is not None:
        return replace(found, kept=_flat(found.kept), others=_flat(found.others)).plan()
    plan = rebuild(plan, _flat)
    return lifted(plan) if isinstance(plan, Join) else plan
