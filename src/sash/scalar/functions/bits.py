"""Bits of integers. As in Java, a shift by more than the width goes around."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import Numbers, array_of, nulls, numbers
from sash.scalar.coercion import Arguments, Mismatch, implicit, numbers_of
from sash.scalar.frame import Implementation
from sash.scalar.functions.function import Function, plain
from sash.schema import INT, Type


def _integers(count: int) -> Callable[[Arguments], tuple[Arguments, Type]]:
    def rule(arguments: Arguments) -> tuple[Arguments, Type]:
        coerced = numbers_of(arguments)
        if len(coerced) != count or not coerced[0].type.is_integer:
            raise Mismatch
        return coerced, coerced[0].type

    return rule


def _shifted(arguments: Arguments) -> tuple[Arguments, Type]:
    if len(arguments) != 2 or not arguments[0].type.is_integer:
        raise Mismatch
    return (arguments[0], implicit(arguments[1], INT)), arguments[0].type


def _count_rule(arguments: Arguments) -> tuple[Arguments, Type]:
    return _integers(1)(arguments)[0], INT


def _shift(kernel: Callable[[Numbers, Numbers], Numbers]) -> Implementation:
    def shift(value: pa.Array, count: pa.Array) -> pa.Array:
        values = numbers(value)
        places = (numbers(count) & (values.itemsize * 8 - 1)).astype(values.dtype)
        return array_of(kernel(values, places), value.type, nulls(value) | nulls(count))

    return plain(shift)


def _unsigned_right(values: Numbers, places: Numbers) -> Numbers:
    unsigned = np.dtype(f"u{values.itemsize}")
    shifted: Numbers = np.right_shift(values.view(unsigned), places.astype(unsigned))
    return shifted.view(values.dtype)


def _bit_count(value: pa.Array) -> pa.Array:
    wide = numbers(value).astype(np.int64).view(np.uint64)
    return array_of(np.bitwise_count(wide).astype(np.int32), pa.int32(), nulls(value))


_TWO = "two integers"

FUNCTIONS = (
    Function(("bit_and",), _TWO, _integers(2), plain(pc.bit_wise_and)),
    Function(("bit_or",), _TWO, _integers(2), plain(pc.bit_wise_or)),
    Function(("bit_xor",), _TWO, _integers(2), plain(pc.bit_wise_xor)),
    Function(("bit_not",), "one integer", _integers(1), plain(pc.bit_wise_not)),
    Function(("bit_count",), "one integer", _count_rule, plain(_bit_count)),
    Function(("shiftleft",), "an integer and a number of places", _shifted, _shift(np.left_shift)),
    Function(("shiftright",), "an integer and a number of places", _shifted, _shift(np.right_shift)),
    Function(("shiftrightunsigned",), "an integer and a number of places", _shifted, _shift(_unsigned_right)),
)
