"""Expiry strategies: how the parts of a plan learn that rows leave.

Placement gives plans whose rows carry their expiry as far up as they can; below an operator that must act on every
expiration stands an `Expire`. Here such a plan becomes what the strategy wants. `negative` is no matter of this file: there,
placement lets every window send negative rows.

    auto              DISTINCT remembers only the youngest copy of a row; a join of two windows keeps no pairs; counts and sums
                      know what each row added; MIN and MAX keep only values that no later one takes the place of
    direct            as placed
    time-message      windows announce when rows leave; joins pass messages on without looking at their other side
    piggyback         the same, messages being merged with what follows them in an arc
    input-triggered   rows leave when a row comes

All but the last give the same changelog; the last gives the same answers, some of them late.
"""

from __future__ import annotations

from sash.interned import remembered
from sash.operators.expiry.spec import AnnounceSpec, InputExpireSpec, MessageExpireSpec
from sash.operators.spec import PortSpec, Spec
from sash.plan.patterns import Pattern
from sash.tree import rebuild

EXPIRING = (Pattern.WEAKEST, Pattern.WEAK)


@remembered
def suit_the_pattern(spec: Spec) -> Spec:
    """Operators that know in which order the rows of their input leave."""
    return rebuild(spec, suit_the_pattern).suited()


@remembered
def tell_the_time(spec: Spec, *, merges: bool) -> Spec:
    """Time-messages, or with `merges` piggybacking, wherever rows become signed changes."""
    if spec.subtracts_rows:
        return spec
    if spec.expiring is not None:
        return MessageExpireSpec(_announced(spec.expiring, merges))
    return rebuild(spec, lambda below: tell_the_time(below, merges=merges))


@remembered
def _announced(spec: Spec, merges: bool) -> Spec:
    """The same rows, with messages."""
    if spec.pattern not in EXPIRING:
        return tell_the_time(spec, merges=merges)
    passed_on = spec.with_messages(merges, lambda below: _announced(below, merges))
    return passed_on or AnnounceSpec(rebuild(spec, lambda below: tell_the_time(below, merges=merges)), merges)


def wait_for_input(spec: Spec, time: PortSpec) -> Spec:
    """Rows leave when a row comes. All parts of a view wait for the same rows, so it is right whenever it tells something."""
    triggers = _triggers(spec)

    @remembered
    def waiting(part: Spec) -> Spec:
        if part.expiring is not None:
            return InputExpireSpec(part.expiring, time, tuple(trigger for trigger in triggers if trigger != part.expiring))
        return part if part.needs_exact_departures else rebuild(part, waiting)

    return waiting(spec)


@remembered
def _triggers(spec: Spec) -> tuple[Spec, ...]:
    """Every edge on which rows come to the part of a plan that waits."""
    if spec.expiring is not None:
        return (spec.expiring,)
    if not _waits(spec):
        return (spec,)
    return tuple(dict.fromkeys(trigger for below in spec.inputs for trigger in _triggers(below)))


@remembered
def _waits(spec: Spec) -> bool:
    """Whether rows that leave late are allowed here, and there are some."""
    return spec.expiring is not None or (not spec.needs_exact_departures and any(map(_waits, spec.made_of)))
