"""Rows that lie in the middle of an Arrow array are read as if they stood alone."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa

import sash

COLUMNS = "ts TIMESTAMP, i INT, b BIGINT, x DOUBLE, t BOOLEAN, s STRING, d DATE, small DECIMAL(10, 2), wide DECIMAL(30, 2)"


def row(number: int) -> tuple[object, ...]:
    if number % 5 == 4:
        return (datetime(2024, 1, 1, 0, 0, number), *[None] * 8)
    cents = Decimal(number) / 4
    return (
        datetime(2024, 1, 1, 0, 0, number), number, number << 40, number / 4, number % 3 == 0, f"name {number % 4}",
        date(2024, 1, 1 + number), cents, cents,
    )


def changes(pieces: list[pa.Table]) -> pa.Table:
    db = sash.connect()
    db.execute(f"CREATE STREAM a ({COLUMNS}) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT * FROM a [RANGE 3 SECONDS]")
    for piece in pieces:
        db.push("a", piece)
    db.end()
    return db.changes("v")


def test_slices_of_a_table() -> None:
    names = [column.split()[0] for column in COLUMNS.split(", ") if not column[0].isdigit() and column != "2)"]
    kinds = {"ts": pa.timestamp("us"), "i": pa.int32(), "d": pa.date32(), "small": pa.decimal128(10, 2), "wide": pa.decimal128(30, 2)}
    rows = [row(number) for number in range(20)]
    arrays = [pa.array(values, kinds.get(name)) for name, values in zip(names, zip(*rows, strict=True), strict=True)]
    whole = pa.Table.from_arrays(arrays, names=names)
    assert changes([whole.slice(start, 3) for start in range(0, 20, 3)]).equals(changes([pa.table(whole.to_pydict(), whole.schema)]))
