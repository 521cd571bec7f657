"""Values from outside as text of Sash's SQL. Whatever a value holds, it stays one value."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from sash.errors import SashError

UNKNOWN_TYPE, OUT_OF_RANGE, OUT_OF_CALENDAR = "0A000", "22003", "22008"  # as the standard numbers what can be wrong with a value


class NoLiteral(SashError):
    """A value that SQL cannot say; `code` is that of the standard."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def string(text: str) -> str:
    """Backslashes and quotes mean something between quotes, nothing else does."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)" if isfinite(value) else f"CAST('{_special(value)}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{_naive(value).isoformat(' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, list):
        return f"ARRAY({', '.join(literal(one) for one in value)})"
    raise NoLiteral(UNKNOWN_TYPE, f"values of the type {type(value).__name__} cannot be given to a query")


def _whole(value: int) -> str:
    if abs(value) >= 10**38:
        raise NoLiteral(OUT_OF_RANGE, "a whole number has 38 digits at most")
    return str(value) if value >= 0 else f"({value})"


def _naive(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    except OverflowError:
        raise NoLiteral(OUT_OF_CALENDAR, f"{value} is outside of the calendar of UTC") from None


def _special(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise NoLiteral(OUT_OF_RANGE, f"{value} is no DECIMAL")
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale, 1)
    if precision > 38:
        raise NoLiteral(OUT_OF_RANGE, f"{value} has {precision} digits, and a DECIMAL has 38 at most")
    return f"CAST('{value:f}' AS DECIMAL({precision}, {scale}))"
