"""Joins that keep or drop rows by whether they find a match, made of inner joins and set operators.

    pairs = the inner join
    SEMI  = left rows that are in pairs          ANTI = left rows that are not
    LEFT  = pairs + ANTI padded with NULLs       RIGHT and FULL alike

Equal left rows find the same matches, so that the rows of pairs, cut to the left columns, tell all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sash.plan.nodes import Combination, Combine, Plan, Project
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BOOLEAN, INT, Schema
from sash.sql.bind.joins import Late, Match, Part, match
from sash.sql.bind.projections import columns, cut, distinct, project
from sash.sql.bind.references import Key

_TOLD = ((Combination.SEMI, True), (Combination.ANTI, False))


@dataclass(frozen=True)
class Pair:
    """A value on the left and a choice on the right, and how they are compared."""

    comparison: str
    value: Expression
    choice: Expression

    @property
    def condition(self) -> Expression:
        return build.call(self.comparison, [self.value, self.choice])

    @property
    def possible(self) -> Expression:
        """Whether they compare so, or might if a NULL were known."""
        return build.call("not", [build.call("is_false", [self.condition])])


def inner(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    """The pairs."""
    return match(left, right, conditions, late).pairs()


def semi(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    """The left rows with a match."""
    found = match(left, right, conditions, late)
    return _combined(found.left, _matched(found, found.left.width), Combination.SEMI)


def anti(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    """The left rows without a match."""
    found = match(left, right, conditions, late)
    return _combined(found.left, _matched(found, found.left.width), Combination.ANTI)


def not_any(left: Part, right: Part, pairs: Sequence[Pair], others: Sequence[Expression]) -> Part:
    """The left rows for which `values = ANY (choices)` is false: nothing compares so, and nothing might.

    A NULL on the right might compare so with any value, a NULL value with anything on the right.
    """
    found = match(left, right, [*(pair.condition for pair in pairs), *others])
    return _combined(found.left, _doubtful(found, right, pairs, others), Combination.ANTI)


def exists_value(left: Part, right: Part, conditions: Sequence[Expression], column: Key) -> Part:
    """The left rows, with one more column that tells whether they have a match."""
    found = match(left, right, conditions)
    matched = _matched(found, found.left.width)
    parts = [(_combined(found.left, matched, how), value) for how, value in _TOLD]
    return _told(parts, column)


def any_value(left: Part, right: Part, pairs: Sequence[Pair], others: Sequence[Expression], column: Key) -> Part:
    """The left rows, with the value of `values = ANY (choices)`: NULL if nothing compares so but something might."""
    found = match(left, right, [*(pair.condition for pair in pairs), *others])
    matched = _matched(found, found.left.width)
    doubtful = _doubtful(found, right, pairs, others)
    without = _combined(found.left, matched, Combination.ANTI)
    parts = [
        (_combined(found.left, matched, Combination.SEMI), True),
        (_combined(without, doubtful, Combination.SEMI), None),
        (_combined(found.left, doubtful, Combination.ANTI), False),
    ]
    return _told(parts, column)


def left_outer(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    return _outer(match(left, right, conditions, late), keeps_left=True, keeps_right=False)


def right_outer(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    return _outer(match(left, right, conditions, late), keeps_left=False, keeps_right=True)


def full_outer(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Part:
    return _outer(match(left, right, conditions, late), keeps_left=True, keeps_right=True)


def _outer(found: Match, keeps_left: bool, keeps_right: bool) -> Part:
    pairs = found.pairs()
    plan, width = pairs.plan, found.left.width
    left, right = found.left.plan, found.right.plan
    if keeps_left:
        alone = Combine(left, cut(pairs.plan, 0, width), Combination.ANTI)
        plan = _union(plan, _padded(alone, (*columns(alone), *_nulls(right.schema)), pairs))
    if keeps_right:
        alone = Combine(right, cut(pairs.plan, width, pairs.width), Combination.ANTI)
        plan = _union(plan, _padded(alone, (*_nulls(left.schema), *columns(alone)), pairs))
    return replace(pairs, plan=plan)


def _padded(alone: Plan, expressions: tuple[Expression, ...], pairs: Part) -> Plan:
    return Project(alone, expressions, pairs.plan.schema.names)


def _matched(found: Match, width: int) -> Plan:
    """The left rows of the pairs; without a residual one right row for every key is enough."""
    if found.residual or found.late:
        return cut(found.pairs().plan, 0, width)
    right = found.right.filtered(found.right_only)
    keys = tuple(columns(right.plan)[key] for key in found.right_keys)
    names = tuple(key.name for key in keys)
    once = distinct(project(right.plan, keys or (Literal(1, INT),), names or ("one",)))
    places = tuple(range(len(found.right_keys)))
    return cut(replace(found, right=Part(once, {}), right_keys=places, right_only=()).pairs().plan, 0, width)


def _doubtful(found: Match, right: Part, pairs: Sequence[Pair], others: Sequence[Expression]) -> Plan:
    """The left rows of the pairs, and those that a NULL might make some of."""
    width = found.left.width
    if len(pairs) > 1:
        return _matched(match(found.left, right, [*(pair.possible for pair in pairs), *others]), width)
    doubtful = _matched(found, width)
    for side in (pairs[0].choice, pairs[0].value):
        missing = match(found.left, right, [build.call("is_null", [side]), *others])
        doubtful = _union(doubtful, _matched(missing, width))
    return doubtful


def _told(parts: Sequence[tuple[Part, bool | None]], column: Key) -> Part:
    """All of these rows, each with its value in a last column."""
    plans: list[Plan] = [
        Project(part.plan, (*columns(part.plan), Literal(value, BOOLEAN)), (*part.plan.schema.names, "found"))
        for part, value in parts
    ]
    first = parts[0][0]
    return Part(reduce(_union, plans), first.places | {column: first.width})


def _combined(left: Part, right: Plan, how: Combination) -> Part:
    return replace(left, plan=Combine(left.plan, right, how))


def _union(left: Plan, right: Plan) -> Plan:
    return Combine(left, right, Combination.UNION_ALL)


def _nulls(schema: Schema) -> tuple[Literal, ...]:
    return tuple(Literal(None, type_) for type_ in schema.types)
