"""From STRING to every other type, as Spark reads it: spaces around a value do not matter, what cannot be read is NULL.

Arrow's own casts are the fast way and agree with Spark on what they accept (but for hexadecimal integers); they refuse
a whole column for one bad value, and then the slow way looks at each value with a regular expression.
"""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.numerals import exact
from sash.scalar.arrays import Mask, Numbers, array_of, blank, nulls, numbers, per_value, truth
from sash.scalar.calendar import DAY, FIRST_DAY, days_of, outside
from sash.scalar.decimals import from_texts, rescale
from sash.schema import BEGINNING, SECOND

Parsed = tuple[pa.Array, Mask]

_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_INTEGER = r"^[+-]?\d+$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DOUBLE = r"(?i)^([+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?|inf|infinity)|nan)$"
_DATE = r"^(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})(?:[ T].*)?)?)?$"
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?)?"
_ZONE = r" ?(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)?"
_TIMESTAMP = rf"^(?P<year>\d{{4}})(?:-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}})(?:[ T]{_TIME}{_ZONE})?)?)?$"


def to_boolean(texts: pa.Array, target: pa.DataType) -> Parsed:
    words = pc.utf8_lower(_trimmed(texts))
    true, false = truth(pc.is_in(words, value_set=_TRUE)), truth(pc.is_in(words, value_set=_FALSE))
    return array_of(true, pa.bool_(), ~(true | false)), ~(true | false | nulls(texts))


def to_integer(texts: pa.Array, target: pa.DataType) -> Parsed:
    if not any(pc.any(pc.match_substring(texts, mark)).as_py() for mark in ("0x", "0X")):
        try:
            return _clean(texts.cast(target))
        except pa.ArrowInvalid:
            pass
    texts = _trimmed(texts)
    digits = pc.replace_substring_regex(_matching(texts, _INTEGER), r"^\+?(-?)0*(\d)", r"\1\2")
    digits = blank(digits, truth(pc.greater(pc.binary_length(digits), 20)))
    exact = digits.cast(pa.decimal128(38, 0))
    bounds = np.iinfo(target.to_pandas_dtype())
    least, greatest = (pa.scalar(decimal.Decimal(int(bound)), exact.type) for bound in (bounds.min, bounds.max))
    exact = blank(exact, truth(pc.or_(pc.less(exact, least), pc.greater(exact, greatest))))
    return _refused(texts, exact.cast(target))


def to_double(texts: pa.Array, target: pa.DataType) -> Parsed:
    try:
        return _clean(texts.cast(target))
    except pa.ArrowInvalid:
        texts = _trimmed(texts)
    # A last "d" or "f" is Java's mark of a literal's type; the "f" of "inf" is none.
    numerals = pc.replace_substring_regex(_matching(texts, _DOUBLE), r"([\d.])[dDfF]$", r"\1")
    return _refused(texts, numerals.cast(target))


def to_decimal(texts: pa.Array, target: pa.DataType) -> Parsed:
    try:
        return _clean(from_texts(texts, target))
    except pa.ArrowInvalid:
        texts = _trimmed(texts)
    numerals = _matching(texts, _NUMBER)
    # Rounding half up looks at one digit past the scale.
    numerals = pc.replace_substring_regex(numerals, rf"(\.\d{{{target.scale + 1}}})\d+$", r"\1")
    numerals = pc.replace_substring_regex(numerals, r"^([+-]?)0+(\d)", r"\1\2")
    whole_digits = target.precision - target.scale
    plain = pc.match_substring_regex(numerals, rf"^[+-]?\d{{0,{whole_digits}}}(\.\d*)?$")
    unusual = pc.and_(pc.is_valid(numerals), pc.invert(plain))
    if pc.any(unusual).as_py():
        spelled = per_value(pc.if_else(unusual, numerals, None), lambda text: _spelled_out(text, target), pa.string())
        numerals = pc.if_else(unusual, spelled, numerals)
    return _refused(texts, rescale(numerals.cast(pa.decimal256(76, target.scale + 1)), target)[0])


def _spelled_out(text: str, target: pa.DataType) -> str | None:
    """A numeral with an exponent or very many digits, without them; None when it does not fit."""
    value = exact(text)
    if value is None or (value and value.adjusted() >= target.precision - target.scale):
        return None
    if value.adjusted() < -target.scale - 2:
        return "0"
    unit = decimal.Decimal(1).scaleb(-target.scale - 1)
    return format(value.quantize(unit, decimal.ROUND_DOWN, decimal.Context(prec=100)), "f")


def to_date(texts: pa.Array, target: pa.DataType) -> Parsed:
    try:
        return _in_calendar(texts.cast(target), FIRST_DAY)
    except pa.ArrowInvalid:
        texts = _trimmed(texts)
    parts = pc.extract_regex(texts, _DATE)
    days, wrong = _days(parts)
    return _refused(texts, array_of(days.astype(np.int32), target, wrong | nulls(parts)))


def to_timestamp(texts: pa.Array, target: pa.DataType) -> Parsed:
    for way in (target, pa.timestamp("us", "UTC")):
        try:
            return _in_calendar(texts.cast(way).cast(target), BEGINNING)
        except pa.ArrowInvalid:
            continue
    texts = _trimmed(texts)
    parts = pc.extract_regex(texts, _TIMESTAMP)
    micros, wrong = micros_of(parts)
    return _refused(texts, array_of(micros, target, wrong | nulls(parts)))


def _days(parts: pa.StructArray) -> tuple[Numbers, Mask]:
    return days_of(_part(parts, "year", 1970), _part(parts, "month", 1), _part(parts, "day", 1))


def micros_of(parts: pa.StructArray) -> tuple[Numbers, Mask]:
    """Microseconds since the epoch of a time in named parts, and where there is no such time."""
    days, wrong = _days(parts)
    hour, minute, second = (_part(parts, name, 0) for name in ("hour", "minute", "second"))
    fraction = pc.utf8_slice_codeunits(_texts(parts, "fraction"), start=0, stop=6)
    micro = _integers(pc.utf8_rpad(pc.fill_null(fraction, ""), width=6, padding="0"), 0)
    micros = days * DAY + (hour * 3600 + minute * 60 + second - _offset(parts)) * SECOND + micro
    return micros, wrong | (hour > 23) | (minute > 59) | (second > 59) | outside(micros)


def _offset(parts: pa.StructArray) -> Numbers:
    """Seconds east of Greenwich."""
    zones = pc.extract_regex(_texts(parts, "zone"), r"(?P<sign>[+-])(?P<hour>\d{1,2}):?(?P<minute>\d{2})?$")
    seconds: Numbers = _part(zones, "hour", 0) * 3600 + _part(zones, "minute", 0) * 60
    seconds[truth(pc.equal(_texts(zones, "sign"), "-"))] *= -1
    return seconds


def _part(parts: pa.StructArray, name: str, default: int) -> Numbers:
    return _integers(_texts(parts, name), default)


def _texts(parts: pa.StructArray, name: str) -> pa.Array:
    """A named part, empty where the pattern has none of that name."""
    if parts.type.get_field_index(name) < 0:
        return pa.repeat("", len(parts))
    return pc.struct_field(parts, name)


def _integers(digits: pa.Array, default: int) -> Numbers:
    present = pc.if_else(pc.equal(digits, ""), None, digits)
    return numbers(pc.fill_null(present.cast(pa.int64()), default))


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(texts)


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)


def _clean(array: pa.Array) -> Parsed:
    return array, np.zeros(len(array), np.bool_)


def _in_calendar(array: pa.Array, first: int) -> Parsed:
    """Arrow knows a year 0000."""
    early = numbers(array) < first
    return blank(array, early), early


def _refused(texts: pa.Array, array: pa.Array) -> Parsed:
    """What was given and is not there any more could not be read."""
    return array, nulls(array) & ~nulls(texts)
