"""A few rows of Python values as lanes, without columns in between: to make columns of one row takes longer than to work it off.

Only values that are plainly of the declared type are read here, and mean what they mean in columns. Whatever else comes, the way
of columns (`sources/convert.py`) knows: other types that can be read, and what to say of those that cannot.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from sash.deltas import Int64s, Layout
from sash.schema import SECOND, Kind, Type
from sash.stores.interner import Interner
from sash.stores.lanes import NAN_BITS

FEW = 32  # rows for which this is the shorter way
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
FIRST_DAY = EPOCH.toordinal()
WHOLE = 1 << 53  # a DOUBLE holds every whole number up to here
LATEST = WHOLE // SECOND  # seconds since the epoch, in the year 2255: up to there a float means what a whole number does
LENGTHS = (19, 23, 26)  # of "2024-01-31 12:30:00", perhaps with ".250" or ".250000"
PLACES = ((4, "-"), (7, "-"), (10, " T"), (13, ":"), (16, ":"), (19, "."))

_bits, _double = struct.Struct("q"), struct.Struct("d")

Reader = Callable[[Any], int]  # the lane of a value that is not NULL; a TypeError or a ValueError if it is not plain


class FewRows:
    """Reads rows of one stream."""

    def __init__(self, layout: Layout, interner: Interner) -> None:
        self._layout = layout
        self._names = layout.schema.names
        self._known = frozenset(self._names)
        readers = [_reader(type_, interner) for type_ in layout.schema.types]
        self._readers = [reader for reader in readers if reader is not None]
        self._reads_all = len(self._readers) == len(readers) and len(self._known) == len(self._names)

    def read(self, rows: object) -> Int64s | None:
        """Their lanes; None if they are many, or if one of them is not plain."""
        if not isinstance(rows, list) or not 0 < len(rows) <= FEW or not self._reads_all:
            return None
        try:
            return np.array([self._line(row) for row in rows], np.int64)
        except (TypeError, ValueError):
            return None

    def _line(self, row: object) -> list[int]:
        values = self._values(row)
        line, layout = [0] * self._layout.width, self._layout
        for place, (value, read) in enumerate(zip(values, self._readers, strict=True)):
            if value is None:
                mask, bit = layout.mask(place)
                line[mask] |= 1 << bit
            else:
                line[layout.lanes[place]] = read(value)
        return line

    def _values(self, row: object) -> Sequence[Any]:
        if type(row) is tuple or type(row) is list:
            return row
        if isinstance(row, Mapping) and row.keys() <= self._known:
            return [row.get(name) for name in self._names]
        raise TypeError


def _reader(type_: Type, interner: Interner) -> Reader | None:
    if type_.kind is Kind.STRING:
        return lambda value: interner.code(_checked(value, str))
    return READERS.get(type_.kind)


def _checked(value: Any, type_: type) -> Any:
    if type(value) is not type_:
        raise TypeError
    return value


def _whole(bits: int) -> Reader:
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= greatest:
            raise TypeError
        return value

    return read


def _boolean(value: Any) -> int:
    return int(_checked(value, bool))


def _real(value: Any) -> int:
    if type(value) is int and -WHOLE <= value <= WHOLE:
        value = float(value)
    if _checked(value, float) != value:
        return int(NAN_BITS)
    lane: int = _bits.unpack(_double.pack(value + 0.0))[0]  # -0.0 + 0.0 is 0.0
    return lane


def _instant(value: Any) -> int:
    if type(value) is int or type(value) is float:
        if not -LATEST < value < LATEST:
            raise ValueError
        return round(value * SECOND)
    if type(value) is str:
        if len(value) not in LENGTHS or any(value[place] not in marks for place, marks in PLACES if place < len(value)):
            raise ValueError
        value = datetime.fromisoformat(value)
    if type(value) is not datetime or value.tzinfo is not None:
        raise TypeError
    return (value - EPOCH) // MICROSECOND


def _day(value: Any) -> int:
    day: date = _checked(value, date)
    return day.toordinal() - FIRST_DAY


READERS: Mapping[Kind, Reader] = {
    Kind.BOOLEAN: _boolean, Kind.INT: _whole(32), Kind.BIGINT: _whole(64), Kind.DOUBLE: _real, Kind.TIMESTAMP: _instant,
    Kind.DATE: _day,
}
