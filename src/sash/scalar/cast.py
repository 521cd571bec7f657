"""CAST among all types, value by value: what cannot be cast becomes NULL, and a mask says where.

    from \\ to     BOOLEAN  numbers              STRING  TIMESTAMP                 DATE
    BOOLEAN       yes      0 and 1              yes     -                         -
    numbers       <> 0     must fit             yes     seconds since the epoch   -
    STRING        yes      yes                  yes     yes                       yes
    TIMESTAMP     -        seconds (floor)      yes     yes                       its day
    DATE          -        -                    yes     midnight                  yes
    ARRAY         an array of other elements, each cast by itself; as STRING: [1, null]

DOUBLE and DECIMAL are cut toward zero to become integers and rounded half up to become a DECIMAL of smaller scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError
from sash.scalar import decimals, parse_text, print_text
from sash.scalar.arrays import Mask, Numbers, array_of, blank, combined, list_ends, list_offsets, nulls, numbers, truth, zero
from sash.scalar.calendar import DAY, outside
from sash.scalar.doubles import CERTAIN, round_doubles
from sash.schema import SECOND, Kind

Casted = tuple[pa.Array, Mask]
Caster = Callable[[pa.Array, pa.DataType], Casted]


def try_cast(array: pa.Array, target: pa.DataType) -> tuple[pa.Array, pa.BooleanArray]:
    """The values in the target type, NULL where that fails; the mask is true where it failed."""
    array = combined(array)
    array = array if array.type == target else ordinary(array)
    if array.type == target:
        return array, pa.array(_none(array))
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target), pa.array(_none(array))
    given, wanted = kind_of(array.type), kind_of(target)
    if not can_cast(given, wanted):
        raise SashError(f"{given.name} cannot be cast to {wanted.name}")
    result, failed = _CASTERS[given, wanted](array, target)
    return result, pa.array(failed)


def can_cast(given: Kind, wanted: Kind) -> bool:
    return (given, wanted) in _CASTERS


def kind_of(type_: pa.DataType) -> Kind:
    """The kind of an ordinary Arrow type."""
    if pa.types.is_decimal(type_) or pa.types.is_list(type_):
        return Kind.DECIMAL if pa.types.is_decimal(type_) else Kind.ARRAY
    if type_ not in _KINDS:
        raise SashError(f"values of the Arrow type {type_} cannot be used", "cast them to a type of SQL first")
    return _KINDS[type_]


def ordinary(array: pa.Array) -> pa.Array:
    """Other Arrow types that mean the same, in the one that we use; numbers only widen, finer times are cut."""
    type_ = array.type
    if pa.types.is_dictionary(type_):
        return ordinary(array.dictionary_decode())
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return array.cast(pa.string())
    if pa.types.is_integer(type_):
        return array.cast(_wider_integer(type_))
    if pa.types.is_floating(type_):
        return array.cast(pa.float64())
    if pa.types.is_timestamp(type_):
        return _microseconds(array)
    return array.cast(pa.date32()) if pa.types.is_date64(type_) else array


def _wider_integer(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(type_):
        return pa.decimal128(20, 0)
    return pa.int32() if type_.bit_width < 32 or pa.types.is_int32(type_) else pa.int64()


def _microseconds(array: pa.Array) -> pa.Array:
    if array.type.unit == "ns":
        array = pc.floor_temporal(array, unit="microsecond")
    return array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.timestamp("us"))


def _none(array: pa.Array) -> Mask:
    return np.zeros(len(array), np.bool_)


def _plain(array: pa.Array, target: pa.DataType) -> Casted:
    return array.cast(target, safe=False), _none(array)


def _not_zero(array: pa.Array, target: pa.DataType) -> Casted:
    return pc.not_equal(array, zero(array.type)), _none(array)


def _integer_to_integer(array: pa.Array, target: pa.DataType) -> Casted:
    bounds = np.iinfo(target.to_pandas_dtype())
    values = numbers(array)
    failed = (values < bounds.min) | (values > bounds.max)
    return blank(array, failed).cast(target), failed


def _integer_to_decimal(array: pa.Array, target: pa.DataType) -> Casted:
    return decimals.rescale(array.cast(pa.decimal128(19 if array.type == pa.int64() else 10, 0)), target)


def _boolean_to_decimal(array: pa.Array, target: pa.DataType) -> Casted:
    return _integer_to_decimal(array.cast(pa.int32()), target)


def _double_to_integer(array: pa.Array, target: pa.DataType) -> Casted:
    return _whole(np.trunc(numbers(array)), target, nulls(array))


def _whole(values: Numbers, target: pa.DataType, null: Mask) -> Casted:
    """Whole DOUBLEs as integers (or times); NaN and what is too large fail."""
    bits = 32 if target == pa.int32() else 64
    fits = (values >= -(2.0 ** (bits - 1))) & (values < 2.0 ** (bits - 1))
    stored = np.where(fits, values, 0).astype(np.int32 if bits == 32 else np.int64)
    return array_of(stored, target, null | ~fits), ~fits & ~null


def _double_to_decimal(array: pa.Array, target: pa.DataType) -> Casted:
    """By the shortest digits that read back as the value, as Spark does: 1.005 is 1.01 in two places."""
    values, null = numbers(array), nulls(array)
    size = np.abs(values)
    if target.scale <= 15 and (size < CERTAIN / 10.0**target.scale).all():
        digits = np.rint(round_doubles(values, target.scale, decimals.HALF_UP) * 10.0**target.scale)
        return decimals.rescale(decimals.from_unscaled(digits.astype(np.int64), target.scale, null), target)
    failed = ~(size < 10.0 ** (target.precision - target.scale))
    tiny = size < 10.0 ** -(target.scale + 1)
    texts = pc.if_else(pa.array(tiny), "0", blank(array, failed).cast(pa.string()))
    result, refused = parse_text.to_decimal(pc.if_else(array.is_valid(), texts, None), target)
    return result, (failed & ~null) | refused


def _decimal_to_integer(array: pa.Array, target: pa.DataType) -> Casted:
    whole, failed = decimals.rescale(array, pa.decimal128(38, 0), decimals.DOWN)
    bounds = np.iinfo(target.to_pandas_dtype())
    least, greatest = (pa.scalar(int(bound)).cast(pa.decimal128(19, 0)) for bound in (bounds.min, bounds.max))
    failed = failed | truth(pc.or_(pc.less(whole, least), pc.greater(whole, greatest)))
    return blank(whole, failed).cast(target), failed


def _decimal_to_double(array: pa.Array, target: pa.DataType) -> Casted:
    return decimals.to_double(array), _none(array)


def _seconds_to_timestamp(array: pa.Array, target: pa.DataType) -> Casted:
    seconds = numbers(array).astype(np.int64)
    failed = outside(np.clip(seconds, -(2**42), 2**42) * SECOND)
    return array_of(np.where(failed, 0, seconds) * SECOND, target, failed | nulls(array)), failed


def _double_to_timestamp(array: pa.Array, target: pa.DataType) -> Casted:
    return _bounded(*_whole(np.trunc(numbers(array) * SECOND), target, nulls(array)))


def _decimal_to_timestamp(array: pa.Array, target: pa.DataType) -> Casted:
    exact, failed = decimals.rescale(array, pa.decimal128(38, 6), decimals.DOWN)
    micros, too_large = decimals.compute("multiply", exact, _constant(SECOND, exact), pa.decimal128(18, 0))
    return _bounded(micros.cast(pa.int64()).view(target), failed | too_large)


def _constant(value: int, like: pa.Array) -> pa.Array:
    return pa.repeat(pa.scalar(value).cast(pa.decimal128(19, 0)), len(like))


def _bounded(array: pa.Array, failed: Mask) -> Casted:
    wrong = outside(numbers(array)) & ~nulls(array)
    return blank(array, wrong), failed | wrong


def _timestamp_to_integer(array: pa.Array, target: pa.DataType) -> Casted:
    return _integer_to_integer(array_of(numbers(array) // SECOND, pa.int64(), nulls(array)), target)


def _timestamp_to_double(array: pa.Array, target: pa.DataType) -> Casted:
    return array_of(numbers(array) / SECOND, target, nulls(array)), _none(array)


def _timestamp_to_decimal(array: pa.Array, target: pa.DataType) -> Casted:
    return decimals.rescale(decimals.from_unscaled(numbers(array), 6, nulls(array)), target)


def _timestamp_to_date(array: pa.Array, target: pa.DataType) -> Casted:
    days = (numbers(array) // DAY).astype(np.int32)
    return array_of(days, target, nulls(array)), _none(array)


def _printed(printer: Callable[[pa.Array], pa.Array]) -> Caster:
    return lambda array, target: (printer(array), _none(array))


def _array_to_array(array: pa.Array, target: pa.DataType) -> Casted:
    """One element that cannot be cast is NULL, and fails its array for those who count."""
    items, failed = try_cast(combined(array.flatten()), target.value_type)
    wrong = np.diff(np.concatenate([[0], np.cumsum(truth(failed))])[list_ends(array)]) > 0
    return pa.ListArray.from_arrays(list_offsets(array), items).cast(target), wrong


def _array_to_text(array: pa.Array, target: pa.DataType) -> Casted:
    items, _ = try_cast(combined(array.flatten()), pa.string())
    texts = pa.ListArray.from_arrays(list_offsets(array), pc.fill_null(items, "null"))
    return pc.binary_join_element_wise("[", pc.binary_join(texts, ", "), "]", ""), _none(array)


_KINDS = {
    pa.bool_(): Kind.BOOLEAN,
    pa.int32(): Kind.INT,
    pa.int64(): Kind.BIGINT,
    pa.float64(): Kind.DOUBLE,
    pa.string(): Kind.STRING,
    pa.timestamp("us"): Kind.TIMESTAMP,
    pa.date32(): Kind.DATE,
}

_CASTERS: dict[tuple[Kind, Kind], Caster] = {
    (Kind.BOOLEAN, Kind.INT): _plain,
    (Kind.BOOLEAN, Kind.BIGINT): _plain,
    (Kind.BOOLEAN, Kind.DOUBLE): _plain,
    (Kind.BOOLEAN, Kind.DECIMAL): _boolean_to_decimal,
    (Kind.BOOLEAN, Kind.STRING): _plain,
    (Kind.INT, Kind.BOOLEAN): _not_zero,
    (Kind.INT, Kind.BIGINT): _plain,
    (Kind.INT, Kind.DOUBLE): _plain,
    (Kind.INT, Kind.DECIMAL): _integer_to_decimal,
    (Kind.INT, Kind.STRING): _plain,
    (Kind.INT, Kind.TIMESTAMP): _seconds_to_timestamp,
    (Kind.BIGINT, Kind.BOOLEAN): _not_zero,
    (Kind.BIGINT, Kind.INT): _integer_to_integer,
    (Kind.BIGINT, Kind.DOUBLE): _plain,
    (Kind.BIGINT, Kind.DECIMAL): _integer_to_decimal,
    (Kind.BIGINT, Kind.STRING): _plain,
    (Kind.BIGINT, Kind.TIMESTAMP): _seconds_to_timestamp,
    (Kind.DOUBLE, Kind.BOOLEAN): _not_zero,
    (Kind.DOUBLE, Kind.INT): _double_to_integer,
    (Kind.DOUBLE, Kind.BIGINT): _double_to_integer,
    (Kind.DOUBLE, Kind.DECIMAL): _double_to_decimal,
    (Kind.DOUBLE, Kind.STRING): _printed(print_text.from_double),
    (Kind.DOUBLE, Kind.TIMESTAMP): _double_to_timestamp,
    (Kind.DECIMAL, Kind.BOOLEAN): _not_zero,
    (Kind.DECIMAL, Kind.INT): _decimal_to_integer,
    (Kind.DECIMAL, Kind.BIGINT): _decimal_to_integer,
    (Kind.DECIMAL, Kind.DOUBLE): _decimal_to_double,
    (Kind.DECIMAL, Kind.DECIMAL): decimals.rescale,
    (Kind.DECIMAL, Kind.STRING): _printed(print_text.from_decimal),
    (Kind.DECIMAL, Kind.TIMESTAMP): _decimal_to_timestamp,
    (Kind.STRING, Kind.BOOLEAN): parse_text.to_boolean,
    (Kind.STRING, Kind.INT): parse_text.to_integer,
    (Kind.STRING, Kind.BIGINT): parse_text.to_integer,
    (Kind.STRING, Kind.DOUBLE): parse_text.to_double,
    (Kind.STRING, Kind.DECIMAL): parse_text.to_decimal,
    (Kind.STRING, Kind.TIMESTAMP): parse_text.to_timestamp,
    (Kind.STRING, Kind.DATE): parse_text.to_date,
    (Kind.TIMESTAMP, Kind.INT): _timestamp_to_integer,
    (Kind.TIMESTAMP, Kind.BIGINT): _timestamp_to_integer,
    (Kind.TIMESTAMP, Kind.DOUBLE): _timestamp_to_double,
    (Kind.TIMESTAMP, Kind.DECIMAL): _timestamp_to_decimal,
    (Kind.TIMESTAMP, Kind.STRING): _printed(print_text.from_timestamp),
    (Kind.TIMESTAMP, Kind.DATE): _timestamp_to_date,
    (Kind.DATE, Kind.STRING): _plain,
    (Kind.DATE, Kind.TIMESTAMP): _plain,
    (Kind.ARRAY, Kind.ARRAY): _array_to_array,
    (Kind.ARRAY, Kind.STRING): _array_to_text,
}
