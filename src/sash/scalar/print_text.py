"""From every type to STRING, as Spark prints it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import numbers, per_value

_PARTS = r"^(?P<sign>-?)(?P<whole>\d*)\.?(?P<fraction>\d*)(?:e(?P<exponent>[+-]?\d+))?$"


def from_double(array: pa.Array) -> pa.Array:
    """As Java does: 1.0, 0.001, 1.0E7, 1.2E-4, NaN, Infinity; the shortest digits that read back as the value."""
    texts = array.cast(pa.string())
    size = pc.abs(array)
    plain = pc.or_(pc.equal(size, 0), pc.and_(pc.greater_equal(size, 1e-3), pc.less(size, 1e7)))
    with_point = pc.if_else(pc.match_substring(texts, "."), texts, pc.binary_join_element_wise(texts, ".0", ""))
    if pc.all(plain).as_py():
        return with_point
    other = pc.invert(pc.fill_null(plain, True))
    texts = pc.replace_with_mask(with_point, other, _scientific(texts.filter(other)))
    texts = pc.if_else(pc.is_nan(array), "NaN", texts)
    texts = pc.if_else(pc.equal(array, float("inf")), "Infinity", texts)
    return pc.if_else(pc.equal(array, float("-inf")), "-Infinity", texts)


def _scientific(texts: pa.Array) -> pa.Array:
    parts = pc.extract_regex(texts, _PARTS)
    sign, whole, fraction, exponent = parts.flatten()
    digits = pc.binary_join_element_wise(whole, fraction, "")
    significant = pc.utf8_ltrim(digits, "0")
    leading = pc.subtract(pc.utf8_length(digits), pc.utf8_length(significant))
    power = pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+")).cast(pa.int32())
    power = pc.add(power, pc.subtract(pc.subtract(pc.utf8_length(whole), leading), 1))
    first = pc.utf8_slice_codeunits(significant, start=0, stop=1)
    rest = pc.utf8_rtrim(pc.utf8_slice_codeunits(significant, start=1), "0")
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    return pc.binary_join_element_wise(sign, first, ".", rest, "E", power.cast(pa.string()), "")


def from_decimal(array: pa.Array) -> pa.Array:
    """Plain digits, as many after the point as the scale says."""
    texts = array.cast(pa.string())
    short = pc.match_substring(texts, "E")
    if not pc.any(short).as_py():
        return texts
    plain = per_value(pc.if_else(short, array, None), lambda value: format(value, "f"), pa.string())
    return pc.if_else(short, plain, texts)


def from_timestamp(array: pa.Array) -> pa.Array:
    """2013-01-01 05:15:00, and the fraction of the second without its last zeros when there is one."""
    if not (numbers(array) % 1_000_000).any():
        return array.cast(pa.timestamp("s"), safe=False).cast(pa.string())
    return pc.utf8_rtrim(pc.utf8_rtrim(array.cast(pa.string()), "0"), ".")
