"""Subqueries in expressions, joined to the rows that ask them.

    WHERE EXISTS (SELECT ... WHERE inner.k = outer.k)     semi-join on k; NOT EXISTS: anti-join
    WHERE x IN (SELECT y ...)                             semi-join on x = y; NOT IN: anti-join that minds NULLs
    ... OR x IN (SELECT y ...)                            a column more, made of both
    x > (SELECT MAX(y) ... WHERE inner.k = outer.k)       a column more, from groups by k

Conditions at the top of a subquery become conditions of the join, whatever they compare. What lies deeper is unnested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sash.plan.expression_text import expression_text
from sash.plan.nodes import Aggregate, Filter, Plan, Project
from sash.plan.rules.conditions import conjuncts
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, replaced
from sash.sql.bind import scalar_subqueries
from sash.sql.bind import semi_and_outer_joins as matches
from sash.sql.bind.joins import Part, match
from sash.sql.bind.outer_columns import inside, is_tied, is_variable, substituted
from sash.sql.bind.projections import columns as columns_of
from sash.sql.bind.projections import distinct
from sash.sql.bind.references import RightPlace, SubqueryResult, on_right
from sash.sql.bind.subquery_references import Subquery, SubqueryCollector, asks
from sash.sql.bind.unnest import Tied, Unnesting
from sash.sql.syntax.text_positions import at

Over = Callable[[Expression], Expression]


def same(expression: Expression) -> Expression:
    return expression


@dataclass(frozen=True)
class Subqueries:
    """Answers the questions of a query. `over` leads from its expressions to those that parts are asked in."""

    questions: SubqueryCollector
    over: Over = same

    def kept(self, part: Part, conditions: Sequence[Expression]) -> Part:
        """The rows under conditions; those that ask nothing come first."""
        part = part.filtered([self.over(condition) for condition in conditions if not asks(condition)])
        for condition in conditions:
            if asks(condition):
                part = self._met(part, condition) or self._kept(part, condition, is_negated=False)
        return part

    def told(self, part: Part, expressions: Sequence[Expression]) -> Part:
        """The rows with a column for every subquery that expressions read."""
        for result in self.questions.in_order(expressions):
            if result not in part.places:
                with at(self.questions.node(result)):
                    part = self._told(part, result, self.questions.asked(result))
        return part

    @property
    def level(self) -> int:
        return self.questions.level

    def beside(self, part: Part, plan: Plan, join: int = 0) -> tuple[Tied, list[Expression]]:
        """A plan that reads columns of a part, without them; and what ties it to the part, as the right side of this join."""
        tied = Unnesting(self.level, lambda found: distinct(_values(part, [self._inside(v) for v in found]))).tied(plan)
        return tied, self._ties(tied, join)

    def _met(self, part: Part, condition: Expression) -> Part | None:
        """A condition on the one value of a subquery as that of a join, which may have a key of it."""
        asking = self.questions.in_order([condition])
        asked = self.questions.asked(asking[0])
        if len(asking) > 1 or asking[0] in part.places or not asked.is_scalar:
            return None
        if is_tied(asked.plan, self.level) or not scalar_subqueries.has_one_row(asked.plan):
            return None
        return match(part, Part(asked.plan, {asking[0]: 0}), [self.over(condition)]).pairs()

    def _kept(self, part: Part, condition: Expression, is_negated: bool) -> Part:
        if isinstance(condition, Call) and condition.function == "not":
            return self._kept(part, condition.arguments[0], not is_negated)
        asked = self.questions.asked(condition) if isinstance(condition, SubqueryResult) else None
        if asked is None or asked.is_scalar:
            part = self.told(part, [condition])
            whole = build.call("not", [condition]) if is_negated else condition
            return part.filtered([self.over(whole)])
        assert isinstance(condition, SubqueryResult)
        with at(self.questions.node(condition)):
            part = self.told(part, asked.values)
            right, conditions, pairs = self._right(part, asked)
            if asked.comparison == "exists":
                return (matches.anti if is_negated else matches.semi)(part, right, conditions)
            if is_negated:
                return matches.not_any(part, right, pairs, conditions)
            return matches.semi(part, right, [*(pair.condition for pair in pairs), *conditions])

    def _told(self, part: Part, result: SubqueryResult, asked: Subquery) -> Part:
        if asked.is_scalar:
            return scalar_subqueries.told(self, part, result, asked.plan)
        right, conditions, pairs = self._right(part, asked)
        if asked.comparison == "exists":
            return matches.exists_value(part, right, conditions, result)
        return matches.any_value(part, right, pairs, conditions, result)

    def _right(self, part: Part, asked: Subquery) -> tuple[Part, list[Expression], list[matches.Pair]]:
        """A subquery as a part, what ties it to the rows around it, and what is compared."""
        level = self.questions.level
        plan, conditions, outputs = _peeled(asked.plan, level)
        tied, ties = self.beside(part, plan)
        moved = [self.moved(condition, tied.shift) for condition in conditions]
        pairs = [
            matches.Pair(asked.comparison or "", self.over(value), self.moved(output, tied.shift))
            for value, output in zip(asked.values, outputs, strict=bool(asked.values))
        ]
        return self.numbered(tied.plan), [*ties, *moved], pairs

    def numbered(self, plan: Plan, join: int = 0) -> Part:
        """A plan on the right side of a join."""
        return Part(plan, {RightPlace(place, join): place for place in range(len(plan.schema))})

    def moved(self, expression: Expression, shift: int) -> Expression:
        """From the columns of a plan that was unnested to those of the join."""

        def change(part: Expression) -> Expression | None:
            if is_variable(part, self.level):
                return self._inside(part)
            return on_right(replace(part, index=shift + part.index)) if isinstance(part, Column) else None

        return replaced(expression, change)

    def _inside(self, expression: Expression) -> Expression:
        return self.over(inside(expression, self.questions.level))

    def _ties(self, tied: Tied, join: int) -> list[Expression]:
        found = columns_of(tied.plan)
        return [
            build.call(
                "equal" if variable in tied.solid else "null_safe_equal",
                [self._inside(variable), on_right(found[place], join)],
            )
            for place, variable in enumerate(tied.variables)
        ]


def _peeled(plan: Plan, level: int) -> tuple[Plan, list[Expression], list[Expression]]:
    """What lies below the projections and filters at the top of a plan, with their conditions and the columns it had."""
    outputs: list[Expression] = list(columns_of(plan))
    conditions: list[Expression] = []
    while is_tied(plan, level):
        if isinstance(plan, Project):
            below = plan.expressions
            outputs = [_over(output, below) for output in outputs]
            conditions = [_over(condition, below) for condition in conditions]
        elif isinstance(plan, Filter):
            conditions += conjuncts(plan.predicate)
        elif not (isinstance(plan, Aggregate) and plan == distinct(plan.input)):  # how often is not asked
            break
        plan = plan.input
    return plan, conditions, outputs


def _over(expression: Expression, below: Sequence[Expression]) -> Expression:
    return substituted(expression, lambda leaf: below[leaf.index] if isinstance(leaf, Column) else leaf)


def _values(part: Part, expressions: Sequence[Expression]) -> Plan:
    """The columns of a part that these expressions are."""
    shown = [part.over(expression) for expression in expressions]
    return Project(part.plan, tuple(shown), tuple(expression_text(each) for each in shown))
