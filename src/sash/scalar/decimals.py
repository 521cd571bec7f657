"""Exact DECIMAL arithmetic: in 128 bits, else in 256, else in Python; then one rounding, half up, as Spark does."""

from __future__ import annotations

import decimal
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import Mask, array_of, blank, nulls, truth

WIDEST = 76  # digits of Arrow's 256-bit decimals
HALF_UP = "half_towards_infinity"  # Arrow's name for ties away from zero
HALF_EVEN = "half_to_even"
DOWN = "towards_zero"
ROUNDING = {HALF_UP: decimal.ROUND_HALF_UP, HALF_EVEN: decimal.ROUND_HALF_EVEN, DOWN: decimal.ROUND_DOWN}

_PYTHON = decimal.Context(prec=160, rounding=decimal.ROUND_DOWN)  # 160 digits: of a product all, of a quotient enough


def compute(
    operation: str, left: pa.Array, right: pa.Array, target: pa.DataType, mode: str = HALF_UP
) -> tuple[pa.Array, Mask]:
    """`left operation right` rounded to the target type, and where it does not fit. No zero divides."""
    for width in (pa.decimal128, pa.decimal256):
        try:
            return rescale(_in_arrow(operation, _as(width, left), _as(width, right), target), target, mode)
        except ValueError:  # more digits than this width has
            continue
    return _in_python(operation, left, right, target, ROUNDING[mode])


def from_texts(numerals: pa.Array, target: pa.DataType) -> pa.Array:
    """Plain numerals as decimals, or an Arrow error. Of a number that is too large pyarrow may make another one, so what could be
    that large is refused: more digits than have room beside those of the scale, and exponents."""
    letters = numerals.buffers()[2]
    has_letters = letters is not None and bool((np.frombuffer(letters, np.uint8) > ord("9")).any())
    longest = pc.max(pc.binary_length(numerals)).as_py() or 0
    if has_letters or longest + target.scale > 38:
        raise pa.ArrowInvalid("some of these numerals need a closer look")
    return numerals.cast(target)


def rescale(array: pa.Array, target: pa.DataType, mode: str = HALF_UP) -> tuple[pa.Array, Mask]:
    """A decimal of another precision and scale, and where it does not fit."""
    given = array.type
    if given.scale > target.scale:
        # Rounding may carry into one more digit.
        array = array.cast(_wide(min(WIDEST, given.precision + 1), given.scale))
        array = pc.round(array, ndigits=target.scale, round_mode=mode)
    failed = _too_large(array, target.precision - target.scale)
    array = blank(array, failed)
    if target.scale > array.type.scale:
        array = array.cast(_wide(min(WIDEST, array.type.precision + target.scale), array.type.scale))
    return array.cast(target), failed


def unscaled(array: pa.Array) -> npt.NDArray[np.int64]:
    """The integers behind decimals of at most 18 digits; what lies under a NULL is not defined."""
    words = np.frombuffer(array.buffers()[1], np.int64)
    stride = array.type.byte_width // 8
    return words[array.offset * stride : (array.offset + len(array)) * stride : stride]


def from_unscaled(values: npt.NDArray[np.int64], scale: int, null: Mask) -> pa.Array:
    """Decimals with the given digits."""
    words = np.stack([values, values >> 63], axis=1)
    validity = array_of(null, pa.bool_(), null).buffers()[0]
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [validity, pa.py_buffer(words.tobytes())])


def to_double(array: pa.Array) -> pa.Array:
    """The nearest DOUBLE. (Arrow's own cast multiplies by a power of ten that is not exact: 0.3 is not 0.3.)"""
    if array.type.precision <= 15 and len(array):
        return array_of(unscaled(array) / 10.0**array.type.scale, pa.float64(), nulls(array))
    return array.cast(pa.string()).cast(pa.float64())


def _too_large(array: pa.Array, digits: int) -> Mask:
    if digits >= array.type.precision - array.type.scale:
        return np.zeros(len(array), np.bool_)
    limit = pa.scalar(decimal.Decimal(10) ** digits, array.type)
    return truth(pc.greater_equal(pc.abs(array), limit))


def _wide(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _as(width: Callable[[int, int], pa.DataType], array: pa.Array) -> pa.Array:
    return array.cast(width(array.type.precision, array.type.scale))


def _in_arrow(operation: str, left: pa.Array, right: pa.Array, target: pa.DataType) -> pa.Array:
    if operation == "divide":
        # Arrow truncates: one digit more than the target's is enough to round half up.
        given = left.type.scale + right.type.precision - right.type.scale + 1
        more = max(0, target.scale + 1 - given)
        left = left.cast(_same_width(left.type, left.type.precision + more, left.type.scale + more))
    return pc.call_function(operation, [left, right])


def _same_width(type_: pa.DataType, precision: int, scale: int) -> pa.DataType:
    return (pa.decimal128 if type_.byte_width == 16 else pa.decimal256)(precision, scale)


def _in_python(
    operation: str, left: pa.Array, right: pa.Array, target: pa.DataType, rounding: str
) -> tuple[pa.Array, Mask]:
    function = getattr(_PYTHON, operation)
    unit, limit = decimal.Decimal(1).scaleb(-target.scale), decimal.Decimal(10) ** (target.precision - target.scale)
    results: list[decimal.Decimal | None] = []
    failed = np.zeros(len(left), np.bool_)
    for place, (one, other) in enumerate(zip(left.to_pylist(), right.to_pylist(), strict=True)):
        if one is None or other is None:
            results.append(None)
            continue
        exact = function(one, other).quantize(unit, rounding, _PYTHON)
        failed[place] = abs(exact) >= limit
        results.append(None if failed[place] else exact)
    return pa.array(results, target), failed
