"""The joins of a query one after another.

Inner joins wait, so that they can be put in order; every other join takes all that was joined before it. Conditions of
WHERE sink below a join that leaves the rows of its left side as they are. What is LATERAL is joined for every row before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.plan.nodes import Minus, Plan, Scan, Window
from sash.scalar.nodes import Expression, leaves
from sash.sql.bind import semi_and_outer_joins as matches
from sash.sql.bind.as_of import AS_OF, AS_OF_LEFT, as_of
from sash.sql.bind.joins import Late, Part, covers, is_from_outside, join_parts, match
from sash.sql.bind.outer_columns import is_tied
from sash.sql.bind.references import RightPlace, SubqueryResult, key_of
from sash.sql.bind.scope import Scope
from sash.sql.bind.subqueries import Subqueries
from sash.sql.bind.subquery_references import SubqueryCollector, asks
from sash.sql.bind.table_functions import is_unnested, unnested
from sash.sql.syntax.stream_syntax import MINUS
from sash.sql.syntax.text_positions import fault

INNER = "INNER"
LATERAL = 1  # its right side, beside those of the subqueries in its condition (`RightPlace.join`)
_JOINS: dict[str, Callable[[Part, Part, Sequence[Expression], Late], Part]] = {
    INNER: matches.inner,
    "LEFT": matches.left_outer,
    "RIGHT": matches.right_outer,
    "FULL": matches.full_outer,
    "SEMI": matches.semi,
    "ANTI": matches.anti,
}
KEEPS_LEFT = (INNER, "LEFT", "SEMI", "ANTI", AS_OF, AS_OF_LEFT)


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
            if step.kind != INNER or self._is_tied(step) or is_unnested(step.part, step.kind, step.conditions):
                if all(later.kind in KEEPS_LEFT for later in self.steps[place:]):
                    known = {column for part in parts for column in part.places}
                    sunk = [c for c in waiting if covers(known, c) and not is_from_outside(c)]
                    waiting, own = [c for c in waiting if c not in sunk], own + sunk
                parts, own = [self._joined(self._met(parts, own), step)], []
            else:
                parts.append(step.part)
                own += step.conditions
        return self._met(parts, own + waiting)

    def _met(self, parts: Sequence[Part], conditions: Sequence[Expression]) -> Part:
        """Parts joined under conditions; what these ask of subqueries comes last."""
        joined = join_parts(parts, [condition for condition in conditions if not asks(condition)])
        return self._subqueries.kept(joined, [condition for condition in conditions if asks(condition)])

    def _joined(self, left: Part, step: Step) -> Part:
        if step.kind in (MINUS, AS_OF, AS_OF_LEFT) and self._is_tied(step):
            raise fault(step.node, "LATERAL is possible with INNER and LEFT JOIN only")
        if step.kind in (AS_OF, AS_OF_LEFT):
            return as_of(left, step.part, step.conditions, step.node, step.kind == AS_OF_LEFT)
        if step.kind == MINUS:
            return _minus(left, step)
        if is_unnested(step.part, step.kind, step.conditions):
            return self._unnested(left, step)
        right, conditions = step.part, list(step.conditions)
        if self._is_tied(step):
            right, ties = self._beside(left, step)
            conditions += ties
        asking = self._questions.in_order(conditions)
        left, right = (self._told(side, asking) for side in (left, right))
        how = _JOINS[step.kind]
        known = left.places.keys() | right.places.keys()
        late = [c for c in conditions if any(each in asking and each not in known for each in leaves(c))]
        early = [condition for condition in conditions if condition not in late]
        joined = how(left, right, early, (lambda pairs: self._subqueries.kept(pairs, late)) if late else None)
        return replace(joined, places={key: at for key, at in joined.places.items() if not isinstance(key, RightPlace)})

    def _unnested(self, left: Part, step: Step) -> Part:
        found = unnested(left, step.part, self._questions.level, is_outer=step.kind == "LEFT")
        assert found is not None
        return self._met([found], step.conditions if step.kind == INNER else ())

    def _told(self, side: Part, asking: Sequence[SubqueryResult]) -> Part:
        """A side of a join with the subqueries of the condition that need nothing of the other."""
        own = [result for result in asking if {key_of(leaf) for leaf in self._questions.needs(result)} <= side.places.keys()]
        return self._subqueries.told(side, own)

    def _is_tied(self, step: Step) -> bool:
        """LATERAL: whether what is joined reads columns of the inputs before it."""
        return is_tied(step.part.plan, self._questions.level)

    def _beside(self, left: Part, step: Step) -> tuple[Part, list[Expression]]:
        tied, ties = self._subqueries.beside(left, step.part.plan, LATERAL)
        places = {key: place + tied.shift for key, place in step.part.places.items()}
        return Part(tied.plan, self._subqueries.numbered(tied.plan, LATERAL).places | places), ties

    @property
    def _questions(self) -> SubqueryCollector:
        assert isinstance(self.scope.questions, SubqueryCollector)
        return self.scope.questions

    @property
    def _subqueries(self) -> Subqueries:
        return Subqueries(self._questions)


def _minus(left: Part, step: Step) -> Part:
    """Negation: it counts by keys, so nothing else can be compared."""
    found = match(left, step.part, step.conditions)
    if found.left_only or found.right_only or found.residual or not found.left_keys:
        where = step.node.args.get("on") if step.node else None
        raise fault(where, "MINUS compares columns by = only", "put other conditions into subqueries: (SELECT ...)")
    by_position = _has_positions(found.left.plan, found.left_keys)
    return replace(found.left, plan=Minus(found.left.plan, found.right.plan, found.left_keys, found.right_keys, by_position))


def _has_positions(plan: Plan, keys: tuple[int, ...]) -> bool:
    """Whether rows of a key come in the order of their stream, on however many shards; all else is derived."""
    is_window = isinstance(plan, Window) and isinstance(plan.input, Scan)
    return is_window and (not plan.shape.partition or plan.shape.partition == keys)  # type: ignore[union-attr]
