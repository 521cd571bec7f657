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

from dataclasses import replace

from sash.interned import remembered
from sash.operators.distinct.spec import DistinctSpec
from sash.operators.expiry.spec import (
    AnnounceSpec,
    ExpireSpec,
    InputExpireSpec,
    MessageExpireSpec,
    MessageJoinSpec,
    MessageLookupSpec,
)
from sash.operators.filter.spec import FilterSpec
from sash.operators.group_by.spec import GroupBySpec, OrderedGroupBySpec, SlidingGroupBySpec
from sash.operators.group_by.tables import group_tables
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, SignedJoinSpec
from sash.operators.lookup.spec import LookupSpec
from sash.operators.project.spec import ProjectSpec
from sash.operators.sets.spec import UnionAllSpec
from sash.operators.spec import PortSpec, Spec, parts
from sash.operators.windows.spec import JumpingWindowSpec, TimeWindowSpec
from sash.plan.aggregates import Kept
from sash.plan.patterns import Pattern
from sash.scalar.nodes import Column
from sash.schema import FOREVER
from sash.tree import rebuild

EXPIRING = (Pattern.WEAKEST, Pattern.WEAK)


@remembered
def suit_the_pattern(spec: Spec) -> Spec:
    """Operators that know in which order the rows of their input leave."""
    spec = rebuild(spec, suit_the_pattern)
    if isinstance(spec, ExpireSpec):
        return _leaving_join(spec)
    if isinstance(spec, GroupBySpec):
        return _in_order(spec) if spec.calls else _remember_the_youngest(spec)
    return spec


def _leaving_join(spec: ExpireSpec) -> Spec:
    """A join of two windows finds the pairs of a row that leaves again, faster than a store of all pairs would give them."""
    join, columns, names = spec.input, None, spec.schema.names
    if isinstance(join, ProjectSpec) and all(isinstance(e, Column) for e in join.expressions):
        columns = tuple(e.index for e in join.expressions if isinstance(e, Column))
        join = join.input
    if type(join) is not JoinSpec or any(side.lifetime in (None, FOREVER) for side in join.inputs):
        return spec
    columns = tuple(range(len(join.schema))) if columns is None else columns
    return LeavingJoinSpec(join.left, join.right, join.left_keys, join.right_keys, columns, names)


def _in_order(spec: GroupBySpec) -> Spec:
    """Counts and sums by key of a window are told directly what leaves; MIN and MAX need not be told which row it is."""
    if not isinstance(spec.input, ExpireSpec) or spec.input.input.pattern is not Pattern.WEAKEST:
        return spec
    has_extremes = any(call.function.facts.kept is Kept.EXTREME for call in spec.calls)
    if has_extremes and not _all_leave(spec.input.input):
        return spec
    if spec.keys and group_tables(spec).is_sliding:
        return SlidingGroupBySpec(spec.input.input, spec.keys, spec.calls, spec.names)
    if has_extremes:
        return OrderedGroupBySpec(spec.input, spec.keys, spec.calls, spec.names, spec.streams)
    return spec


@remembered
def _all_leave(spec: Spec) -> bool:
    """Whether rows that leave in order have none between them that stay."""
    if isinstance(spec, UnionAllSpec):
        return all(below.pattern is Pattern.WEAKEST and _all_leave(below) for below in spec.inputs)
    if isinstance(spec, PortSpec):
        return spec.source is not None and _all_leave(spec.source)
    return isinstance(spec, TimeWindowSpec | JumpingWindowSpec) or _all_leave(spec.inputs[0])


def _remember_the_youngest(spec: GroupBySpec) -> Spec:
    """DISTINCT over rows that carry their expiry need not see them leave."""
    if not spec.keys or not isinstance(spec.input, ExpireSpec):
        return spec
    below = spec.input.input
    columns = tuple(Column(key, below.schema.types[key], below.schema.names[key]) for key in spec.keys)
    return DistinctSpec(ProjectSpec(below, columns, spec.names))


@remembered
def tell_the_time(spec: Spec, *, merges: bool) -> Spec:
    """Time-messages, or with `merges` piggybacking, wherever rows become signed changes."""
    if isinstance(spec, GroupBySpec) and _needs_no_rows(spec):
        return spec
    if isinstance(spec, ExpireSpec):
        return MessageExpireSpec(_announced(spec.input, merges))
    return rebuild(spec, lambda below: tell_the_time(below, merges=merges))


def _needs_no_rows(spec: GroupBySpec) -> bool:
    """An aggregate that can subtract keeps no rows, so messages would make it do so (seed 000, 5.4). Negative rows from the
    window cost it nothing more; those of a join would have to be joined again, which costs more than to keep its result.
    """
    can_subtract = all(call.is_added_up for call in spec.calls)
    return can_subtract and isinstance(spec.input, ExpireSpec) and not any(isinstance(s, JoinSpec) for s in parts(spec.input))


@remembered
def _announced(spec: Spec, merges: bool) -> Spec:
    """The same rows, with messages. Selections and projections stay below the announcement, where they are made once."""
    if spec.pattern not in EXPIRING:
        return tell_the_time(spec, merges=merges)
    if isinstance(spec, LookupSpec):
        left, right = _announced(spec.left, merges), tell_the_time(spec.right, merges=merges)
        return MessageLookupSpec(left, right, spec.left_keys, spec.right_keys, merges)
    if isinstance(spec, JoinSpec) and not isinstance(spec, SignedJoinSpec):
        left, right = _announced(spec.left, merges), _announced(spec.right, merges)
        return MessageJoinSpec(left, right, spec.left_keys, spec.right_keys, merges)
    if isinstance(spec, UnionAllSpec) or (isinstance(spec, FilterSpec | ProjectSpec) and _has_join(spec)):
        return rebuild(spec, lambda below: _announced(below, merges))
    return AnnounceSpec(rebuild(spec, lambda below: tell_the_time(below, merges=merges)), merges)


def _has_join(spec: Spec) -> bool:
    """Whether messages come from below: a filter or a projection of something else than a window."""
    if isinstance(spec, FilterSpec | ProjectSpec):
        return _has_join(spec.input)
    return isinstance(spec, JoinSpec | UnionAllSpec)


def wait_for_input(spec: Spec, time: PortSpec) -> Spec:
    """Rows leave when a row comes. All parts of a view wait for the same rows, so it is right whenever it tells something."""
    spec = _waiting(spec, time)
    triggers = _triggers(spec)

    @remembered
    def with_triggers(below: Spec) -> Spec:
        if isinstance(below, InputExpireSpec):
            return replace(below, triggers=tuple(trigger for trigger in triggers if trigger != below.input))
        return below if below.needs_exact_departures else rebuild(below, with_triggers)

    return with_triggers(spec)


@remembered
def _waiting(spec: Spec, time: PortSpec) -> Spec:
    if isinstance(spec, ExpireSpec):
        return InputExpireSpec(spec.input, time)
    return spec if spec.needs_exact_departures else rebuild(spec, lambda below: _waiting(below, time))


@remembered
def _triggers(spec: Spec) -> tuple[Spec, ...]:
    """Every edge on which rows come to the part of a plan that waits."""
    if isinstance(spec, InputExpireSpec):
        return (spec.input,)
    if any(isinstance(below, InputExpireSpec) for below in parts(spec)):
        return tuple(dict.fromkeys(trigger for below in spec.inputs for trigger in _triggers(below)))
    return (spec,)
