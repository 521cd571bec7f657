"""ROW_NUMBER: numbered rows of which a condition keeps the first ones.

    SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM s      Top without a limit
    SELECT * FROM (that) WHERE rn <= 3                                        Top of 3 rows, and no filter

The limit comes from conditions on the number: above a subquery, or in QUALIFY. A number that nobody reads is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sash.plan.nodes import Filter, Plan, Project, Top
from sash.plan.rules.conditions import conjunction, conjuncts
from sash.scalar.nodes import Call, Column, Expression, Literal, leaves
from sash.schema import BIGINT
from sash.sql.bind.conditions import FALSE
from sash.sql.bind.references import Key, WindowResult, key_of, placed

UNLIMITED = 2**63 - 1
NUMBER = WindowResult(BIGINT, "ROW_NUMBER()", 0)  # where it is the only window function

_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
}


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest number that conditions let through."""

    least: int = 1
    greatest: int = UNLIMITED

    def under(self, function: str, value: int) -> Bounds:
        least, greatest = {
            "less": (1, value - 1),
            "less_equal": (1, value),
            "greater": (value + 1, UNLIMITED),
            "greater_equal": (value, UNLIMITED),
            "equal": (value, value),
        }[function]
        return Bounds(max(self.least, least), min(self.greatest, greatest))

    def limit(self, top: Top) -> Plan:
        if self.greatest < self.least:
            return Filter(replace(top, count=1), FALSE)
        return replace(top, count=self.greatest - self.least + 1, offset=self.least - 1)


def bounds(conditions: Sequence[Expression], number: Key) -> tuple[Bounds, list[Expression]]:
    """What conditions say about the number, and those that say something else."""
    found, rest = Bounds(), []
    for condition in chain.from_iterable(map(conjuncts, conditions)):
        said = _comparison(condition, number)
        if said is None:
            rest.append(condition)
        else:
            found = found.under(*said)
    return found, rest


def filtered(plan: Plan, conditions: Sequence[Expression]) -> Plan:
    """A plan under conditions; those on the number of an unlimited Top become its limit."""
    place = _number(plan)
    if place is not None:
        limits, rest = bounds(conditions, place)
        if limits.greatest < UNLIMITED:
            plan, conditions = _limited(plan, limits), rest
    return Filter(plan, conjunction(conditions)) if conditions else plan


def trimmed(plan: Plan, expressions: Sequence[Expression]) -> tuple[Plan, list[Expression]]:
    """A plan without its number, if these expressions over it do not read one; the expressions over that."""
    if isinstance(plan, Project) and isinstance(plan.input, Top) and plan.input.numbered is not None:
        places: dict[Key, int] = {n: part.index for n, part in enumerate(plan.expressions) if isinstance(part, Column)}
        if len(places) == len(plan.expressions):
            return trimmed(plan.input, [placed(expression, places) for expression in expressions])
    if isinstance(plan, Top) and plan.numbered is not None:
        number = len(plan.schema) - 1
        if all(key_of(leaf) != number for expression in expressions for leaf in leaves(expression)):
            return plan.input if plan.count == UNLIMITED else replace(plan, numbered=None), list(expressions)
    return plan, list(expressions)


def _comparison(condition: Expression, number: Key) -> tuple[str, int] | None:
    """The comparison of the number with a constant, the number on the left."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    one, other = condition.arguments
    if _is(other, number):
        return _comparison(Call(_MIRRORED[condition.function], (other, one), condition.type), number)
    if not (_is(one, number) and isinstance(other, Literal) and isinstance(other.value, int)):
        return None
    return condition.function, other.value


def _is(expression: Expression, number: Key) -> bool:
    return not isinstance(expression, Call | Literal) and key_of(expression) == number


def _number(plan: Plan) -> int | None:
    """The column that holds the number of an unlimited Top."""
    if isinstance(plan, Top) and plan.count == UNLIMITED:
        return len(plan.schema) - 1
    inner = _number(plan.input) if isinstance(plan, Project) else None
    if inner is None or not isinstance(plan, Project):
        return None
    places = [n for n, part in enumerate(plan.expressions) if isinstance(part, Column) and part.index == inner]
    return places[0] if places else None


def _limited(plan: Plan, limits: Bounds) -> Plan:
    if isinstance(plan, Project):
        return replace(plan, input=_limited(plan.input, limits))
    assert isinstance(plan, Top)
    return limits.limit(plan)
