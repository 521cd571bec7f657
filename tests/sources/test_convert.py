"""Pushed rows, in every shape."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from reading import letters, values

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Type, decimal, schema
from sash.sources import convert

SPEC = StreamSpec("conn", schema(("ts", TIMESTAMP), ("host", STRING), ("bytes", BIGINT)))
NOON = datetime(2013, 1, 1, 12)
ROWS = [(NOON, "a", 1), (NOON + timedelta(microseconds=1), None, None)]


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        [list(row) for row in ROWS],
        [{"ts": ROWS[0][0], "host": "a", "bytes": 1}, {"TS": ROWS[1][0]}],
        {"ts": np.array([row[0] for row in ROWS], "datetime64[ns]"), "host": ["a", None], "bytes": [1.0, None]},
        {"ts": ["2013-01-01 12:00:00", "2013-01-01T12:00:00.000001Z"], "host": ["a", None], "bytes": ("1", None)},
        pa.table({"bytes": pa.array([1, None], pa.int16()), "ts": [row[0] for row in ROWS], "host": ["a", None]}),
        pa.record_batch({"bytes": [1, None], "ts": [row[0] for row in ROWS], "host": ["a", None]}),
        pd.DataFrame({"ts": [row[0] for row in ROWS], "host": ["a", None], "bytes": [1, None]}),
        pd.DataFrame({"ts": [row[0].replace(tzinfo=UTC) for row in ROWS], "host": ["a", np.nan], "bytes": ["1", None]}),
    ],
    ids=["tuples", "lists", "dicts", "columns", "texts", "table", "batch", "frame", "odd frame"],
)
def test_every_shape(data: Any) -> None:
    result = convert(SPEC, data)
    assert result.batch.schema == SPEC.schema.arrow
    assert values(result) == ROWS
    assert letters(result) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (NOON, NOON),
        (NOON.replace(tzinfo=timezone(timedelta(hours=2))), datetime(2013, 1, 1, 10)),
        (date(2013, 1, 1), datetime(2013, 1, 1)),
        ("2013-01-01 12:00", NOON),
        ("1713484784.962686", datetime(2024, 4, 18, 23, 59, 44, 962_686)),
        (1713484784.962686, datetime(2024, 4, 18, 23, 59, 44, 962_686)),
        (Decimal("1713484784.962686"), datetime(2024, 4, 18, 23, 59, 44, 962_686)),
        (1713484784, datetime(2024, 4, 18, 23, 59, 44)),
        (np.datetime64("2013-01-01T12:00", "ns"), NOON),
        (pd.Timestamp("2013-01-01 12:00"), NOON),
        (None, None),
    ],
)
@pytest.mark.parametrize("neighbour", [NOON, "2013-01-01", 5, None, 1.5, date(2013, 1, 1), NOON.replace(tzinfo=UTC)])
def test_times_do_not_depend_on_their_neighbours(value: Any, expected: Any, neighbour: Any) -> None:
    result = convert(SPEC, [(value, "a", 1), (neighbour, "b", 2)])
    assert letters(result) == []
    assert values(result)[0] == (expected, "a", 1)
    assert values(result)[1] == values(convert(SPEC, [(neighbour, "b", 2)]))[0]


def test_every_type() -> None:
    spec = StreamSpec("s", schema(("b", BOOLEAN), ("x", DOUBLE), ("d", decimal(10, 2)), ("day", DATE)))
    rows = [(True, 1, 2, NOON.date()), (False, Decimal("1.5"), 2.25, datetime(2013, 1, 2)), (None,) * 4]
    result = convert(spec, rows)
    assert values(result) == [
        (True, 1.0, Decimal("2.00"), date(2013, 1, 1)),
        (False, 1.5, Decimal("2.25"), date(2013, 1, 2)),
        (None, None, None, None),
    ]
    assert letters(convert(spec, [(True, 1, 2, NOON)]))[0][2] == 'column "day": 2013-01-01 12:00:00 is not a DATE'


def test_integers_of_more_than_64_bits_are_decimals() -> None:
    spec = StreamSpec("s", schema(("d", decimal(38, 10))))
    result = convert(spec, [(1,), (2**64 - 2,), (-(2**70),), (10**28,)])
    assert [row[0] for row in values(result)] == [1, 2**64 - 2, -(2**70)]
    assert [row for row, _, _ in letters(result)] == [4]


@pytest.mark.parametrize("bad", ["12x", 1.5, True, [1], 2**70, float("nan"), {"x": 1}, NOON, object()])
@pytest.mark.parametrize("neighbour", [7, None, "7", 7.0, Decimal(7)])
def test_a_value_of_the_wrong_type_is_a_dead_letter(bad: Any, neighbour: Any) -> None:
    result = convert(SPEC, [(NOON, "a", neighbour), (NOON, "b", bad), (NOON, "c", neighbour)])
    assert [row[:2] for row in values(result)] == [(NOON, "a"), (NOON, "c")]
    ((row, line, reason),) = letters(result)
    assert row == 2
    assert '"host": "b"' in line
    assert reason.startswith('column "bytes": ') and reason.endswith(" is not a BIGINT")


def test_tuples_of_another_length() -> None:
    result = convert(SPEC, [(NOON, "a", 1), (NOON, "b"), (NOON, "c", "x"), (NOON, "d", 4, 5)])
    assert [row[1] for row in values(result)] == ["a"]
    assert [(row, reason) for row, _, reason in letters(result)] == [
        (2, "2 values where 3 are expected"),
        (3, 'column "bytes": "x" is not a BIGINT'),
        (4, "4 values where 3 are expected"),
    ]


@pytest.mark.parametrize("data", [[], {}, {"ts": []}, pa.table({"host": pa.array([], pa.string())}), pd.DataFrame()])
def test_nothing(data: Any) -> None:
    result = convert(SPEC, data)
    assert result.batch.schema == SPEC.schema.arrow
    assert len(result.batch) == 0


@pytest.mark.parametrize("shape", [lambda columns: [dict.fromkeys(columns, 1)], dict, pa.table, pd.DataFrame])
def test_an_unknown_column(shape: Any) -> None:
    with pytest.raises(SashError, match='unknown column "prize" in stream "conn"; columns are: ts, host, bytes'):
        convert(SPEC, shape({"prize": [1]}))


def test_a_column_that_makes_no_sense_in_arrow() -> None:
    with pytest.raises(SashError, match=r'column "bytes" of the rows pushed to "conn" has the type list'):
        convert(SPEC, pa.table({"bytes": [[1]]}))


@pytest.mark.parametrize("data", [5, "x", None, [5], ["ab"], {"ts": 5}, {"ts": "x"}])
def test_a_shape_that_is_none(data: Any) -> None:
    with pytest.raises(SashError, match='stream "conn"'):
        convert(SPEC, data)


def test_columns_of_different_lengths() -> None:
    with pytest.raises(SashError, match="different lengths"):
        convert(SPEC, {"ts": [NOON], "bytes": [1, 2]})


def test_a_frame_of_mixed_values() -> None:
    frame = pd.DataFrame({"ts": [NOON, NOON, NOON], "bytes": [1, "x", np.nan]})
    result = convert(SPEC, frame)
    assert [row[2] for row in values(result)] == [1, None]
    assert [row for row, _, _ in letters(result)] == [2]


class Unfriendly:
    """A value that fails whatever it is asked."""

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


ODD = {
    "half a surrogate pair": "\ud800", "infinite": Decimal("Infinity"), "signalling": Decimal("sNaN"), "huge": 10**5_000, "an object": Unfriendly(),
    "a moment of numpy": np.datetime64("2024-01-01", "D"), "a mapping": {(1, 2): 3}, "an exponent": "1e99999999999999999999999999",
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("type_", [TIMESTAMP, BIGINT, DOUBLE, BOOLEAN, DATE, decimal(10, 2)], ids=str)
def test_a_value_that_pyarrow_cannot_look_at_is_a_dead_letter(type_: Type, odd: Any) -> None:
    spec = StreamSpec("s", schema(("n", BIGINT), ("x", type_)))
    for rows in ([(1, odd), (2, None)], [{"n": 1, "x": odd}, {"n": 2}], [(1, odd, 5), (2, None)]):
        result = convert(spec, rows)
        kept = [row["n"] for row in result.batch.to_pylist()]
        assert kept in ([2], [1, 2])  # numpy's day is a DATE, and so may a huge number be a DOUBLE
        assert len(result.dead) == 2 - len(kept)


@pytest.mark.parametrize("rows", [
    pa.table([["x"], [1], [2]], names=["name", "n", "N"]), pa.table([[1], [2]], names=["n", "n"]),
    pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"]), {"n": [1], "N": [2]},
    pd.DataFrame([[1, 2]], columns=["n", "n"]), pd.DataFrame([[1, 2]], columns=["n", "N"]),
])  # fmt: skip
def test_a_column_that_comes_twice_is_refused(rows: Any) -> None:
    """One of the two was taken without a word, or it was a KeyError of Arrow's."""
    spec = StreamSpec("s", schema(("name", STRING), ("n", BIGINT)))
    with pytest.raises(SashError, match='the rows pushed to "s" have column "n" twice'):
        convert(spec, rows)
