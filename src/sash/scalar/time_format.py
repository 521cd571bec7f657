"""Times to and from text by a format such as yyyy-MM-dd HH:mm:ss.

    y year    M L month (MMM, MMMM: name)    d day    D day of the year    E weekday    Q q quarter    a AM or PM
    H hour 0-23    k 1-24    h 1-12    K 0-11    m minute    s second    S fraction    'text' and all else: itself
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import Mask, Numbers, array_of, nulls, numbers, truth
from sash.scalar.parse_text import micros_of
from sash.schema import SECOND

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)
_PIECES = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letter>[A-Za-z])(?P=letter)*|(?P<other>[^A-Za-z'])|(?P<quote>')")


class BadFormat(Exception):
    """The text is not a format; the message says why."""


@cache
def _pieces(text: str) -> tuple[tuple[str, int], ...]:
    """Letters with how often they stand there, and other text with 0."""
    pieces = []
    for found in _PIECES.finditer(text):
        if found["quote"]:
            raise BadFormat("a quote is not closed")
        if found["letter"]:
            pieces.append((found["letter"], len(found[0])))
        else:
            quoted = found["quoted"]
            pieces.append((found[0] if quoted is None else quoted.replace("''", "'") or "'", 0))
    return tuple(pieces)


def letters(text: str) -> str:
    """The letters of a format, each once for every place where it stands."""
    return "".join(piece for piece, count in _pieces(text) if count)


def print_time(time: pa.Array, text: str) -> pa.Array:
    parts = [pa.scalar(piece) if not count else _printer(piece)(time, count) for piece, count in _pieces(text)]
    if not parts:
        return pc.if_else(time.is_valid(), "", None)
    return pc.binary_join_element_wise(pc.if_else(time.is_valid(), "", None), *parts, "")


Printer = Callable[[pa.Array, int], pa.Array]


def _printer(letter: str) -> Printer:
    if letter not in _PRINTERS:
        raise BadFormat(f'the letter "{letter}" is not known; letters are: {" ".join(_PRINTERS)}')
    return _PRINTERS[letter]


def _padded(values: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(values.cast(pa.string()), width=width, padding="0")


def _number(part: Callable[[pa.Array], pa.Array]) -> Printer:
    return lambda time, count: _padded(part(time), count)


def _hour(first: int, hours: int) -> Printer:
    """A clock of `hours` hours that begins at `first`."""

    def printed(time: pa.Array, count: int) -> pa.Array:
        value = (numbers(pc.hour(time)) - first) % hours + first
        return _padded(array_of(value, pa.int64(), nulls(time)), count)

    return printed


def _year(time: pa.Array, count: int) -> pa.Array:
    year = _padded(pc.year(time), 4 if count == 3 else count)
    return pc.utf8_slice_codeunits(_padded(year, 2), start=-2) if count == 2 else year


def _named(part: Callable[[pa.Array], pa.Array] | None, short: str, long: str) -> Printer:
    """A number while the letter stands once or twice, then a name; always a name when there is no number."""

    def printed(time: pa.Array, count: int) -> pa.Array:
        if part is not None and count < 3:
            return _padded(part(time), count)
        return pc.strftime(time, format=long if count >= 4 else short)

    return printed


def _quarter(time: pa.Array, count: int) -> pa.Array:
    quarter = _padded(pc.quarter(time), min(count, 2))
    return quarter if count < 3 else pc.binary_join_element_wise("Q", pc.quarter(time).cast(pa.string()), "")


def _fraction(time: pa.Array, count: int) -> pa.Array:
    micros = _padded(array_of(numbers(time) % SECOND, pa.int64(), nulls(time)), 6)
    return pc.utf8_slice_codeunits(pc.utf8_rpad(micros, width=9, padding="0"), start=0, stop=count)


_PRINTERS: dict[str, Printer] = {
    "y": _year,
    "M": _named(pc.month, "%b", "%B"),
    "L": _named(pc.month, "%b", "%B"),
    "d": _number(pc.day),
    "D": _number(pc.day_of_year),
    "E": _named(None, "%a", "%A"),
    "Q": _quarter,
    "q": _quarter,
    "a": _named(None, "%p", "%p"),
    "H": _hour(0, 24),
    "k": _hour(1, 24),
    "h": _hour(1, 12),
    "K": _hour(0, 12),
    "m": _number(pc.minute),
    "s": _number(pc.second),
    "S": _fraction,
}


def parse_time(texts: pa.Array, text: str) -> tuple[Numbers, Mask]:
    """Microseconds since the epoch, and where a text is not of the format or there is no such time."""
    try:
        parts = pc.extract_regex(pc.utf8_lower(texts), _pattern(text))
    except pa.ArrowInvalid:
        raise BadFormat("a letter stands there twice, or none does") from None
    fields = {field.name: pc.struct_field(parts, field.name) for field in parts.type}
    if not fields:
        raise BadFormat("no letter stands in it")
    micros, wrong = micros_of(_in_numbers(fields))
    if "half" in fields:
        micros = micros + np.where(truth(pc.equal(fields["half"], "pm")), 12 * 3600 * SECOND, 0)
    return micros, (wrong | nulls(parts)) & ~nulls(texts)


def _in_numbers(fields: dict[str, pa.Array]) -> pa.StructArray:
    """The parts of a time as they are named and written in an ISO time."""
    fields = dict(fields)
    if "short_year" in fields:
        fields["year"] = pc.binary_join_element_wise("20", fields["short_year"], "")
    if "month_name" in fields:
        month = pc.index_in(pc.utf8_slice_codeunits(fields["month_name"], start=0, stop=3), value_set=_SHORT_MONTHS)
        fields["month"] = pc.add(month, 1).cast(pa.string())
    if "half_hour" in fields:
        hour = pc.fill_null(fields["half_hour"].cast(pa.int32()), 0)
        fields["hour"] = array_of(numbers(hour) % 12, pa.int32(), nulls(hour)).cast(pa.string())
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


@cache
def _pattern(text: str) -> str:
    """A regular expression for lower-case text, with the parts of a time as its groups."""
    return "^" + "".join(_group(piece, count) for piece, count in _pieces(text)) + "$"


def _group(piece: str, count: int) -> str:
    if count == 0:
        return re.escape(piece.lower())
    if piece not in _GROUPS:
        raise BadFormat(f'the letter "{piece}" cannot be read; letters are: {" ".join(_GROUPS)}')
    if piece == "y":
        return r"(?P<short_year>\d{2})" if count == 2 else r"(?P<year>\d{4})"
    if piece in "ML" and count >= 3:
        return f"(?P<month_name>{'|'.join(_MONTHS if count > 3 else _SHORT_MONTHS.to_pylist())})"
    return _GROUPS[piece].replace("#", f"{{{count}}}" if count > 1 else "{1,2}")


_SHORT_MONTHS = pa.array([name[:3] for name in _MONTHS])
_GROUPS = {
    "y": "",
    "M": r"(?P<month>\d#)",
    "L": r"(?P<month>\d#)",
    "d": r"(?P<day>\d#)",
    "E": r"[a-z]+",
    "a": r"(?P<half>am|pm)",
    "H": r"(?P<hour>\d#)",
    "h": r"(?P<half_hour>\d#)",
    "m": r"(?P<minute>\d#)",
    "s": r"(?P<second>\d#)",
    "S": r"(?P<fraction>\d#)",
    "X": r"(?P<zone>z|[+-]\d{2}(?::?\d{2})?)",
    "Z": r"(?P<zone>z|[+-]\d{2}(?::?\d{2})?)",
}
