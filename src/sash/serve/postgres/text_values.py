"""Values as text, as PostgreSQL writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.wire_types import WireType

_NEEDS_QUOTES = frozenset('{}",\\ \t\n\r\v\f')


def text_of(value: Any, type_: WireType) -> str:
    """A value that is not NULL."""
    if isinstance(value, list):
        return _array(value, type_.element)
    if isinstance(value, str):  # values of the catalog may be names where others have numbers
        return value
    writer = _WRITERS.get(type_.oid)
    return str(value) if writer is None else writer(value)


def _boolean(value: bool) -> str:
    return "t" if value else "f"


def double_text(value: float) -> str:
    """The shortest digits that are this number; an exponent below 1e-4 and from 1e15 on."""
    if not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if "e" not in text:
        if abs(value) < 1e15:
            return text.removesuffix(".0")
        text = f"{value:e}" if value == 0 else _scientific(text)
    digits, exponent = text.split("e")
    return f"{digits.removesuffix('.0')}e{exponent}"


def _scientific(text: str) -> str:
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole = digits.split(".")[0]
    exponent, shown = len(whole) - 1, digits.replace(".", "").rstrip("0")
    return f"{sign}{shown[0]}{'.' + shown[1:] if len(shown) > 1 else ''}e+{exponent}"


def _bytes(value: bytes) -> str:
    return "\\x" + value.hex()


def _moment(value: datetime) -> str:
    shown = value.isoformat(" ")
    return shown.rstrip("0") if value.microsecond else shown


def _moment_with_zone(value: datetime) -> str:
    return _moment(value.astimezone(UTC).replace(tzinfo=None)) + "+00"


def _time(value: time) -> str:
    shown = value.isoformat()
    return shown.rstrip("0") if value.microsecond else shown


def _decimal(value: Decimal | int) -> str:
    return f"{value:f}"


def _interval(value: Any) -> str:
    """Months, days and nanoseconds, as in: 1 year 2 mons 3 days 04:05:06.5"""
    years, months = divmod(abs(value.months), 12)
    sign = "-" if value.months < 0 else ""
    counts = ((f"{sign}{years}", "year"), (f"{sign}{months}", "mon"), (str(value.days), "day"))
    shown = [f"{count} {unit}{'s' * (count not in ('1', '-1'))}" for count, unit in counts if count not in ("0", "-0")]
    if value.nanoseconds or not shown:
        seconds, micros = divmod(abs(value.nanoseconds) // 1000, 1_000_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{micros:06}".rstrip("0") if micros else ""
        shown.append(f"{'-' if value.nanoseconds < 0 else ''}{clock}{fraction}")
    return " ".join(shown)


def _array(values: list[Any], element: WireType | None) -> str:
    return "{" + ",".join(_element(value, element) for value in values) + "}"


def _element(value: Any, element: WireType | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return _array(value, element)
    shown = str(value) if element is None else text_of(value, element)
    if not shown or shown.upper() == "NULL" or not _NEEDS_QUOTES.isdisjoint(shown):
        return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return shown


_WRITERS: dict[int, Callable[[Any], str]] = {
    wire.BOOL: _boolean,
    wire.FLOAT4: double_text,
    wire.FLOAT8: double_text,
    wire.NUMERIC: _decimal,
    wire.BYTEA: _bytes,
    wire.DATE: date.isoformat,
    wire.TIME: _time,
    wire.TIMESTAMP: _moment,
    wire.TIMESTAMPTZ: _moment_with_zone,
    wire.INTERVAL: _interval,
}
