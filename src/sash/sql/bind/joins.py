"""Inner joins: left-deep in the order written, but what shares a key with the joined goes first.

Conditions are put as low as they can go: over one input as a filter right above it; over two sides as keys of their
join, where they compare an expression of one side with one of the other; else as the join's residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from sash.plan.nodes import Join, Plan, Project
from sash.plan.rules.conditions import TRUE, conjunction
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, Literal, leaves
from sash.schema import Kind, Type
from sash.sql.bind import projections
from sash.sql.bind.numbering import filtered
from sash.sql.bind.projections import cut
from sash.sql.bind.references import Key, OuterColumn, key_of, placed

Pair = tuple[Expression, Expression]

_SOME: dict[Kind, object] = {
    Kind.BOOLEAN: False,
    Kind.INT: 0,
    Kind.BIGINT: 0,
    Kind.DOUBLE: 0.0,
    Kind.DECIMAL: Decimal(0),
    Kind.STRING: "",
    Kind.TIMESTAMP: datetime(1970, 1, 1),
    Kind.DATE: date(1970, 1, 1),
}


@dataclass(frozen=True)
class Part:
    """Some inputs joined; `places` tells where the columns of the query lie in the plan's output."""

    plan: Plan
    places: dict[Key, int]

    @property
    def width(self) -> int:
        return len(self.plan.schema)

    def over(self, expression: Expression) -> Expression:
        """An expression of the query as one over this part's output."""
        return placed(expression, self.places)

    def covers(self, expression: Expression) -> bool:
        """Whether an expression reads columns, and all of them are here."""
        return covers(self.places.keys(), expression)

    def filtered(self, conditions: Sequence[Expression]) -> Part:
        return replace(self, plan=filtered(self.plan, [self.over(condition) for condition in conditions]))


Late = Callable[[Part], Part] | None  # what is demanded of pairs after they are made


def covers(known: Set[Key], expression: Expression) -> bool:
    """Whether an expression reads columns of inputs, and all of them are known."""
    read = {key_of(leaf) for leaf in leaves(expression) if not isinstance(leaf, OuterColumn)}
    return bool(read) and read <= known


def is_fixed(expression: Expression) -> bool:
    """Whether an expression reads no column of an input."""
    return all(isinstance(leaf, OuterColumn) for leaf in leaves(expression))


def is_from_outside(expression: Expression) -> bool:
    """Whether it reads a column of the query around this one."""
    return any(isinstance(leaf, OuterColumn) for leaf in leaves(expression))


@dataclass(frozen=True)
class Match:
    """How two parts meet: on keys, under conditions of one side, and under conditions that need both."""

    left: Part  # with its keys as columns
    right: Part
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_only: tuple[Expression, ...]
    right_only: tuple[Expression, ...]
    residual: tuple[Expression, ...]
    late: Late = None

    def pairs(self) -> Part:
        """The inner join."""
        left, right = self.left.filtered(self.left_only), self.right.filtered(self.right_only)
        places = left.places | {column: place + left.width for column, place in right.places.items()}
        rest = [placed(condition, places) for condition in self.residual]
        plan = Join(left.plan, right.plan, self.left_keys, self.right_keys, conjunction(rest) if rest else None)
        pairs = Part(plan, places)
        return pairs if self.late is None else replace(pairs, plan=cut(self.late(pairs).plan, 0, pairs.width))


def join_parts(parts: Sequence[Part], conditions: Sequence[Expression]) -> Part:
    """All parts of a query, joined and filtered; conditions that read no column go to the first.

    Those that read columns of the query around come last, where it can take them for conditions of its own.
    """
    from_outside = [condition for condition in conditions if is_from_outside(condition)]
    waiting = [condition for condition in conditions if condition != TRUE and condition not in from_outside]
    constant = [condition for condition in waiting if not any(leaves(condition))]
    alone = [part.filtered([c for c in waiting if part.covers(c)]) for part in parts]
    waiting = [c for c in waiting if c not in constant and not any(part.covers(c) for part in parts)]
    joined, rest = alone[0].filtered(constant), alone[1:]
    while rest:
        right = next((part for part in rest if _has_key(joined, part, waiting)), rest[0])
        rest.remove(right)
        known = joined.places.keys() | right.places.keys()
        joined = match(joined, right, [c for c in waiting if covers(known, c)]).pairs()
        waiting = [c for c in waiting if not covers(known, c)]
    return joined.filtered(from_outside)


def match(left: Part, right: Part, conditions: Sequence[Expression], late: Late = None) -> Match:
    """How two parts meet under these conditions."""
    rest = [condition for condition in conditions if condition != TRUE]
    left_only = [condition for condition in rest if left.covers(condition)]
    right_only = [c for c in rest if right.covers(c) or is_fixed(c)]
    both = [condition for condition in rest if condition not in left_only and condition not in right_only]
    found = [(condition, _pairs(left, right, condition)) for condition in both]
    pairs = list(dict.fromkeys(pair for _, keys in found for pair in keys))
    left, left_keys = with_columns(left, [mine for mine, _ in pairs])
    right, right_keys = with_columns(right, [theirs for _, theirs in pairs])
    residual = [condition for condition, keys in found if not keys]
    return Match(left, right, left_keys, right_keys, tuple(left_only), tuple(right_only), tuple(residual), late)


def _has_key(left: Part, right: Part, conditions: Sequence[Expression]) -> bool:
    return any(_pairs(left, right, condition) for condition in conditions)


def _pairs(left: Part, right: Part, condition: Expression) -> tuple[Pair, ...]:
    """The keys that `expression of left = expression of right` compares; those of `<=>` are never NULL."""
    if not isinstance(condition, Call) or condition.function not in ("equal", "null_safe_equal"):
        return ()
    one, other = condition.arguments
    for mine, theirs in ((one, other), (other, one)):
        if left.covers(mine) and right.covers(theirs) and not is_from_outside(condition):
            return ((mine, theirs),) if condition.function == "equal" else _null_safe(mine, theirs)
    return ()


def _null_safe(mine: Expression, theirs: Expression) -> tuple[Pair, ...]:
    some = _some(mine.type)
    missing = (build.call("is_null", [mine]), build.call("is_null", [theirs]))
    return (missing, (build.call("coalesce", [mine, some]), build.call("coalesce", [theirs, some])))


def _some(type_: Type) -> Expression:
    """A value in the place of NULL."""
    if type_.kind is Kind.ARRAY:
        return build.cast(build.call("array", []), type_)
    return Literal(_SOME[type_.kind], type_)


def with_columns(part: Part, expressions: Sequence[Expression]) -> tuple[Part, tuple[int, ...]]:
    """A part that has the expressions as columns: those that are not yet are computed after the others."""
    output: list[Expression] = list(projections.columns(part.plan))
    places = []
    for key in map(part.over, expressions):
        place = key.index if isinstance(key, Column) else _place(output, key)
        places.append(place)
    if len(output) == part.width:
        return part, tuple(places)
    names = [*part.plan.schema.names, *(f"key{n}" for n in range(1, len(output) - part.width + 1))]
    return replace(part, plan=Project(part.plan, tuple(output), tuple(names))), tuple(places)


def _place(output: list[Expression], key: Expression) -> int:
    if key not in output:
        output.append(key)
    return output.index(key)
