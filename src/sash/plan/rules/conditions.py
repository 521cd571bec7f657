"""Conditions, taken apart at AND and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from sash.plan.nodes import Filter, Plan
from sash.scalar import build
from sash.scalar.evaluate import Failures, evaluate
from sash.scalar.nodes import Call, Column, Expression, Literal, calls, columns, replaced
from sash.schema import BOOLEAN, Kind

TRUE = Literal(True, BOOLEAN)


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The conditions that AND ties together."""
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from conjuncts(argument)
    else:
        yield expression


def conjunction(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else build.call("and", list(conditions))


def filtered(plan: Plan, conditions: Sequence[Expression]) -> Plan:
    return Filter(plan, conjunction(conditions)) if conditions else plan


def read(expression: Expression) -> set[int]:
    """The places of the columns that an expression reads."""
    return {column.index for column in columns(expression)}


def reads_doubles(expression: Expression) -> bool:
    """Two DOUBLEs may be equal and yet not the same: 0.0 and -0.0."""
    return any(column.type.kind is Kind.DOUBLE for column in columns(expression))


def has_user_code(expression: Expression) -> bool:
    """A function of the user may do what it likes, so it is called where it was written."""
    return any(call.user is not None for call in calls(expression))


def constant(condition: Expression) -> bool | None:
    """Whether a condition that reads no column is true; None for others."""
    if any(columns(condition)) or has_user_code(condition):
        return None
    (value,) = evaluate(condition, {}, 1, Failures()).to_pylist()
    return value is True


def decided(condition: Expression) -> Expression:
    """A condition of a filter without the parts of AND and OR that are known: what is NULL lets a row through as little as what
    is false."""
    if not isinstance(condition, Call) or condition.function not in ("and", "or"):
        return condition
    dominant = condition.function == "or"
    told, others = parted(dict.fromkeys(map(decided, condition.arguments)), lambda part: isinstance(part, Literal))
    if not others or any((part == TRUE) is dominant for part in told):
        return Literal(any(part == TRUE for part in told) if dominant else all(part == TRUE for part in told), BOOLEAN)
    return others[0] if len(others) == 1 else build.call(condition.function, others)


def parted(conditions: Iterable[Expression], belongs: Callable[[Expression], bool]) -> tuple[list[Expression], list[Expression]]:
    """Those that belong, and the others."""
    chosen: list[Expression] = []
    others: list[Expression] = []
    for condition in conditions:
        (chosen if belongs(condition) else others).append(condition)
    return chosen, others


def substituted(expression: Expression, values: Sequence[Expression]) -> Expression:
    """The expression with every column replaced by the value that it stands for."""
    return replaced(expression, lambda part: values[part.index] if isinstance(part, Column) else None)
