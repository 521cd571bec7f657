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

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import (
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
    inputs,
    parts,
    scans,
)
from sash.plan.over import Over
from sash.plan.rules.budget import Budget
from sash.plan.rules.conditions import (
    conjunction,
    conjuncts,
    constant,
    decided,
    filtered,
    has_user_code,
    parted,
    read,
    reads_doubles,
    substituted,
)
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Column, Expression, Literal, remap
from sash.tree import rebuild

Conditions = Sequence[Expression]

BUDGET = 2_000  # parts that conditions come to
MOST_GROWN = 1.5  # how many times as many parts a plan may have afterwards
FEW, SEVERAL = 200, 2  # parts that conditions come to in a plan that does not grow: a few, and each part in several ways


def push_filters(plan: Plan, search: Budget | None = None) -> Plan:
    """The same plan, every filter as low as it can be, unless that makes it grow: different filters that sink into a part which
    is read several times make several parts of it. A search that this belongs to pays for every part that conditions come to.
    """
    search = search or Budget(BUDGET)
    pushed = None if search.grows else _pushed_everywhere(plan, search)
    return pushed or _Sinking(_read_twice(plan), BUDGET, search).plan(plan)


def _pushed_everywhere(plan: Plan, search: Budget) -> Plan | None:
    """The plan with its filters also in parts that are read several times; None if it grows by that."""
    size = len(parts(plan))
    sinking = _Sinking(frozenset(), min(BUDGET, FEW + SEVERAL * size), search)
    pushed = sinking.plan(plan)
    search.grows = sinking.is_cut_short
    return pushed if not sinking.is_cut_short and len(parts(pushed)) <= MOST_GROWN * size else None


def _read_twice(plan: Plan) -> frozenset[Plan]:
    readers = Counter(child for part in parts(plan) for child in set(inputs(part)))
    return frozenset(part for part, count in readers.items() if count > 1)


class _Sinking:
    """Filters on their way down a plan. A part that is read twice may have them sink into it twice, and so on, so there is a
    budget; when it is spent, they stay where they are.
    """

    def __init__(self, closed: frozenset[Plan], parts: int, search: Budget) -> None:
        self._closed = closed  # to conditions from outside
        self._known: dict[tuple[Plan, tuple[Expression, ...]], Plan] = {}
        self._left = Budget(parts)
        self._search = search

    @property
    def is_cut_short(self) -> bool:
        return self._left.is_spent

    def plan(self, plan: Plan) -> Plan:
        return self._under(plan, ())

    def _under(self, plan: Plan, conditions: Conditions) -> Plan:
        """A plan under conditions, each as low as it can be."""
        asked = (plan, tuple(conditions))
        if asked not in self._known:
            self._left.take(bool(conditions))
            self._search.take(bool(conditions))
            self._known[asked] = self._sunk(*asked) if conditions else self._as_it_is(plan)
        return self._known[asked]

    def _as_it_is(self, plan: Plan) -> Plan:
        if isinstance(plan, Filter):
            moving, staying = parted(conjuncts(plan.predicate), lambda condition: not has_user_code(condition))
            return filtered(self._under(plan.input, moving), staying)
        if isinstance(plan, Join):
            return self._under_join(plan, ())  # what one side is told about the keys holds for the other
        return rebuild(plan, self.plan)

    def _sunk(self, plan: Plan, conditions: tuple[Expression, ...]) -> Plan:
        if self.is_cut_short or plan in self._closed:
            return filtered(self.plan(plan), conditions)
        if isinstance(plan, Filter):
            return self.plan(Filter(plan.input, conjunction([*conjuncts(plan.predicate), *conditions])))
        if isinstance(plan, Project):
            return self._under_project(plan, conditions)
        if isinstance(plan, Join):
            return self._under_join(plan, conditions)
        if isinstance(plan, Combine):
            return self._under_combine(plan, conditions)
        if isinstance(plan, Minus):
            return self._under_minus(plan, conditions)
        if isinstance(plan, Aggregate | Top | Over):
            return self._under_groups(plan, conditions)
        if isinstance(plan, Window):
            return self._under_window(plan, conditions)
        if isinstance(plan, Unnest | TimePredicate | CurrentPeriod):
            return self._under_more_columns(plan, conditions)
        return filtered(self.plan(plan), conditions)

    def _under_project(self, plan: Project, conditions: Conditions) -> Plan:
        plain = {place for place, e in enumerate(plan.expressions) if isinstance(e, Column | Literal)}
        below, above = parted(conditions, lambda condition: read(condition) <= plain)
        moved = [decided(substituted(condition, plan.expressions)) for condition in below]
        needed = [condition for condition in moved if constant(condition) is not True]
        return filtered(replace(plan, input=self._under(plan.input, needed)), above)

    def _under_more_columns(self, plan: Unnest | TimePredicate | CurrentPeriod, conditions: Conditions) -> Plan:
        """What is not about the new columns is asked before an array is taken apart, or the time is read."""
        width = len(plan.input.schema)
        below, above = parted(conditions, lambda condition: max(read(condition), default=0) < width)
        return filtered(replace(plan, input=self._under(plan.input, below)), above)

    def _under_join(self, plan: Join, conditions: Conditions) -> Plan:
        width = len(plan.left.schema)
        to_right = {width + place: place for place in range(len(plan.right.schema))}
        lefts, rest = parted(conditions, lambda condition: max(read(condition), default=0) < width)
        rights, above = parted(rest, lambda condition: min(read(condition), default=width) >= width)
        rights = [remap(condition, to_right) for condition in rights]
        left_below, left_told = _opened(plan.left)
        right_below, right_told = _opened(plan.right)
        lefts, rights = [*left_told, *lefts], [*right_told, *rights]
        left = [*lefts, *_across(rights, plan.right_keys, plan.left_keys)]
        right = [*rights, *_across(lefts, plan.left_keys, plan.right_keys)]
        joined = replace(plan, left=self._under(left_below, _new(left)), right=self._under(right_below, _new(right)))
        return filtered(joined, above)

    def _under_combine(self, plan: Combine, conditions: Conditions) -> Plan:
        """The rows of the right side only count those of the left one, where they are not in the answer themselves."""
        is_union = plan.how is Combination.UNION_ALL
        if is_union:
            for side, other in ((plan.left, plan.right), (plan.right, plan.left)):
                if _is_nothing(side, conditions) and scans(side) <= scans(other):
                    return self._under(_renamed(other, plan.schema.names), conditions)
        right = [condition for condition in conditions if is_union or not reads_doubles(condition)]
        return replace(plan, left=self._under(plan.left, conditions), right=self._under(plan.right, right))

    def _under_minus(self, plan: Minus, conditions: Conditions) -> Plan:
        below, above = parted(conditions, lambda c: read(c) <= set(plan.left_keys) and not reads_doubles(c))
        right = _across(below, plan.left_keys, plan.right_keys)
        return filtered(replace(plan, left=self._under(plan.left, below), right=self._under(plan.right, right)), above)

    def _under_groups(self, plan: Aggregate | Top | Over, conditions: Conditions) -> Plan:
        """A whole group is in the answer or is not."""
        keys = dict(enumerate(plan.keys)) if isinstance(plan, Aggregate) else {place: place for place in plan.partition}
        below, above = parted(conditions, lambda c: bool(keys) and read(c) <= keys.keys() and not reads_doubles(c))
        moved = [remap(condition, keys) for condition in below]
        return filtered(replace(plan, input=self._under(plan.input, moved)), above)

    def _under_window(self, plan: Window, conditions: Conditions) -> Plan:
        # Equal keys may be different doubles: 0.0 and -0.0 are in one partition.
        is_keyed = bool(plan.shape.partition)
        below, above = parted(conditions, lambda c: plan.shape.lets_through(read(c)) and not (is_keyed and reads_doubles(c)))
        return filtered(self._windowed(plan, below), above)

    def _windowed(self, plan: Window, conditions: Conditions) -> Plan:
        stream = plan.input
        if isinstance(stream, Insertions | Deletions):
            return replace(plan, input=replace(stream, input=self._under(stream.input, conditions)))
        window = rebuild(plan, self.plan)
        known = [] if window.condition is None else list(conjuncts(window.condition))
        both = _new([*known, *conditions])
        return replace(window, condition=conjunction(both)) if both else window


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
