"""NOW(): comparisons with the time of the query, as plans.

A comparison of a row with NOW() changes at one instant that the row names, so it becomes a question whether that is reached:

    ts > NOW() - INTERVAL 1 HOUR      NOT reached(ts + 1 hour)       since it means NOW() < ts + 1 hour
    ts <= NOW()                       reached(ts)
    NOW() - ts > INTERVAL 1 MINUTE    reached(ts + 1 minute + 1 microsecond)

        Filter, Project      over the answers
        Reached              one answer for every instant
        Project              the instants, as numbers of microseconds, beside the input's columns
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sash.errors import SashError
from sash.logical.nodes import Filter, Join, Plan, Project, Scan
from sash.logical.reached import Reached
from sash.logical.unnest import Unnest
from sash.scalar import build
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, TIMESTAMP
from sash.sql.binder.conditions import conjunction
from sash.sql.binder.projections import columns, cut

NOW = Call("now", (), TIMESTAMP)
DAY = 86_400_000_000
_REACHED = "reached"
_CHILDREN = ("input", "left", "right")
_MIRRORED = {
    "less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal", "equal": "equal",
    "not_equal": "not_equal",
}  # fmt: skip


def reads_time(expression: Expression) -> bool:
    return isinstance(expression, Call) and (expression == NOW or any(map(reads_time, expression.arguments)))


def settle_time(plan: Plan) -> Plan:
    """A plan without NOW(); parts that never had it are left as they are."""
    if isinstance(plan, Scan):
        return plan
    children: dict[str, Any] = {name: settle_time(getattr(plan, name)) for name in _CHILDREN if hasattr(plan, name)}
    if any(children[name] is not getattr(plan, name) for name in children):
        plan = replace(plan, **children)
    if isinstance(plan, Filter) and reads_time(plan.predicate):
        return _filter(plan)
    if isinstance(plan, Project) and any(map(reads_time, plan.expressions)):
        wide, expressions = _told(plan.input, [_answered(part) for part in plan.expressions])
        return Project(wide, tuple(expressions), plan.names)
    if isinstance(plan, Unnest) and reads_time(plan.array):
        raise _misplaced()
    if isinstance(plan, Join) and plan.residual is not None and reads_time(plan.residual):
        return _filter(Filter(replace(plan, residual=None), plan.residual))
    return plan


def _filter(plan: Filter) -> Plan:
    """What does not read the time comes first."""
    conditions = list(_conjuncts(plan.predicate))
    plain = [condition for condition in conditions if not reads_time(condition)]
    below = Filter(plan.input, conjunction(plain)) if plain else plan.input
    wide, timed = _told(below, [_answered(part) for part in conditions if reads_time(part)])
    return cut(Filter(wide, conjunction(timed)), 0, len(plan.schema))


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "and":
        for part in expression.arguments:
            yield from _conjuncts(part)
    else:
        yield expression


def _told(plan: Plan, expressions: Sequence[Expression]) -> tuple[Plan, list[Expression]]:
    """A plan that answers all questions in some expressions over it, and the expressions over that."""
    instants = list(dict.fromkeys(instant for expression in expressions for instant in _questions(expression)))
    width, names = len(plan.schema), [f"instant{number}" for number in range(1, len(instants) + 1)]
    wide = Project(plan, (*columns(plan), *instants), (*plan.schema.names, *names))
    told = Reached(wide, tuple(range(width, width + len(instants))))
    answers = columns(told)[width + len(instants) :]
    found = dict(zip(instants, answers, strict=True))
    return told, [_with_answers(expression, found) for expression in expressions]


def _questions(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call):
        if expression.function == _REACHED:
            yield expression.arguments[0]
        else:
            for part in expression.arguments:
                yield from _questions(part)


def _with_answers(expression: Expression, found: dict[Expression, Column]) -> Expression:
    if not isinstance(expression, Call):
        return expression
    if expression.function == _REACHED:
        return found[expression.arguments[0]]
    return replace(expression, arguments=tuple(_with_answers(part, found) for part in expression.arguments))


def _answered(expression: Expression) -> Expression:
    """An expression in which comparisons with NOW() are questions."""
    if not isinstance(expression, Call) or not reads_time(expression):
        return expression
    if expression.function in _MIRRORED:
        one, other = expression.arguments
        if reads_time(one) and not reads_time(other):
            return _Comparison(expression.function, one, other, 0).question()
        if reads_time(other) and not reads_time(one):
            return _Comparison(_MIRRORED[expression.function], other, one, 0).question()
    if expression == NOW or not any(reads_time(part) for part in expression.arguments):
        raise _misplaced()
    return replace(expression, arguments=tuple(_answered(part) for part in expression.arguments))


@dataclass(frozen=True)
class _Comparison:
    """`moving function fixed + shift`; `moving` reads the time, and the shift is in microseconds."""

    function: str
    moving: Expression
    fixed: Expression
    shift: int

    def question(self) -> Expression:
        moving = self.moving
        if moving == NOW:
            return self._asked()
        if not isinstance(moving, Call) or moving.function not in _SOLVED:
            raise _misplaced()
        solved: _Comparison = _SOLVED[moving.function](self, *moving.arguments)
        return solved.question()

    def _asked(self) -> Expression:
        if self.function == "equal":
            return build.call("and", [self._is("greater_equal"), self._is("less_equal")])
        if self.function == "not_equal":
            return build.call("or", [self._is("less"), self._is("greater")])
        return self._is(self.function)

    def _is(self, function: str) -> Expression:
        """NOW() is at least, or below, an instant."""
        later = function in ("greater", "less_equal")
        reached = Call(_REACHED, (_moved(_micros(self.fixed), self.shift + later),), BOOLEAN)
        return reached if function.startswith("greater") else build.call("not", [reached])

    def by(self, moving: Expression, length: Expression, sign: int) -> _Comparison:
        """moving + sign * length on the left becomes a shift to the other side."""
        if not isinstance(length, Literal) or not isinstance(length.value, int):
            raise _misplaced()
        return replace(self, moving=moving, shift=self.shift - sign * length.value)

    def difference(self, one: Expression, other: Expression) -> _Comparison:
        """NOW() - t < length means NOW() < t + length, and t - NOW() < length means NOW() > t - length."""
        if reads_time(one) and not reads_time(other):
            return replace(self, moving=one, fixed=build.call("add", [_micros(other), self.fixed]))
        if reads_time(other) and not reads_time(one):
            fixed = build.call("subtract", [_micros(one), self.fixed])
            return replace(self, function=_MIRRORED[self.function], moving=other, fixed=fixed, shift=-self.shift)
        raise _misplaced()

    def as_date(self, moving: Expression) -> _Comparison:
        """The day of NOW() is after a day when the next one has begun, and up to it as long as that has not."""
        if self.fixed.type != DATE or (self.function.endswith("equal") and not self.function.startswith(("less", "greater"))):
            raise _misplaced()
        next_day = self.function in ("greater", "less_equal")
        function = "greater_equal" if self.function.startswith("greater") else "less"
        return replace(self, function=function, moving=moving, shift=self.shift + next_day * DAY)

    def in_days(self, moving: Expression, days: Expression, sign: int) -> _Comparison:
        if not isinstance(days, Literal) or not isinstance(days.value, int):
            raise _misplaced()
        return replace(self, moving=moving, shift=self.shift - sign * days.value * DAY)

    def cast(self, moving: Expression) -> _Comparison:
        if self.moving.type == DATE and moving.type == TIMESTAMP:
            return self.as_date(moving)
        if self.moving.type == TIMESTAMP and moving.type == DATE and self.shift % DAY == 0:
            return replace(self, moving=moving, fixed=_day(self.fixed))
        raise _misplaced()


_SOLVED: dict[str, Any] = {
    "add_interval": lambda comparison, moving, length: comparison.by(moving, length, 1),
    "subtract_interval": lambda comparison, moving, length: comparison.by(moving, length, -1),
    "subtract_timestamps": _Comparison.difference,
    "date_add": lambda comparison, moving, days: comparison.in_days(moving, days, 1),
    "date_sub": lambda comparison, moving, days: comparison.in_days(moving, days, -1),
    "cast": _Comparison.cast,
}


def _day(expression: Expression) -> Expression:
    """A DATE that became a TIMESTAMP, as it was."""
    if isinstance(expression, Call) and expression.function == "cast" and expression.arguments[0].type == DATE:
        return expression.arguments[0]
    return expression


def _micros(expression: Expression) -> Expression:
    """A point in time as a number; sums of it cannot fall out of the calendar."""
    if expression.type == BIGINT:
        return expression
    return build.call("unix_micros", [build.cast(expression, TIMESTAMP)])


def _moved(instant: Expression, by: int) -> Expression:
    return build.call("add", [instant, Literal(by, BIGINT)]) if by else instant


def _misplaced() -> SashError:
    return SashError(
        "NOW() can only be compared here, with a time that does not depend on it",
        "write a condition such as ts > NOW() - INTERVAL 1 HOUR",
    )
