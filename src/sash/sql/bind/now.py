"""NOW() in an expression, and what may stand in its place."""

from __future__ import annotations

from sash.errors import SashError
from sash.scalar.nodes import Call, Expression, Literal, calls, replaced
from sash.schema import TIMESTAMP

NOW = Call("now", (), TIMESTAMP)


def reads_time(expression: Expression) -> bool:
    return NOW in calls(expression)


def at_time(expression: Expression, now: Expression) -> Expression:
    """An expression with another value for NOW()."""
    return replaced(expression, lambda part: now if part == NOW else None)


def whole(expression: Expression) -> int | None:
    """The value of a constant that is a whole number."""
    value = expression.value if isinstance(expression, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def misplaced() -> SashError:
    return SashError(
        "NOW() can only be compared here, with a time that does not depend on it, or be cut to a unit: it changes all the time",
        "write a condition such as ts > NOW() - INTERVAL 1 HOUR, or a value such as DATE_TRUNC('second', NOW())",
    )
