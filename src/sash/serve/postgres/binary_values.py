"""Values as bytes, as PostgreSQL's binary format has them: numbers begin with their highest byte, time begins in 2000."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.text_values import text_of
from sash.serve.postgres.wire_types import WireType

EPOCH = datetime(2000, 1, 1)
EPOCH_DAY = date(2000, 1, 1)
DAYS = (EPOCH_DAY - date(1970, 1, 1)).days  # from the epoch of Arrow to that of PostgreSQL
MICROSECONDS = DAYS * 86_400_000_000
_NEGATIVE, _NOT_A_NUMBER = 0x4000, 0xC000
NULL = struct.pack("!i", -1)


def bytes_of(value: Any, type_: WireType) -> bytes:
    """A value that is not NULL."""
    if isinstance(value, list) and type_.element is not None:
        return _array(value, type_.element)
    writer = _WRITERS.get(type_.oid)
    if writer is None or isinstance(value, str):
        return text_of(value, type_).encode()
    return writer(value)


def _moment(value: datetime) -> bytes:
    """An instant without a zone, or of any zone."""
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    since = value - EPOCH
    return struct.pack("!q", (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def _day(value: date) -> bytes:
    return struct.pack("!i", (value - EPOCH_DAY).days)


def _time(value: time) -> bytes:
    return struct.pack("!q", ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond)


def _interval(value: Any) -> bytes:
    return struct.pack("!qii", value.nanoseconds // 1000, value.days, value.months)


def numeric_bytes(value: Decimal | int) -> bytes:
    """Digits to the base of 10,000: how many, the weight of the first, the sign, how many decimals are shown."""
    sign, digits, exponent = Decimal(value).as_tuple()
    if not isinstance(exponent, int):
        return struct.pack("!hhHh", 0, 0, _NOT_A_NUMBER, 0)
    text = "".join(map(str, digits))
    whole, fraction = _split(text, exponent)
    whole, fraction = whole.lstrip("0"), fraction
    whole = whole.zfill(-(-len(whole) // 4) * 4)
    padded = fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    groups = [int(part) for part in _fours(whole + padded)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, _NEGATIVE if sign and groups else 0, len(fraction))
    return head + struct.pack(f"!{len(groups)}h", *groups)


def _split(digits: str, exponent: int) -> tuple[str, str]:
    if exponent >= 0:
        return digits + "0" * exponent, ""
    digits = digits.zfill(-exponent)
    return digits[:exponent], digits[exponent:]


def _fours(digits: str) -> list[str]:
    return [digits[start : start + 4] for start in range(0, len(digits), 4)]


def _array(values: list[Any], element: WireType) -> bytes:
    has_null = any(value is None for value in values)
    head = struct.pack("!iii", 1 if values else 0, has_null, element.oid)
    if not values:
        return head
    return head + struct.pack("!ii", len(values), 1) + b"".join(_with_length(value, element) for value in values)


def _with_length(value: Any, element: WireType) -> bytes:
    if value is None:
        return NULL
    data = bytes_of(value, element)
    return struct.pack("!i", len(data)) + data


_WRITERS: dict[int, Callable[[Any], bytes]] = {
    wire.BOOL: struct.Struct("!?").pack,
    wire.INT2: struct.Struct("!h").pack,
    wire.INT4: struct.Struct("!i").pack,
    wire.INT8: struct.Struct("!q").pack,
    wire.OID: struct.Struct("!I").pack,
    wire.FLOAT4: struct.Struct("!f").pack,
    wire.FLOAT8: struct.Struct("!d").pack,
    wire.NUMERIC: numeric_bytes,
    wire.BYTEA: bytes,
    wire.DATE: _day,
    wire.TIME: _time,
    wire.TIMESTAMP: _moment,
    wire.TIMESTAMPTZ: _moment,
    wire.INTERVAL: _interval,
}
