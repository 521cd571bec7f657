"""Values that typed messages carry, made into Arrow arrays many at once; beside each array, which of its values are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.errors import SashError
from sash.scalar.arrays import Mask, array_of
from sash.schema import BEGINNING, END, SECOND

DAY = 86_400 * SECOND
WIDEST = 38  # digits of a DECIMAL

Given = Sequence[Any]
Made = tuple[pa.Array, Mask]


def whole(made: pa.Array) -> Made:
    """An array whose values are all good."""
    return made, np.zeros(len(made), np.bool_)


def as_text(values: Given) -> pa.Array:
    """Bytes as text, which whoever takes them looks at: are they UTF-8?"""
    made = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(made), made.buffers(), offset=made.offset)


def instants(values: Given, micros: int = 1, parts: int = 1) -> Made:
    """Integers that count units of so many microseconds, or parts of one, since the epoch."""
    numbers, missing = _numbers(values)
    numbers = numbers // parts
    too_far = (numbers >= END // micros) | (numbers < BEGINNING // micros)
    return array_of(np.where(too_far, 0, numbers) * micros, pa.timestamp("us"), missing | too_far), too_far & ~missing


def dates(values: Given) -> Made:
    """Integers that count days since the epoch."""
    numbers, missing = _numbers(values)
    too_far = (numbers >= END // DAY) | (numbers < BEGINNING // DAY)
    return array_of(np.where(too_far, 0, numbers), pa.date32(), missing | too_far), too_far & ~missing


def _numbers(values: Given) -> tuple[Int64s, Mask]:
    made = pa.array(values, pa.int64())
    return np.asarray(made.fill_null(0)), np.asarray(made.is_null())


def decimals(values: Given, scale: int) -> Made:
    """Numbers without their point in two's complement, the greatest byte first; one of more digits than a DECIMAL has is none."""
    if scale > WIDEST:
        raise SashError(f"a decimal of scale {scale} is no value")
    numbers = [0 if one is None else int.from_bytes(one, "big", signed=True) for one in values]
    missing = np.array([one is None for one in values], np.bool_)
    failed = np.array([abs(one) >= 10**WIDEST for one in numbers], np.bool_)
    data = b"".join((0 if gone else one).to_bytes(16, "little", signed=True) for one, gone in zip(numbers, failed, strict=True))
    buffers = [pa.array(~(missing | failed)).buffers()[1], pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.decimal128(WIDEST, scale), len(numbers), buffers), failed
