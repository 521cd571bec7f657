"""The types that clients of PostgreSQL know, by their numbers, and which of them an Arrow column is."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4 = 16, 17, 18, 19, 20, 21, 23
REGPROC, TEXT, OID, FLOAT4, FLOAT8, UNKNOWN = 24, 25, 26, 700, 701, 705
BPCHAR, VARCHAR, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, NUMERIC = 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1700
JSON, UUID, REGCLASS, REGTYPE = 114, 2950, 2205, 2206

# From the number of an array's elements to the number of the array.
ARRAYS = {
    BOOL: 1000, BYTEA: 1001, INT2: 1005, INT4: 1007, TEXT: 1009, INT8: 1016, FLOAT4: 1021, FLOAT8: 1022, OID: 1028,
    TIMESTAMP: 1115, DATE: 1182, TIME: 1183, TIMESTAMPTZ: 1185, INTERVAL: 1187, NUMERIC: 1231, VARCHAR: 1015,
}
ELEMENTS = {array: element for element, array in ARRAYS.items()}
WORDS = frozenset((TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN, 0, JSON, UUID, REGCLASS, REGTYPE, REGPROC))


@dataclass(frozen=True)
class WireType:
    """`size` is the number of bytes of a value, -1 where values differ; `modifier` says precision and scale of a numeric."""

    oid: int
    size: int = -1
    modifier: int = -1
    element: WireType | None = None


_PLAIN = {
    pa.bool_(): WireType(BOOL, 1),
    pa.int8(): WireType(INT2, 2),
    pa.uint8(): WireType(INT2, 2),
    pa.int16(): WireType(INT2, 2),
    pa.uint16(): WireType(INT4, 4),
    pa.int32(): WireType(INT4, 4),
    pa.uint32(): WireType(OID, 4),  # columns of the system's catalog alone have this type
    pa.int64(): WireType(INT8, 8),
    pa.uint64(): WireType(NUMERIC),
    pa.float32(): WireType(FLOAT4, 4),
    pa.float64(): WireType(FLOAT8, 8),
    pa.string(): WireType(TEXT),
    pa.large_string(): WireType(TEXT),
    pa.string_view(): WireType(TEXT),
    pa.binary(): WireType(BYTEA),
    pa.date32(): WireType(DATE, 4),
    pa.null(): WireType(TEXT),
    pa.month_day_nano_interval(): WireType(INTERVAL, 16),
}


def wire_type(arrow: pa.DataType) -> WireType:
    """The type under which a client sees a column. Arrays of arrays may be ragged, which PostgreSQL's are not: they are text."""
    if arrow in _PLAIN:
        return _PLAIN[arrow]
    if pa.types.is_decimal(arrow):
        return WireType(NUMERIC, modifier=((arrow.precision << 16) | arrow.scale) + 4)
    if pa.types.is_timestamp(arrow):
        return WireType(TIMESTAMP if arrow.tz is None else TIMESTAMPTZ, 8)
    if pa.types.is_time(arrow):
        return WireType(TIME, 8)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        element = wire_type(arrow.value_type)
        return WireType(TEXT) if element.oid not in ARRAYS or _is_list(arrow.value_type) else _array_of(element)
    raise TypeError(f"no type of PostgreSQL holds the values of {arrow}")


def _is_list(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_list(arrow) or pa.types.is_large_list(arrow))


def _array_of(element: WireType) -> WireType:
    return WireType(ARRAYS[element.oid], element=element)
