"""Few rows of Python values become the lanes that they would become by way of columns, or are left to it."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as some

import sash
from sash.deltas import Layout
from sash.plan.streams import StreamSpec
from sash.runtime.few_rows import FEW, FewRows
from sash.schema import Field, Kind, Schema, Type
from sash.sources.convert import convert
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import encode

KINDS = (Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.STRING, Kind.TIMESTAMP, Kind.DATE)
SCHEMA = Schema(tuple(Field(kind.name.lower(), Type(kind)) for kind in KINDS))
SPEC = StreamSpec("s", SCHEMA)

VALUES = some.one_of(
    some.none(), some.booleans(), some.integers(), some.integers(-5, 5), some.floats(), some.text(max_size=3), some.dates(),
    some.datetimes(), some.datetimes(timezones=some.just(UTC)), some.decimals(allow_nan=False), some.binary(max_size=2),
    some.sampled_from([
        "2024-01-31 12:30:00", "2024-01-31 12:30:00.250000", "2024-01-31T12:30:00", "2024-02-30 00:00:00", "2024-W01-1 00:00:00",
        "2024-01-31 24:00:00", "2024-01-31 23:59:60", "0000-01-01 00:00:00", "2024-01-31 12:30:00.25000x", "٢024-01-31 12:30:00", "7",
        "2024-01-31T12:30:00.5", "2024-01-31T12:30:00.250", "2024-01-31 12:30:00.25Z", "2024-01-31T12:30:00Z", "2024-01-31-12:30:00",
        0.0000005, 0.0000015, 1e-6, 1.1, 1700000000.123457, 9e9, 9007199254, 9007199255, -9007199254.000001, 1e300, math.inf,
        -0.0, 2**53 + 1, 2**63, "\ud800",
    ]),
)
ROW = some.tuples(*(VALUES for _ in KINDS))


@given(some.lists(ROW, min_size=1, max_size=4))
@example([(None,) * 7])
@example([(True, 1, 1, 1, "a", "2024-01-31 12:30:00", date(1, 1, 1)), (False, -1, -1, -0.0, "", datetime(1, 1, 1), None)])
@example([(True, 1, 1, math.nan, "a", datetime.max, date.max)])
@example([(True, 1, 1, struct.unpack("d", struct.pack("q", -1))[0], "a", datetime.max, date.max)])
def test_lanes_are_those_of_columns(rows: list[tuple[Any, ...]]) -> None:
    interner = Interner(Arena.anonymous())
    found = FewRows(Layout(SCHEMA), interner).read(rows)
    if found is not None:
        read = convert(SPEC, rows)
        assert read.dead.num_rows == 0
        assert np.array_equal(found, encode(read.batch.columns, Layout(SCHEMA), interner))


@given(some.lists(some.one_of(some.integers(-10**10, 10**10), some.floats(-1e10, 1e10), some.floats(-10, 10)), min_size=1, max_size=4))
def test_numbers_are_seconds(seconds: list[float]) -> None:
    schema, interner = Schema((Field("at", Type(Kind.TIMESTAMP)),)), Interner(Arena.anonymous())
    found, rows = FewRows(Layout(schema), interner).read([(one,) for one in seconds]), [(one,) for one in seconds]
    assert (found is None) == any(abs(one) >= 2**53 // 10**6 for one in seconds)
    if found is not None:
        assert np.array_equal(found, encode(convert(StreamSpec("s", schema), rows).batch.columns, Layout(schema), interner))


def test_dicts_are_rows_too_and_a_missing_key_is_null() -> None:
    interner = Interner(Arena.anonymous())
    few, rows = FewRows(Layout(SCHEMA), interner), [{"bigint": 3, "string": "x"}, {}]
    found = few.read(rows)
    assert found is not None
    assert np.array_equal(found, encode(convert(SPEC, rows).batch.columns, Layout(SCHEMA), interner))


PLAIN = (True, 1, 1, 1.5, "a", datetime(2024, 1, 1), date(2024, 1, 1))


@pytest.mark.parametrize(
    "rows",
    [
        [PLAIN] * (FEW + 1), [], PLAIN, [PLAIN[:-1]], [{"Bigint": 1}], [{"other": 1}], ["a"], [(*PLAIN[:1], 2**31, *PLAIN[2:])],
        [(*PLAIN[:2], 2**63, *PLAIN[3:])], [(*PLAIN[:2], True, *PLAIN[3:])], [(*PLAIN[:2], Decimal(1), *PLAIN[3:])],
        [(*PLAIN[:5], datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1))), PLAIN[6])],
    ],
)
def test_what_is_not_plain_is_left_to_columns(rows: object) -> None:
    assert FewRows(Layout(SCHEMA), Interner(Arena.anonymous())).read(rows) is None


def test_a_row_at_a_time_gives_what_all_at_once_give() -> None:
    rows = [(datetime(2024, 1, 1) + timedelta(seconds=n), f"k{n % 7}", n if n % 5 else None) for n in range(500)]
    rows += [("2024-01-01 00:00:01", "late", 1), ("2024-01-01 00:20:00.000001", "a", 2), ("not a time", "b", 3), (None, "c", 4)]

    def answers(size: int) -> dict[str, Any]:
        db = sash.connect(history="all")
        db.execute(
            "CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 2 SECONDS;"
            "CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS c, SUM(v) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
        )
        with pytest.warns(sash.errors.LateRowsWarning):
            for start in range(0, len(rows), size):
                db.push("s", rows[start : start + size])
        found = {"answer": db.view("v").to_pylist(), "late": db.late("s").to_pylist(), "dead": db.dead("s").num_rows}
        db.end()
        return found | {"changes": db.changes("v").to_pylist()}

    assert answers(1) == answers(3) == answers(len(rows))
