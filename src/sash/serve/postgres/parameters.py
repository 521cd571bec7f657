"""Values that a client binds to $1, $2, …, from text or bytes to Python's."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.binary_values import EPOCH, EPOCH_DAY
from sash.serve.postgres.body import Body
from sash.serve.postgres.failures import WireError, bad_protocol

_FORMATS = (0, 1)
_BLANK = " \t\n\r\v\f"


def read_parameters(body: Body, oids: Sequence[int]) -> list[Any]:
    """The formats and values of a Bind message."""
    formats = body.int16s()
    if any(format_ not in _FORMATS for format_ in formats):
        raise bad_protocol("a value is text (0) or binary (1)")
    count = body.uint16()
    if count != len(oids):
        raise WireError("08P01", f"the statement takes {len(oids)} values, and {count} came")
    return [_read(body, oid, format_) for oid, format_ in zip(oids, spread(formats, count), strict=True)]


def spread(formats: Sequence[int], count: int) -> list[int]:
    """Formats may be left out (all text), or said once for all."""
    if len(formats) == count:
        return list(formats)
    if len(formats) > 1:
        raise WireError("08P01", f"{len(formats)} formats for {count} values")
    return [formats[0] if formats else 0] * count


def _read(body: Body, oid: int, format_: int) -> Any:
    length = body.int32()
    if length == -1:
        return None
    return value_of(body.bytes_(length), oid, format_)


def value_of(data: bytes, oid: int, format_: int) -> Any:
    try:
        return from_bytes(data, oid) if format_ else from_text(data.decode(), oid)
    except (ValueError, ArithmeticError, InvalidOperation, struct.error):
        raise WireError("22P02", f"{data[:40]!r} is not a value of the type {oid}") from None


def from_text(text: str, oid: int) -> Any:
    if "\0" in text:
        raise WireError("22021", "a text may not hold the character 0")
    if oid in wire.ELEMENTS:
        return _array_from_text(text, wire.ELEMENTS[oid])
    if oid in wire.WORDS:
        return text
    return _reader(_TEXTS, oid)(text)


def from_bytes(data: bytes, oid: int) -> Any:
    if oid in wire.ELEMENTS:
        return _array_from_bytes(data)
    if oid in wire.WORDS:
        return from_text(data.decode(), oid)
    return _reader(_BYTES, oid)(data)


def _reader(readers: dict[int, Callable[[Any], Any]], oid: int) -> Callable[[Any], Any]:
    if oid not in readers:
        raise WireError("0A000", f"values of the type with the number {oid} cannot be given to a query", "send them as text")
    return readers[oid]


def _whole(text: str) -> int:
    if not text.strip().lstrip("+-").isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in ("t", "true", "y", "yes", "on", "1"):
        return True
    if word in ("f", "false", "n", "no", "off", "0"):
        return False
    raise ValueError(text)


def _double(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _number(text: str) -> Decimal:
    if "_" in text:
        raise ValueError(text)
    return Decimal(text.strip())


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!hhHH", data[:8])
    if sign not in (0, 0x4000):
        return Decimal("NaN")
    groups = struct.unpack(f"!{count}h", data[8:])
    if any(not 0 <= group < 10_000 for group in groups) or not -1000 < weight < 1000 or scale > 1000:
        raise ValueError(data)
    places = 4 * (count - 1 - weight)  # decimals that the groups hold
    digits = "".join(f"{group:04}" for group in groups) or "0"
    digits += "0" * max(0, scale - places)
    return Decimal(f"{'-' if sign else ''}{digits}E{-max(scale, places)}")


def _array_from_bytes(data: bytes) -> list[Any]:
    body = Body(data)
    dimensions, _, oid = body.int32(), body.int32(), body.uint32()
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise WireError("0A000", "arrays of several dimensions cannot be given to a query")
    count, _ = body.int32(), body.int32()
    if not 0 <= count <= len(data):
        raise ValueError(data)
    return [_read(body, oid, 1) for _ in range(count)]


def _array_from_text(text: str, oid: int) -> list[Any]:
    """{1,2,NULL,"with, comma"}"""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(text)
    return [None if part is None else from_text(part, oid) for part in _parts(text[1:-1])]


def _parts(text: str) -> list[str | None]:
    if not text.strip(_BLANK):
        return []
    found: list[str | None] = []
    at = 0
    while True:
        at += _blanks(text, at)
        part, at = _quoted_part(text, at) if text[at : at + 1] == '"' else _plain_part(text, at)
        found.append(part)
        if at >= len(text):
            return found
        if text[at] != ",":
            raise ValueError(text)
        at += 1


def _plain_part(text: str, at: int) -> tuple[str | None, int]:
    end = text.find(",", at)
    end = len(text) if end < 0 else end
    part = text[at:end].strip(_BLANK)
    if not part or not {"{", "}", '"', "\\"}.isdisjoint(part):
        raise ValueError(text)
    return None if part.upper() == "NULL" else part, end


def _quoted_part(text: str, at: int) -> tuple[str, int]:
    found, at = [], at + 1
    while text[at] != '"' if at < len(text) else _never_closed(text):
        at += text[at] == "\\"
        found.append(text[at : at + 1])
        at += 1
    at += 1
    return "".join(found), at + _blanks(text, at)


def _blanks(text: str, at: int) -> int:
    return len(text[at:]) - len(text[at:].lstrip(_BLANK))


def _never_closed(text: str) -> bool:
    raise ValueError(text)


def _unpack(kind: str) -> Callable[[bytes], Any]:
    unpack = struct.Struct(kind).unpack
    return lambda data: unpack(data)[0]


_TEXTS: dict[int, Callable[[str], Any]] = {
    wire.BOOL: _boolean, wire.INT2: _whole, wire.INT4: _whole, wire.INT8: _whole, wire.OID: _whole,
    wire.FLOAT4: _double, wire.FLOAT8: _double, wire.NUMERIC: _number,
    wire.DATE: lambda text: date.fromisoformat(text.strip()), wire.TIMESTAMP: _moment, wire.TIMESTAMPTZ: _moment,
}
_BYTES: dict[int, Callable[[bytes], Any]] = {
    wire.BOOL: _unpack("!?"), wire.INT2: _unpack("!h"), wire.INT4: _unpack("!i"), wire.INT8: _unpack("!q"),
    wire.OID: _unpack("!I"), wire.FLOAT4: _unpack("!f"), wire.FLOAT8: _unpack("!d"), wire.NUMERIC: _numeric,
    wire.DATE: lambda data: EPOCH_DAY + timedelta(days=struct.unpack("!i", data)[0]),
    wire.TIMESTAMP: lambda data: EPOCH + timedelta(microseconds=struct.unpack("!q", data)[0]),
    wire.TIMESTAMPTZ: lambda data: EPOCH + timedelta(microseconds=struct.unpack("!q", data)[0]),
}
