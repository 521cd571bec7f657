"""The join tree of a query: left-deep in the order written, but what shares a key with the joined goes first.

Conditions are put as low as they can go: over one input as a filter right above it; over two sides as keys of their
join, where they compare an expression of one side with one of the other; else as the join's residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sash.logical.nodes import Filter, Join, Plan, Project
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, Literal, columns, remap
from sash.schema import BOOLEAN
from sash.sql.binder import projections
from sash.sql.binder.scope import Scope

Pair = tuple[Expression, Expression]
_TRUE = Literal(True, BOOLEAN)


@dataclass(frozen=True)
class Part:
    """Some inputs joined; `places` tells where their columns lie in the plan's output."""

    plan: Plan
    inputs: frozenset[int]
    places: dict[int, int]

    def over(self, expression: Expression) -> Expression:
        """An expression of the query as one over this part's output."""
        return remap(expression, self.places)


def join_inputs(scope: Scope, conditions: Sequence[Expression]) -> Part:
    """All inputs of a query, joined and filtered by its conditions."""
    waiting = [(condition, _owners(scope, condition)) for condition in conditions if condition != _TRUE]
    parts = [_leaf(scope, place, waiting) for place in range(len(scope.inputs))]
    waiting = [(condition, owners) for condition, owners in waiting if len(owners) > 1]
    joined, rest = parts[0], parts[1:]
    while rest:
        right = next((part for part in rest if _has_key(scope, joined, part, waiting)), rest[0])
        rest.remove(right)
        covered = joined.inputs | right.inputs
        joined = _join(scope, joined, right, [condition for condition, owners in waiting if owners <= covered])
        waiting = [(condition, owners) for condition, owners in waiting if not owners <= covered]
    return joined


def conjunction(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else build.call("and", conditions)


def _owners(scope: Scope, expression: Expression) -> frozenset[int]:
    return frozenset(scope.owner(column) for column in columns(expression))


def _leaf(scope: Scope, place: int, conditions: Sequence[tuple[Expression, frozenset[int]]]) -> Part:
    """One input under its own conditions; those about no input at all go to the first."""
    plan = scope.inputs[place].plan
    part = Part(plan, frozenset([place]), {column.index: n for n, column in enumerate(scope.columns(place))})
    wanted = {part.inputs} | ({frozenset[int]()} if place == 0 else set())
    own = [part.over(condition) for condition, owners in conditions if owners in wanted]
    return replace(part, plan=Filter(plan, conjunction(own))) if own else part


def _has_key(
    scope: Scope, left: Part, right: Part, conditions: Sequence[tuple[Expression, frozenset[int]]]
) -> bool:
    return any(_pair(scope, left, right, condition) for condition, _ in conditions)


def _pair(scope: Scope, left: Part, right: Part, condition: Expression) -> Pair | None:
    """The two sides of `expression of left = expression of right`."""
    if not isinstance(condition, Call) or condition.function != "equal":
        return None
    one, other = condition.arguments
    for mine, theirs in ((one, other), (other, one)):
        owners = _owners(scope, mine), _owners(scope, theirs)
        if all(owners) and owners[0] <= left.inputs and owners[1] <= right.inputs:
            return mine, theirs
    return None


def _join(scope: Scope, left: Part, right: Part, conditions: Sequence[Expression]) -> Part:
    found = [(condition, _pair(scope, left, right, condition)) for condition in conditions]
    pairs = list(dict.fromkeys(pair for _, pair in found if pair is not None))
    left, left_keys = _with_keys(left, [mine for mine, _ in pairs])
    right, right_keys = _with_keys(right, [theirs for _, theirs in pairs])
    width = len(left.plan.schema)
    places = left.places | {column: place + width for column, place in right.places.items()}
    residual = [remap(condition, places) for condition, pair in found if pair is None]
    over = conjunction(residual) if residual else None
    return Part(Join(left.plan, right.plan, left_keys, right_keys, over), left.inputs | right.inputs, places)


def _with_keys(part: Part, keys: Sequence[Expression]) -> tuple[Part, tuple[int, ...]]:
    """A part that has the keys as columns: those that are not yet are computed after the others."""
    output: list[Expression] = list(projections.columns(part.plan))
    places = []
    for key in map(part.over, keys):
        place = key.index if isinstance(key, Column) else _place(output, key)
        places.append(place)
    if len(output) == len(part.plan.schema):
        return part, tuple(places)
    names = [*part.plan.schema.names, *(f"key{n}" for n in range(1, len(output) - len(part.plan.schema) + 1))]
    return replace(part, plan=Project(part.plan, tuple(output), tuple(names))), tuple(places)


def _place(output: list[Expression], key: Expression) -> int:
    if key not in output:
        output.append(key)
    return output.index(key)
