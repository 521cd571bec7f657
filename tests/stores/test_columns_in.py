"""Batches that are read in one pass give the lanes that columns read one by one give."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash.deltas import Layout
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Schema, array, decimal, schema
from sash.stores.arena import Arena
from sash.stores.columns_in import ColumnsIn
from sash.stores.interner import Interner
from sash.stores.lanes import encode

EVERY = schema(
    ("b", BOOLEAN), ("i", INT), ("n", BIGINT), ("x", DOUBLE), ("t", TIMESTAMP), ("d", DATE), ("s", STRING),
    ("small", decimal(9, 2)), ("large", decimal(30, 2)), ("l", array(BIGINT)),
)
VALUES: list[list[Any]] = [
    [True, False, None], [-(2**31), 2**31 - 1, None], [-(2**63), 2**63 - 1, None], [-0.0, float("nan"), -1.5, float("inf"), None],
    [datetime(1969, 12, 31), datetime(2024, 1, 31, 12, 30, 0, 250), None], [date(1960, 1, 1), date(2024, 1, 31), None],
    ["", "ann", None], [Decimal("-1.25"), None], [Decimal("-12345678901234567890.25"), None], [[], [1, None], None],
]


def batch_of(kind: Schema, values: list[list[Any]], rows: int, seed: int, *, has_nulls: bool) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    kept = [[value for value in column if has_nulls or value is not None] for column in values]
    columns = [[column[random.integers(len(column))] for _ in range(rows)] for column in kept]
    arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, kind.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=kind.arrow)


@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("cut", [(0, 40), (3, 17), (9, 1), (40, 0)])
def test_same_lanes(cut: tuple[int, int], has_nulls: bool) -> None:
    batch = batch_of(EVERY, VALUES, 40, sum(cut), has_nulls=has_nulls).slice(*cut)
    layout, interner = Layout(EVERY), Interner(Arena.anonymous())
    expected = encode(batch.columns, layout, interner)
    assert np.array_equal(ColumnsIn(layout, interner).read(batch), expected)


def test_many_columns_have_several_masks() -> None:
    wide = schema(*((f"c{place}", BIGINT) for place in range(70)))
    batch = batch_of(wide, [[1, -1, None]] * 70, 20, 1, has_nulls=True)
    layout, interner = Layout(wide), Interner(Arena.anonymous())
    assert np.array_equal(ColumnsIn(layout, interner).read(batch), encode(batch.columns, layout, interner))


def test_nothing_stays_exported() -> None:
    layout, before = Layout(EVERY), pa.total_allocated_bytes()
    columns = ColumnsIn(layout, Interner(Arena.anonymous()))
    for seed in range(20):
        columns.read(batch_of(EVERY, VALUES, 1000, seed, has_nulls=True))
    assert pa.total_allocated_bytes() <= before + 1000
