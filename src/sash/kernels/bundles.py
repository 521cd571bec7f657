"""Bundles: the arrays of a store, or the fixed facts of an operator, as one argument of a kernel.

    Log(registers, lines, table)     what functions of a kernel pass on: a named tuple of arrays
    record                           what is passed into the kernel: a line (address, length, width) for every array of the tuple

Numba unpacks every array of a call, some 27 ns each, and a named tuple at four times that for each array in it. A record is one
array, however many it stands for, and is written only when one of them has moved. So what stays comes as a record; what is new at
every call (changes that come, room for those that go) comes as loose arrays, and is a named tuple from there on. A bundle may be
part of others: there its line says where its record is, which never moves. (Decision 0030 has the figures.)

A bundle keeps its parts alive, so a kernel never sees memory that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

Line = Annotated[npt.NDArray[np.int64], "int64", 1]  # numbers
Lines = Annotated[npt.NDArray[np.int64], "int64", 2]  # lines of numbers, as many in each
Letters = Annotated[npt.NDArray[np.uint8], "uint8", 1]  # bytes

ADDRESS, LENGTH, WIDTH, PARTS = 0, 1, 2, 3  # of a line of a record

_WORD = ir.IntType(64)

# Length and width of arrays, by the names of fields, None where it is not known. An array of which both are known is one that
# kernels only read: they get a copy of their own, which nothing else can write to, so that its numbers may stay in registers.
Shapes = Mapping[str, tuple[int | None, int | None]]
NOTHING_KNOWN: Shapes = {}


class Changes(NamedTuple):
    """Rows that come or go, or room for some: what is a `Delta` outside of kernels."""

    rows: Lines
    ts: Line
    expiry: Line
    weight: Line


class SignedChanges(NamedTuple):
    """The same without an expiry."""

    rows: Lines
    ts: Line
    weight: Line


class Bundle:
    """The parts of a named tuple, and their record."""

    __slots__ = ("_kind", "_parts", "record")

    def __init__(self, kind: type[tuple[Any, ...]], *parts: npt.NDArray[Any] | Bundle) -> None:
        self._kind, self._parts = kind, dict(zip(_fields(kind), parts, strict=True))
        self.record = np.array([self._place(name) for name in self._parts], np.int64)

    def replace(self, **parts: npt.NDArray[Any] | Bundle) -> None:
        """Some of them have moved."""
        names = list(self._parts)
        for name, part in parts.items():
            self._parts[name] = part
            self.record[names.index(name)] = self._place(name)

    def fits(self, shapes: Shapes) -> bool:
        """Whether the arrays of such names, here and in bundles that are part of this one, have these shapes."""
        return all(
            part.fits(shapes) if isinstance(part, Bundle) else _is_of(part, shapes.get(name, (None, None)))
            for name, part in self._parts.items()
        )

    def _place(self, name: str) -> tuple[int, int, int]:
        part, (kind, dimensions) = self._parts[name], _fields(self._kind)[name]
        if isinstance(part, Bundle):
            assert part._kind is kind, f"{self._kind.__name__}.{name} is a {part._kind.__name__}"
            return part.record.ctypes.data, 0, 0
        is_right = part.dtype == kind and part.ndim == dimensions and part.flags.c_contiguous
        assert is_right, f"{self._kind.__name__}.{name} must be {kind} of {dimensions} dimensions, in one piece"
        return part.ctypes.data, len(part), part.shape[-1]


def opened(bundle: type[tuple[Any, ...]], shapes: Shapes = NOTHING_KNOWN) -> Any:
    """The function by which kernels make a bundle of its record; the caller has seen that it `fits` the shapes."""

    @intrinsic
    def open_record(typing: Any, record: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(record)(context, builder, arguments[0]).data
            return _built(bundle, context, builder, data, shapes)

        return _type_of(bundle)(record), generate

    return open_record


def of_width(width: int) -> Any:
    """The function by which kernels are told how many numbers a line of an array has, which the caller knows."""

    @intrinsic
    def tell_width(typing: Any, lines: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = context.make_array(lines)(context, builder, arguments[0])
            length = builder.extract_value(given.shape, 0)
            return _array_at(lines, context, builder, given.data, [length, _WORD(width)])

        return lines(lines), generate

    return tell_width


def _is_of(array: npt.NDArray[Any], known: tuple[int | None, int | None]) -> bool:
    return all(size in (None, found) for size, found in zip(known, (len(array), array.shape[-1]), strict=True))


@cache
def _fields(bundle: type[tuple[Any, ...]]) -> dict[str, tuple[Any, int]]:
    """The fields of a bundle: type and dimensions of an array; or another bundle, and 0."""
    hints = get_type_hints(bundle, include_extras=True)
    return {name: (get_args(hint)[1:] if get_args(hint) else (hint, 0)) for name, hint in hints.items()}


def _type_of(bundle: type[tuple[Any, ...]]) -> Any:
    kinds = [_array(kind, dimensions) if dimensions else _type_of(kind) for kind, dimensions in _fields(bundle).values()]
    return types.BaseTuple.from_types(kinds, bundle)


def _array(kind: str, dimensions: int) -> Any:
    return types.Array(getattr(types, kind), dimensions, "C")


def _built(bundle: type[tuple[Any, ...]], context: Any, builder: Any, record: Any, shapes: Shapes) -> Any:
    """The value of a bundle, by a pointer to its record."""
    return context.make_tuple(builder, _type_of(bundle), list(_parts(bundle, context, builder, record, shapes)))


def _parts(bundle: type[tuple[Any, ...]], context: Any, builder: Any, record: Any, shapes: Shapes) -> Iterator[Any]:
    for number, (name, (kind, dimensions)) in enumerate(_fields(bundle).items()):
        words = [builder.load(builder.gep(record, [_WORD(number * PARTS + part)])) for part in range(PARTS)]
        if not dimensions:
            yield _built(kind, context, builder, builder.inttoptr(words[ADDRESS], _WORD.as_pointer()), shapes)
            continue
        array_type, (length, width) = _array(kind, dimensions), shapes.get(name, (None, None))
        data = builder.inttoptr(words[ADDRESS], context.get_data_type(array_type.dtype).as_pointer())
        shape = [word if size is None else _WORD(size) for word, size in zip(words[LENGTH:], (length, width), strict=True)]
        if length is not None and width is not None:
            data = _copied(builder, data, length * width)
        yield _array_at(array_type, context, builder, data, shape[:dimensions])


def _copied(builder: Any, data: Any, count: int) -> Any:
    """A copy of so few numbers on the stack of the kernel."""
    copy = cgutils.alloca_once(builder, data.type.pointee, size=_WORD(max(1, count)))
    for place in range(count):
        builder.store(builder.load(builder.gep(data, [_WORD(place)])), builder.gep(copy, [_WORD(place)]))
    return copy


def _array_at(array_type: Any, context: Any, builder: Any, data: Any, shape: list[Any]) -> Any:
    size = _WORD(array_type.dtype.bitwidth // 8)
    array = context.make_array(array_type)(context, builder)
    strides = [builder.mul(shape[-1], size), size][-len(shape):]
    populate_array(array, data, shape, strides, size, None)
    return array._getvalue()
