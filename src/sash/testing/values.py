"""Values as people write them in tests, and when two of them are the same.

An instant may be written as seconds since the epoch (`10`, `10.5`) or as a calendar time (`2024-01-01 12:00:00`); it is
kept as microseconds. Numbers that are not floats are compared exactly, floats by a relative tolerance, since the oracle
sums them in another order than the engine does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from sash.errors import SashError
from sash.schema import SECOND, Kind, Type

Scalar = bool | int | float | Decimal | str | datetime | date | None
Value = Scalar | tuple[object, ...]  # an array
Row = tuple[Value, ...]
Instant = int | str | datetime  # an int is microseconds since the epoch

EPOCH = datetime(1970, 1, 1)
DAY = 86_400 * SECOND
RELATIVE = 1e-9
ABSOLUTE = 1e-12  # what is left of a sum of floats that should be zero

_INTEGER_BITS = {Kind.INT: 31, Kind.BIGINT: 63}


def same(left: object, right: object) -> bool:
    """Whether two values, or two rows of values, are equal up to the rounding of floats; NULL is the same as NULL."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, float) or isinstance(right, float):
        return _close(left, right)
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return left == right


def _close(left: object, right: object) -> bool:
    if not (_is_number(left) and _is_number(right)):
        return False
    one, other = float(left), float(right)  # type: ignore[arg-type]
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def order(row: Sequence[object]) -> tuple[tuple[bool, bool, object], ...]:
    """A key that sorts rows by all their columns, NULLs first and NaN last, as Spark does."""
    return tuple(_place(value) for value in row)


def _place(value: object) -> tuple[bool, bool, object]:
    if value is None:
        return False, False, 0
    if isinstance(value, float) and math.isnan(value):
        return True, True, 0
    return True, False, order(value) if isinstance(value, tuple) else value


def instant(value: object) -> int:
    """Microseconds since the epoch, from a value of a row or of a text: seconds, a datetime, or the text of either."""
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (naive - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return int((Decimal(str(value)) * SECOND).to_integral_value(ROUND_HALF_UP))
    text = str(value).strip()
    try:
        return instant(Decimal(text))
    except InvalidOperation:
        pass
    try:
        return instant(datetime.fromisoformat(text))
    except ValueError:
        raise SashError(f'"{text}" is not an instant', "write seconds since the epoch or 2024-01-01 12:00:00") from None


def microseconds(value: Instant) -> int:
    """An instant that code gives: an int is what it is."""
    return value if isinstance(value, int) else instant(value)


def moment(ts: int) -> datetime:
    """The calendar time of an instant."""
    return EPOCH + timedelta(microseconds=ts)


def show_instant(ts: int) -> str:
    """Seconds for instants of the epoch's first day, which tests made by hand use; a calendar time for all others."""
    if not 0 <= ts < DAY:
        return moment(ts).isoformat()
    return format((Decimal(ts) / SECOND).normalize(), "f")


def convert(value: object, type_: Type) -> Value:
    """A value as rows hold it: of the Python class that Arrow gives for the type. Raises SashError when it is none."""
    if value is None:
        return None
    try:
        return _convert(value, type_)
    except (ValueError, TypeError, InvalidOperation):
        raise SashError(f'"{value}" is not a {type_}') from None


def _convert(value: object, type_: Type) -> Value:
    if type_.element is not None:
        return _array(value, type_.element)
    match type_.kind:
        case Kind.BOOLEAN:
            return _boolean(value)
        case Kind.INT | Kind.BIGINT:
            return int(value) if _is_number(value) else int(str(value))  # type: ignore[call-overload]
        case Kind.DOUBLE:
            number = float(value)  # type: ignore[arg-type]
            return math.nan if math.isnan(number) else number  # one NaN object, so that equal rows are equal as tuples
        case Kind.DECIMAL:
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
        case Kind.TIMESTAMP:
            return moment(instant(value))
        case Kind.DATE:
            return _date(value)
        case _:
            return str(value)


def _array(value: object, element: Type) -> tuple[object, ...]:
    """From a sequence, or from a text: [1,2,NULL]."""
    if isinstance(value, str):
        text = value.strip()
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError
        words = [word.strip() for word in text[1:-1].split(",")] if text[1:-1].strip() else []
        return tuple(None if word.upper() == "NULL" else convert(word, element) for word in words)
    return tuple(fit(item, element) for item in value)  # type: ignore[attr-defined]


def _boolean(value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def _date(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(str(value))


def fit(value: object, type_: Type) -> Value:
    """A computed value in the type of its column; a number that does not fit is NULL, as an overflow is everywhere."""
    found = convert(value, type_)
    bits = _INTEGER_BITS.get(type_.kind)
    if bits is not None and found is not None and not -(2**bits) <= found < 2**bits:
        return None
    if isinstance(found, Decimal) and abs(found) >= Decimal(10) ** (type_.precision - type_.scale):
        return None
    return found
