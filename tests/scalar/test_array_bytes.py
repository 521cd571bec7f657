"""The bytes of arrays: they come back as they were, and have the order of the arrays."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal as D
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.scalar.array_bytes import from_bytes, to_bytes
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, array, decimal

# In their order.
VALUES: dict[Type, list[Any]] = {
    BOOLEAN: [None, False, True],
    INT: [None, -(2**31), -1, 0, 2**31 - 1],
    BIGINT: [None, -(2**63), 0, 2**63 - 1],
    DOUBLE: [None, -math.inf, -1.5, -1e-300, 0.0, 1e-300, 1e300, math.inf],
    decimal(10, 2): [None, D("-1.50"), D("0.00"), D("99999999.99")],
    decimal(38, 0): [None, D(-(10**37)), D(-(2**64)), D(-1), D(0), D(1), D(2**64), D(10**37)],
    STRING: [None, "", "\0", "\0\1", "a", "a\0", "ab", "b", "\xff"],
    TIMESTAMP: [None, datetime(1, 1, 1), datetime(1970, 1, 1), datetime(2024, 1, 1)],
    DATE: [None, date(1969, 1, 1), date(2024, 1, 1)],
    array(STRING): [None, [], [None], ["a"], ["a", None], ["a", ""], ["b"]],
}


@pytest.mark.parametrize("element", VALUES, ids=str)
def test_there_and_back_and_in_order(element: Type) -> None:
    values = VALUES[element]
    rows = [[], *([value] for value in values), *(list(pair) for pair in product(values, values))]
    given = pa.array([None, *sorted(rows, key=lambda row: [values.index(value) for value in row])], array(element).arrow)
    for part in (given, given[3:-1], given[:0], given[:1]):
        written, null = to_bytes(part), np.asarray(part.is_null())
        back = from_bytes(written, array(element), null if null.any() else None)
        back.validate(full=True)
        assert back.equals(part)
    found = to_bytes(given).to_pylist()[1:]
    assert found == sorted(found) and len(set(found)) == len(found)


def test_zeros_and_nans_are_one() -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    given = pa.array([[0.0], [-0.0], [bits[0]], [bits[1]]], pa.list_(pa.float64()))
    first, second, third, fourth = to_bytes(given).to_pylist()
    assert first == second < third == fourth
