"""The joins of a query one after another.

Inner joins wait, so that they can be put in order; every other join takes all that was joined before it. Conditions of
WHERE sink below a join that leaves the rows of its left side as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.logical.nodes import Minus
from sash.scalar.nodes import Expression
from sash.sql.binder import matches
from sash.sql.binder.as_of import AS_OF, AS_OF_LEFT, as_of
from sash.sql.binder.joins import Part, covers, join_parts, match
from sash.sql.binder.scope import Scope
from sash.sql.places import fault
from sash.sql.stream_syntax import MINUS

INNER = "INNER"
_OUTER: dict[str, Callable[[Part, Part, Sequence[Expression]], Part]] = {
    "LEFT": matches.left_outer,
    "RIGHT": matches.right_outer,
    "FULL": matches.full_outer,
    "SEMI": matches.semi,
    "ANTI": matches.anti,
}
_KEEPS_LEFT = (INNER, "LEFT", "SEMI", "ANTI", AS_OF, AS_OF_LEFT)


@dataclass(frozen=True)
class Step:
    """A join as written: what is joined, how, and under which conditions."""

    kind: str
    part: Part
    conditions: tuple[Expression, ...]
    node: exp.Expr | None = None


@dataclass(frozen=True)
class Joined:
    """The inputs of a query and the steps that join them."""

    scope: Scope
    steps: tuple[Step, ...]

    def part(self, conditions: Sequence[Expression]) -> Part:
        """All inputs joined, under the conditions of WHERE."""
        waiting, parts, own = list(conditions), [self.steps[0].part], list[Expression]()
        for place, step in enumerate(self.steps[1:], 1):
            if step.kind != INNER:
                if all(later.kind in _KEEPS_LEFT for later in self.steps[place:]):
                    known = {column for part in parts for column in part.places}
                    sunk = [condition for condition in waiting if covers(known, condition)]
                    waiting, own = [c for c in waiting if c not in sunk], own + sunk
                parts, own = [_joined(join_parts(parts, own), step)], []
            else:
                parts.append(step.part)
                own += step.conditions
        return join_parts(parts, own + waiting)


def _joined(left: Part, step: Step) -> Part:
    if step.kind in (AS_OF, AS_OF_LEFT):
        return as_of(left, step.part, step.conditions, step.node, step.kind == AS_OF_LEFT)
    return _minus(left, step) if step.kind == MINUS else _OUTER[step.kind](left, step.part, step.conditions)


def _minus(left: Part, step: Step) -> Part:
    """Negation: it counts by keys, so nothing else can be compared."""
    found = match(left, step.part, step.conditions)
    if found.left_only or found.right_only or found.residual or not found.left_keys:
        where = step.node.args.get("on") if step.node else None
        raise fault(where, "MINUS compares columns by = only", "put other conditions into subqueries: (SELECT ...)")
    return replace(found.left, plan=Minus(found.left.plan, found.right.plan, found.left_keys, found.right_keys))
