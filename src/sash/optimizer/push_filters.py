"""Filters go down as far as the answer stays the same, at last into the window: what it does not hold costs nothing above it.

    through         which conditions
    Project         over plain columns
    Join            over one side; over keys, to both sides
    set operators   all: equal rows meet the same condition; a side of a union that no row can come from is left out
    Minus           over keys, to both sides: others would change which rows are the youngest
    Aggregate       over the keys of groups
    Top, OVER       over the keys of partitions
    NOW(), UNNEST   over what does not come from them
    Window          all into RANGE, NOW and UNBOUNDED; over the keys into PARTITION BY k ROWS n; none into ROWS n: the rows that
                    a filter hides push others out
    ISTREAM, DSTREAM  all; not RSTREAM, which speaks whenever its query changes

A condition that calls code of the user stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sash.logical.nodes import (
    Aggregate,
    Combination,
    Combine,
    Deletions,
    Filter,
    Insertions,
    Join,
    Minus,
    Plan,
    Project,
    Top,
    Window,
    WindowKind,
    inputs,
    scans,
)
from sash.logical.over import Over
from sash.logical.reached import Reached
from sash.logical.ticks import Ticks
from sash.logical.unnest import Unnest
from sash.optimizer.conditions import (
    conjunction,
    conjuncts,
    constant,
    filtered,
    has_user_code,
    parted,
    read,
    reads_doubles,
    substituted,
)
from sash.scalar.nodes import Column, Expression, Literal, remap

Conditions = Sequence[Expression]


def push_filters(plan: Plan) -> Plan:
    """The same plan, every filter as low as it can be."""
    if isinstance(plan, Filter):
        moving, staying = parted(conjuncts(plan.predicate), lambda condition: not has_user_code(condition))
        return filtered(_under(plan.input, moving), staying)
    if isinstance(plan, Join):
        return _under_join(plan, ())  # what one side is told about the keys holds for the other
    return with_inputs(plan, [push_filters(child) for child in inputs(plan)])


def with_inputs(plan: Plan, children: Sequence[Plan]) -> Plan:
    """The same node over other inputs."""
    names = ("left", "right") if len(children) == 2 else ("input",) if children else ()
    changed: dict[str, Any] = {
        name: child for name, child in zip(names, children, strict=True) if child is not getattr(plan, name)
    }
    return replace(plan, **changed) if changed else plan


def _under(plan: Plan, conditions: Conditions) -> Plan:
    """A plan under conditions, each as low as it can be."""
    if not conditions:
        return push_filters(plan)
    if isinstance(plan, Filter):
        return push_filters(Filter(plan.input, conjunction([*conjuncts(plan.predicate), *conditions])))
    if isinstance(plan, Project):
        return _under_project(plan, conditions)
    if isinstance(plan, Join):
        return _under_join(plan, conditions)
    if isinstance(plan, Combine):
        return _under_combine(plan, conditions)
    if isinstance(plan, Minus):
        return _under_minus(plan, conditions)
    if isinstance(plan, Aggregate | Top | Over):
        return _under_groups(plan, conditions)
    if isinstance(plan, Window):
        return _under_window(plan, conditions)
    if isinstance(plan, Unnest | Reached | Ticks):
        return _under_more_columns(plan, conditions)
    return filtered(push_filters(plan), conditions)


def _under_project(plan: Project, conditions: Conditions) -> Plan:
    plain = {place for place, e in enumerate(plan.expressions) if isinstance(e, Column | Literal)}
    below, above = parted(conditions, lambda condition: read(condition) <= plain)
    moved = [substituted(condition, plan.expressions) for condition in below]
    needed = [condition for condition in moved if constant(condition) is not True]
    return filtered(replace(plan, input=_under(plan.input, needed)), above)


def _under_more_columns(plan: Unnest | Reached | Ticks, conditions: Conditions) -> Plan:
    """What is not about the new columns is asked before an array is taken apart, or the time is read."""
    width = len(plan.input.schema)
    below, above = parted(conditions, lambda condition: max(read(condition), default=0) < width)
    return filtered(replace(plan, input=_under(plan.input, below)), above)


def _under_join(plan: Join, conditions: Conditions) -> Plan:
    width = len(plan.left.schema)
    to_right = {width + place: place for place in range(len(plan.right.schema))}
    lefts, rest = parted(conditions, lambda condition: max(read(condition), default=0) < width)
    rights, above = parted(rest, lambda condition: min(read(condition)) >= width)
    rights = [remap(condition, to_right) for condition in rights]
    left_below, left_told = _opened(plan.left)
    right_below, right_told = _opened(plan.right)
    lefts, rights = [*left_told, *lefts], [*right_told, *rights]
    left = [*lefts, *_across(rights, plan.right_keys, plan.left_keys)]
    right = [*rights, *_across(lefts, plan.left_keys, plan.right_keys)]
    joined = replace(plan, left=_under(left_below, _new(left)), right=_under(right_below, _new(right)))
    return filtered(joined, above)


def _opened(plan: Plan) -> tuple[Plan, list[Expression]]:
    """A filtered plan as what is filtered, and the conditions."""
    if not isinstance(plan, Filter) or has_user_code(plan.predicate):
        return plan, []
    below, told = _opened(plan.input)
    return below, [*told, *conjuncts(plan.predicate)]


def _across(conditions: Conditions, mine: tuple[int, ...], theirs: tuple[int, ...]) -> list[Expression]:
    """What conditions over the keys of one side say about the keys of the other, which are equal."""
    places = dict(zip(mine, theirs, strict=True))
    return [remap(c, places) for c in conditions if read(c) and read(c) <= set(mine) and not reads_doubles(c)]


def _new(conditions: list[Expression]) -> list[Expression]:
    return list(dict.fromkeys(conditions))


def _under_combine(plan: Combine, conditions: Conditions) -> Plan:
    """The rows of the right side only count those of the left one, where they are not in the answer themselves."""
    is_union = plan.how is Combination.UNION_ALL
    if is_union:
        for side, other in ((plan.left, plan.right), (plan.right, plan.left)):
            if _is_nothing(side, conditions) and scans(side) <= scans(other):
                return _under(_renamed(other, plan.schema.names), conditions)
    right = [condition for condition in conditions if is_union or not reads_doubles(condition)]
    return replace(plan, left=_under(plan.left, conditions), right=_under(plan.right, right))


def _is_nothing(plan: Plan, conditions: Conditions) -> bool:
    """Whether no row can meet the conditions, because of a constant column: a row that an outer join padded with NULLs."""
    if not isinstance(plan, Project):
        return False
    plain = {place for place, e in enumerate(plan.expressions) if isinstance(e, Column | Literal)}
    known = [substituted(c, plan.expressions) for c in conditions if read(c) <= plain]
    return any(constant(condition) is False for condition in known)


def _renamed(plan: Plan, names: tuple[str, ...]) -> Plan:
    if plan.schema.names == names:
        return plan
    columns = tuple(Column(place, field.type, field.name) for place, field in enumerate(plan.schema.fields))
    return Project(plan, columns, names)


def _under_minus(plan: Minus, conditions: Conditions) -> Plan:
    below, above = parted(conditions, lambda c: read(c) <= set(plan.left_keys) and not reads_doubles(c))
    right = _across(below, plan.left_keys, plan.right_keys)
    return filtered(replace(plan, left=_under(plan.left, below), right=_under(plan.right, right)), above)


def _under_groups(plan: Aggregate | Top | Over, conditions: Conditions) -> Plan:
    """A whole group is in the answer or is not."""
    keys = dict(enumerate(plan.keys)) if isinstance(plan, Aggregate) else {place: place for place in plan.partition}
    below, above = parted(conditions, lambda c: bool(keys) and read(c) <= keys.keys() and not reads_doubles(c))
    moved = [remap(condition, keys) for condition in below]
    return filtered(replace(plan, input=_under(plan.input, moved)), above)


def _under_window(plan: Window, conditions: Conditions) -> Plan:
    keys = set(plan.spec.partition)
    below, above = parted(conditions, lambda condition: True)
    if plan.spec.kind is WindowKind.ROWS:
        below, above = parted(conditions, lambda c: bool(keys) and read(c) <= keys and not reads_doubles(c))
    return filtered(_windowed(plan, below), above)


def _windowed(plan: Window, conditions: Conditions) -> Plan:
    stream = plan.input
    if isinstance(stream, Insertions | Deletions):
        return replace(plan, input=replace(stream, input=_under(stream.input, conditions)))
    window = with_inputs(plan, [push_filters(stream)])
    assert isinstance(window, Window)
    known = [] if window.condition is None else list(conjuncts(window.condition))
    both = _new([*known, *conditions])
    return replace(window, condition=conjunction(both)) if both else window
