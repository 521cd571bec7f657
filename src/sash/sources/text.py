"""From the text of a file to the declared types.

As CAST reads it, but for timestamps: a bare number is seconds since the epoch, with as many decimals as there are;
digits beyond the microsecond are cut. It is read as a decimal, never as a float, so 1713484784.962686 keeps its
last digit.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.numerals import exact
from sash.scalar.arrays import Mask, array_of, nulls, truth
from sash.scalar.calendar import outside
from sash.scalar.cast import try_cast
from sash.scalar.decimals import from_texts
from sash.schema import Kind, Type

SECONDS = pa.decimal128(38, 6)
_TIMESTAMP = pa.timestamp("us")
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def parse(texts: pa.Array, type_: Type, timestamp_format: str | None = None) -> tuple[pa.Array, Mask]:
    """The values, NULL where a text is none of the type, and a mask that says where."""
    if type_.kind is Kind.STRING:
        return texts, _nowhere(texts)
    if type_.kind is not Kind.TIMESTAMP:
        return _plain_integers(texts, type_) or _cast(texts, type_.arrow)
    if timestamp_format is not None:
        values = pc.strptime(texts, format=timestamp_format, unit="us", error_is_null=True)
        return values, nulls(values) & ~nulls(texts)
    return _timestamps(texts)


def from_seconds(seconds: pa.Array) -> tuple[pa.Array, Mask]:
    """Timestamps of seconds since the epoch with six decimals: unscaled, those are microseconds in 128 bits."""
    words = np.frombuffer(seconds.buffers()[1], np.int64).reshape(-1, 2)[seconds.offset : seconds.offset + len(seconds)]
    micros, null = words[:, 0], nulls(seconds)
    failed = ((words[:, 1] != micros >> 63) | outside(micros)) & ~null
    return array_of(np.ascontiguousarray(micros), _TIMESTAMP, failed | null), failed


def _nowhere(array: pa.Array) -> Mask:
    return np.zeros(len(array), np.bool_)


def _cast(texts: pa.Array, target: pa.DataType) -> tuple[pa.Array, Mask]:
    values, failed = try_cast(texts, target)
    return values, truth(failed)


def _plain_integers(texts: pa.Array, type_: Type) -> tuple[pa.Array, Mask] | None:
    """Digits only, which is the common case, in one go; Arrow would also take 0x1F, which is no number here."""
    characters = texts.buffers()[2]
    if not type_.is_integer or characters is None or (np.frombuffer(characters, np.uint8) > ord("9")).any():
        return None
    try:
        return texts.cast(type_.arrow), _nowhere(texts)
    except pa.ArrowInvalid:
        return None


def _timestamps(texts: pa.Array) -> tuple[pa.Array, Mask]:
    # A cast that fails is slow: the first value tells which one is worth trying.
    first = texts[:100].drop_null()[:1].to_pylist()
    if first and re.match(_NUMBER, first[0]):
        try:
            return from_seconds(from_texts(texts, SECONDS))
        except pa.ArrowInvalid:
            pass  # not all of them are numbers, or some have more than six decimals
    trimmed = pc.utf8_trim_whitespace(texts)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    return _numbers_and_dates(trimmed, is_number) if pc.any(is_number).as_py() else _cast(texts, _TIMESTAMP)


def _numbers_and_dates(texts: pa.Array, is_number: pa.Array) -> tuple[pa.Array, Mask]:
    from_number, number_failed = from_seconds(_seconds(pc.if_else(is_number, texts, None)))
    from_date, date_failed = _cast(pc.if_else(is_number, None, texts), _TIMESTAMP)
    # A number that no decimal holds is NULL among the seconds already.
    lost = truth(is_number) & nulls(from_number)
    return pc.coalesce(from_number, from_date), number_failed | date_failed | lost


def _seconds(numerals: pa.Array) -> pa.Array:
    cut = pc.replace_substring_regex(numerals, r"(\.\d{6})\d+$", r"\1")
    try:
        return from_texts(cut, SECONDS)
    except pa.ArrowInvalid:
        return pa.array([_one_second(text) for text in numerals.to_pylist()], SECONDS)


def _one_second(text: str | None) -> Decimal | None:
    """A numeral with an exponent or very many digits."""
    value = None if text is None else exact(text)
    if value is None or value.adjusted() > 20:
        return None
    return Decimal(int(value.scaleb(6))).scaleb(-6)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
