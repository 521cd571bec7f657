"""Arrays. The first place is 1, and a negative place counts from the end; NULL stands for no array, and may be an element."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.bounds import spend
from sash.scalar.arrays import (
    LONGEST,
    Mask,
    array_of,
    blank,
    combined,
    list_ends,
    list_offsets,
    nulls,
    numbers,
    per_group,
    per_value,
    truth,
)
from sash.scalar.coercion import Arguments, Mismatch, cast, comparable, implicit, unify, untyped
from sash.scalar.frame import Frame
from sash.scalar.functions.comparison import equal
from sash.scalar.functions.function import Function, Rule, fixed, parameterized, plain
from sash.scalar.functions.patterns import characters
from sash.scalar.nodes import Call, Expression
from sash.schema import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Kind, Type
from sash.schema import array as array_type

Int64s = npt.NDArray[np.int64]


def element_of(argument: Expression) -> Type:
    if argument.type.element is None:
        raise Mismatch
    return argument.type.element


def of_array(result: Type | None, *parameters: Type, optional: int = 0) -> Rule:
    """An array and parameters of fixed types; the result None stands for an array of the same type."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if not 1 + len(parameters) - optional <= len(arguments) <= 1 + len(parameters):
            raise Mismatch
        element_of(arguments[0])
        rest = (implicit(given, wanted) for given, wanted in zip(arguments[1:], parameters, strict=False))
        return (arguments[0], *rest), arguments[0].type if result is None else result

    return rule


def _element_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    coerced, _ = of_array(None, INT)(arguments)
    return coerced, element_of(coerced[0])


def _with_element(result: Type | None) -> Rule:
    """An array and a value to compare its elements with; or, where the result is an array, to put among them."""

    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        if len(arguments) != 2:
            raise Mismatch
        meet = unify if result is None else comparable
        (element, value) = meet((Call("element_at", (), element_of(arguments[0])), arguments[1]))
        array = cast(arguments[0], array_type(element.type))
        return (array, value), array.type if result is None else result

    return rule


def _array_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    coerced = unify(arguments)
    return coerced, array_type(coerced[0].type if coerced else STRING)


def _concat_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    """Arrays; a value among them is an array of it alone."""
    arrays = [a if a.type.kind is Kind.ARRAY or untyped(a) else Call("array", (a,), array_type(a.type)) for a in arguments]
    if all(map(untyped, arrays)):
        raise Mismatch
    coerced = unify(arrays)
    return coerced, coerced[0].type


def _flatten_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 1 or element_of(arguments[0]).element is None:
        raise Mismatch
    return arguments, element_of(arguments[0])


def lengths(arrays: pa.ListArray) -> Int64s:
    return np.diff(list_ends(arrays))


def owners(arrays: pa.ListArray) -> Int64s:
    """For every element of all arrays, the row of its own."""
    return np.repeat(np.arange(len(arrays)), lengths(arrays))


def chosen(arrays: pa.ListArray, starts: Int64s, counts: Int64s) -> pa.ListArray:
    """Of every array, so many elements from a place on, which is counted from 0."""
    counts = np.where(nulls(arrays), 0, np.maximum(counts, 0))
    ends = np.concatenate([[0], np.cumsum(counts)])
    first = np.repeat(list_ends(arrays)[:-1] + starts - ends[:-1], counts)
    items = combined(arrays.flatten()).take(pa.array(first + np.arange(ends[-1])))
    return pa.ListArray.from_arrays(array_of(ends.astype(np.int32), pa.int32(), np.append(nulls(arrays), False)), items)


def _array(frame: Frame, call: Call) -> pa.Array:
    """The elements of every row side by side."""
    assert call.type.element is not None
    count, ends = len(call.arguments), np.arange(frame.length + 1) * len(call.arguments)
    items = pa.nulls(0, call.type.element.arrow)
    if count:
        turned = np.arange(frame.length * count).reshape(count, -1).T.ravel()
        items = pa.concat_arrays(frame.arguments(call)).take(pa.array(turned))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items)


def _element_at(arrays: pa.ListArray, places: pa.Array) -> pa.Array:
    asked, sizes = numbers(places).astype(np.int64), lengths(arrays)
    inside = np.where(asked > 0, asked - 1, asked + sizes)
    missing = (asked == 0) | (inside < 0) | (inside >= sizes) | nulls(arrays) | nulls(places)
    return combined(arrays.flatten()).take(array_of(np.where(missing, 0, list_ends(arrays)[:-1] + inside), pa.int64(), missing))


def _size(arrays: pa.ListArray, dimension: int = 1) -> pa.Array:
    sizes = pc.list_value_length(arrays)
    return sizes if dimension == 1 else pa.nulls(len(sizes), pa.int32())


def _matches(arrays: pa.ListArray, values: pa.Array) -> tuple[Int64s, pa.Array]:
    """The row of every element, and whether it is the value of its row."""
    rows = owners(arrays)
    return rows, equal(combined(arrays.flatten()), values.take(pa.array(rows)))


def _contains(arrays: pa.ListArray, values: pa.Array) -> pa.Array:
    """NULL where it is not among the elements, but a NULL is."""
    rows, found = _matches(arrays, values)
    is_there, is_unknown = (_any(rows, which, len(arrays)) for which in (truth(found), nulls(found)))
    return array_of(is_there, pa.bool_(), (~is_there & is_unknown) | nulls(arrays) | nulls(values))


def _any(rows: Int64s, which: Mask, count: int) -> Mask:
    found = np.zeros(count, np.bool_)
    found[rows[which]] = True
    return found


def _position(arrays: pa.ListArray, values: pa.Array) -> pa.Array:
    """The first place of a value, 0 if it is not there."""
    rows, found = _matches(arrays, values)
    at = np.flatnonzero(truth(found))[::-1]
    places = np.zeros(len(arrays), np.int64)
    places[rows[at]] = at + 1 - list_ends(arrays)[rows[at]]
    return array_of(places, pa.int64(), nulls(arrays) | nulls(values))


def _remove(arrays: pa.ListArray, values: pa.Array) -> pa.Array:
    rows, found = _matches(arrays, values)
    kept = ~truth(found)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(arrays)))])
    offsets = array_of(ends.astype(np.int32), pa.int32(), np.append(nulls(arrays), False))
    return blank(pa.ListArray.from_arrays(offsets, combined(arrays.flatten()).filter(pa.array(kept))), nulls(values))


def _join(frame: Frame, call: Call) -> pa.Array:
    """The elements as texts with a separator between them; NULLs are left out, or become the third argument."""
    arrays, separators, *rest = frame.arguments(call)
    if rest:
        missing = rest[0].take(pa.array(owners(arrays)))
        arrays = pa.ListArray.from_arrays(list_offsets(arrays), pc.coalesce(combined(arrays.flatten()), missing))
    return pc.binary_join(_without_nulls(arrays), separators)


def _without_nulls(arrays: pa.ListArray) -> pa.ListArray:
    items = combined(arrays.flatten())
    ends = np.concatenate([[0], np.cumsum(~nulls(items))])[list_ends(arrays)]
    return pa.ListArray.from_arrays(
        array_of(ends.astype(np.int32), pa.int32(), np.append(nulls(arrays), False)), items.drop_null()
    )


def _slice(arrays: pa.ListArray, start: pa.Array, count: pa.Array) -> pa.Array:
    """So many elements from a place on."""
    first, sizes = _from_start(arrays, start), lengths(arrays)
    result = chosen(arrays, np.clip(first, 0, sizes), np.where(first < 0, 0, np.minimum(numbers(count), sizes - first)))
    return blank(result, nulls(start) | nulls(count))


def _between(arrays: pa.ListArray, start: pa.Array, stop: pa.Array) -> pa.Array:
    """From one place to another, both included."""
    first, sizes = np.maximum(_from_start(arrays, start), 0), lengths(arrays)
    last = np.minimum(_from_start(arrays, stop), sizes - 1)
    return blank(chosen(arrays, np.minimum(first, sizes), last - first + 1), nulls(start) | nulls(stop))


def _from_start(arrays: pa.ListArray, places: pa.Array) -> Int64s:
    asked = numbers(places).astype(np.int64)
    return np.where(asked >= 0, asked - 1, asked + lengths(arrays))


def _concat(*arrays: pa.ListArray) -> pa.Array:
    """The elements of all, row by row; NULL if one is NULL."""
    null = np.logical_or.reduce([nulls(array) for array in arrays])
    items = pa.concat_arrays([combined(array.flatten()) for array in arrays])
    sizes = np.stack([lengths(array) for array in arrays])
    firsts = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])[:-1]
    starts = firsts[:, None] + np.stack([list_ends(array)[:-1] for array in arrays])
    counts = np.where(null, 0, sizes).T.ravel()
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(starts.T.ravel() - ends[:-1], counts) + np.arange(ends[-1])
    offsets = array_of(ends[:: len(arrays)].astype(np.int32), pa.int32(), np.append(null, False))
    return pa.ListArray.from_arrays(offsets, items.take(pa.array(places)))


def _single(values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1), pa.int32()), values)


def _append(arrays: pa.ListArray, values: pa.Array) -> pa.Array:
    return _concat(arrays, _single(values))


def _prepend(arrays: pa.ListArray, values: pa.Array) -> pa.Array:
    return _concat(_single(values), arrays)


def _flatten(arrays: pa.ListArray) -> pa.Array:
    """The elements of the elements; NULL if an element is NULL."""
    inner = combined(arrays.flatten())
    ends = list_ends(inner)[list_ends(arrays)].astype(np.int32)
    null = nulls(arrays) | _any(owners(arrays), nulls(inner), len(arrays))
    whole = pa.ListArray.from_arrays(pa.array(ends), combined(inner.flatten()))
    return blank(whole, null)


def _repeat(frame: Frame, call: Call) -> pa.Array:
    values, count = frame.arguments(call)
    times = np.maximum(numbers(count), 0)
    failed = (times > LONGEST) & ~nulls(count)
    times = np.where(failed, 0, times)
    spend(8 * int(times.sum()))
    ends = np.concatenate([[0], np.cumsum(times)]).astype(np.int32)
    items = values.take(pa.array(np.repeat(np.arange(len(values)), times)))
    result = blank(pa.ListArray.from_arrays(pa.array(ends), items), nulls(count))
    return frame.failing(result, failed, f"an array of a repeated value has at most {LONGEST:,} elements", [count])


def _repeat_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2:
        raise Mismatch
    return (arguments[0], implicit(arguments[1], INT)), array_type(arguments[0].type)


def _split_plain(texts: pa.Array, separators: pa.Array) -> pa.Array:
    return per_group([texts], [separators], _split_by, pa.list_(pa.string()))


def _split_by(text: pa.Array, separator: str) -> pa.Array:
    """An empty separator stands between all characters."""
    if separator:
        return pc.split_pattern(text, separator)
    return per_value(text, characters, pa.list_(pa.string()))


def _series_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    """From one number or timestamp to another; the step of timestamps is an interval."""
    if not 2 <= len(arguments) <= 3:
        raise Mismatch
    ends = unify(arguments[:2])
    if ends[0].type == TIMESTAMP and len(arguments) == 3:
        return (*ends, implicit(arguments[2], BIGINT)), array_type(TIMESTAMP)
    if not all(argument.type.is_integer for argument in arguments):
        raise Mismatch
    numbers_ = unify(arguments)
    return numbers_, array_type(numbers_[0].type)


def _series(frame: Frame, call: Call) -> pa.Array:
    """Both ends included; nothing where the step leads away from the end."""
    arguments = frame.arguments(call)
    start, stop = (numbers(argument).astype(np.int64) for argument in arguments[:2])
    step = numbers(arguments[2]).astype(np.int64) if len(arguments) == 3 else np.ones(frame.length, np.int64)
    if call.function == "sequence" and len(arguments) == 2:
        step = np.where(stop < start, -1, 1)
    null = np.logical_or.reduce([nulls(argument) for argument in arguments])
    counts = ((stop.astype(np.float64) - start) // np.where(step == 0, 1, step) + 1).clip(0, 2.0**62).astype(np.int64)
    failed = ~null & ((step == 0) | (counts > LONGEST))
    counts = np.where(null | failed, 0, counts)
    spend(8 * int(counts.sum()))
    ends = np.concatenate([[0], np.cumsum(counts)])
    nth = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
    items = array_of(np.repeat(start, counts) + nth * np.repeat(step, counts), pa.int64(), np.zeros(ends[-1], np.bool_))
    element = call.type.arrow.value_type
    items = items.view(element) if pa.types.is_timestamp(element) else items.cast(element)
    result = blank(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items), null)
    return frame.failing(result, failed, f"a series has a step, and at most {LONGEST:,} elements", arguments)


_VALUE = "an array and a value"

FUNCTIONS = (
    Function(("array", "list_value", "make_array"), "any number of values of one type", _array_rule, _array),
    Function(("element_at", "array_extract", "list_extract"), "an array and a place", _element_rule, plain(_element_at)),
    Function(
        ("cardinality", "array_length", "array_size", "size"), "an array", of_array(INT, INT, optional=1), parameterized(_size)
    ),
    Function(("array_contains", "list_contains"), _VALUE, _with_element(BOOLEAN), plain(_contains)),
    Function(("array_position", "list_position"), _VALUE, _with_element(BIGINT), plain(_position)),
    Function(("array_remove",), _VALUE, _with_element(None), plain(_remove)),
    Function(("array_append", "list_append"), _VALUE, _with_element(None), plain(_append)),
    Function(("array_prepend",), _VALUE, _with_element(None), plain(_prepend)),
    Function(("array_concat", "array_cat", "list_concat"), "arrays of one type", _concat_rule, plain(_concat)),
    Function(
        ("array_to_string", "array_join"), "an array, a separator, and perhaps a text for NULLs",
        fixed(STRING, array_type(STRING), STRING, STRING, optional=1), _join,
    ),
    Function(("slice",), "an array, a start, and a length", of_array(None, INT, INT), plain(_slice)),
    Function(("array_slice", "list_slice"), "an array, its first and its last place", of_array(None, INT, INT), plain(_between)),
    Function(("flatten",), "an array of arrays", _flatten_rule, plain(_flatten)),
    Function(("array_repeat",), "a value and a count", _repeat_rule, _repeat),
    Function(
        ("string_to_array", "string_split", "str_split"), "a text and a separator", fixed(array_type(STRING), STRING, STRING),
        plain(_split_plain),
    ),
    Function(("generate_series",), "a start, an end, and perhaps a step", _series_rule, _series),
    Function(("sequence",), "a start, an end, and perhaps a step", _series_rule, _series),
)
