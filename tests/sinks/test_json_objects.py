"""Rows as JSON: what our own reader of JSON reads back is what was written."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sash.plan.streams import StreamSpec
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, array, decimal, schema
from sash.sinks.json_objects import fragments, objects
from sash.sources.messages import read_messages

KINDS: dict[Type, st.SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(), INT: st.integers(-(2**31), 2**31 - 1), BIGINT: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False, allow_infinity=False), STRING: st.text(max_size=6), TIMESTAMP: st.datetimes(),
    DATE: st.dates(), decimal(9, 3): st.decimals(-99999, 99999, places=3),
    array(BIGINT): st.lists(st.none() | st.integers(-5, 5), max_size=3), array(STRING): st.lists(st.none() | st.text(max_size=3), max_size=3),
}  # fmt: skip
COLUMNS = schema(*((f"c {place} \"", type_) for place, type_ in enumerate(KINDS)))
ROWS = st.lists(st.tuples(*(st.none() | values for values in KINDS.values())), max_size=5)


def texts(rows: list[tuple[Any, ...]]) -> list[bytes]:
    columns = zip(*rows, strict=True) if rows else [[] for _ in KINDS]
    table = pa.table([pa.array(column, type_.arrow) for column, type_ in zip(columns, KINDS, strict=True)], schema=COLUMNS.arrow)
    return objects(COLUMNS.names, fragments(COLUMNS, table).columns, len(rows))


@given(ROWS)
def test_what_is_written_is_read_back(rows: list[tuple[Any, ...]]) -> None:
    found = texts(rows)
    for text in found:
        assert list(json.loads(text)) == list(COLUMNS.names)
    spec = StreamSpec("s", COLUMNS, options=(("format", "kafka"), ("encoding", "json")))
    result = read_messages(spec, pa.array(found, pa.binary()), [])
    assert result.dead.num_rows == 0
    assert [tuple(row.values()) for row in result.batch.to_pylist()] == [tuple(row) for row in rows]


def test_what_json_has_no_number_for() -> None:
    doubles = pa.table({"d": pa.array([float("nan"), float("inf"), float("-inf"), -0.0, 1e300, 0.1, None])})
    values = [json.loads(text)["d"] for text in objects(["d"], fragments(schema(("d", DOUBLE)), doubles).columns, 7)]
    assert values == ["NaN", "Infinity", "-Infinity", 0, 1e300, 0.1, None]


def test_examples() -> None:
    row = (True, -1, 2, 0.5, 'a"\\\n\x00é', datetime(2026, 1, 1, 12), date(2026, 1, 1), Decimal("1.250"), [1, None], [])
    assert json.loads(texts([row])[0]) == dict(zip(
        COLUMNS.names, (True, -1, 2, 0.5, 'a"\\\n\x00é', "2026-01-01 12:00:00.000000", "2026-01-01", "1.250", [1, None], []), strict=True,
    ))  # fmt: skip
    assert objects([], [], 2) == [b"{}", b"{}"]
