"""Other plans with the same answers, of which the cheapest is to be chosen: an ordered list of rewritings, with their reasons.

A rewriting gives the ways in which one node may be written otherwise. Candidates are what a few steps of them reach, each then
optimized by the rules that are always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sash.logical.nodes import Join, Plan, inputs
from sash.optimizer.distinct_below_joins import distinct_below_joins
from sash.optimizer.join_orders import join_orders
from sash.optimizer.negation_and_joins import matched, negation_down, negation_up
from sash.optimizer.optimize import optimize
from sash.optimizer.plain import lifted
from sash.optimizer.push_filters import push_filters, with_inputs

Rewriting = Callable[[Plan], Iterator[Plan]]

REWRITINGS: tuple[Rewriting, ...] = (
    negation_up,  # strict patterns go up: what lies below needs no negative rows
    negation_down,  # but few rows may be left after a negation
    distinct_below_joins,  # fewer rows to join, the more duplicates there are
    join_orders,  # last: there are many
)

MOST = 32  # plans that are looked at; joins of five inputs and more may have other orders too


def candidates(plan: Plan) -> tuple[Plan, ...]:
    """A plan as it was written, then others, all optimized; none twice."""
    if _is_chain(plan):
        return (optimize(plan),)
    found: dict[Plan, None] = {_flat(push_filters(plan)): None}
    for known in _growing(found):
        for rewriting in REWRITINGS:
            for other in _everywhere(rewriting, known):
                if len(found) < MOST:
                    found.setdefault(_flat(push_filters(other)))
    return tuple(dict.fromkeys([optimize(plan), *map(optimize, found)]))


def _is_chain(plan: Plan) -> bool:
    """Whether everything has one input: all rewritings change places with a node that has two."""
    children = inputs(plan)
    return len(children) < 2 and all(map(_is_chain, children))


def _growing(found: dict[Plan, None]) -> Iterator[Plan]:
    """All that is found, and what is found while it is looked at."""
    place = 0
    while place < len(found):
        yield list(found)[place]
        place += 1


def _everywhere(rewriting: Rewriting, plan: Plan) -> Iterator[Plan]:
    """A plan with one of its nodes written otherwise; what a semi or anti join asks for twice stays the same in both places."""
    yield from rewriting(plan)
    found = matched(plan)
    if found is not None:
        yield from (replace(found, kept=other).plan() for other in _everywhere(rewriting, found.kept))
        yield from (replace(found, others=other).plan() for other in _everywhere(rewriting, found.others))
        return
    children = inputs(plan)
    for place, child in enumerate(children):
        for other in _everywhere(rewriting, child):
            yield with_inputs(plan, [*children[:place], other, *children[place + 1 :]])


def _flat(plan: Plan) -> Plan:
    """The same plan with plain projections above its joins."""
    found = matched(plan)
    if found is not None:
        return replace(found, kept=_flat(found.kept), others=_flat(found.others)).plan()
    plan = with_inputs(plan, [_flat(child) for child in inputs(plan)])
    return lifted(plan) if isinstance(plan, Join) else plan
