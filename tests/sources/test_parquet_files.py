"""Parquet: row groups, names, and types that are not quite the declared ones."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import Files, letters, values

from sash.errors import SashError
from sash.schema import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal, schema
from sash.sources import splits as splits_module

PAIR = schema(("name", STRING), ("n", BIGINT))


def write(files: Files, name: str, table: pa.Table, row_group_size: int | None = None) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=row_group_size)
    files.write(name, sink.getvalue().to_pybytes())


def numbered(start: int, stop: int) -> pa.Table:
    return pa.table({"n": list(range(start, stop)), "name": [f"x{n}" for n in range(start, stop)]})


@pytest.mark.parametrize("rows", [None, 1, 7, 10, 1000])
@pytest.mark.parametrize("size", [1, 50, 1 << 20])
def test_any_piece_gives_the_same_rows(
    files: Files, rows: int | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits_module, "PARQUET_SPLIT", size)
    write(files, "a.parquet", numbered(0, 35), 10)
    write(files, "b.parquet", numbered(35, 35))
    write(files, "c.parquet", numbered(35, 60), 10)
    spec = files.spec("*.parquet", PAIR)
    assert values(files.read(spec, rows)) == [(f"x{n}", n) for n in range(60)]
    if rows is None:
        assert [split.rows for split in files.splits(spec)] == ([35, 25] if size > 50 else [10, 10, 10, 5, 10, 10, 5])


def test_a_byte_limit_stops_between_groups(files: Files) -> None:
    write(files, "a.parquet", numbered(0, 30), 10)
    spec = files.spec("a.parquet", PAIR)
    assert values(files.read(spec, None, 1)) == values(files.read(spec))
    assert [split.rows for split in files.splits(spec, None, 1)] == [10, 10, 10]


def test_types_that_mean_the_same(files: Files) -> None:
    columns = schema(
        ("l", BIGINT), ("x", DOUBLE), ("d", decimal(10, 2)), ("s", STRING), ("t", TIMESTAMP), ("u", TIMESTAMP),
        ("day", DATE),
    )  # fmt: skip
    noon = datetime(2013, 1, 1, 12)
    table = pa.table(
        {
            "L": pa.array([1, None], pa.int32()),
            "x": pa.array([1.5, None], pa.float32()),
            "d": pa.array([Decimal("1.5"), None], pa.decimal128(5, 1)),
            "s": pa.array(["a", None]).dictionary_encode(),
            "t": pa.array([noon, None], pa.timestamp("ns")),
            "u": pa.array([noon, None], pa.timestamp("ms", "Europe/Paris")),
            "day": pa.array([date(2013, 1, 1), None], pa.date32()),
        }
    )
    write(files, "a.parquet", table)
    row = (1, 1.5, Decimal("1.50"), "a", noon, noon, date(2013, 1, 1))
    assert values(files.read(files.spec("a.parquet", columns))) == [row, (None,) * 7]


def test_values_that_do_not_fit_are_dead_letters(files: Files) -> None:
    table = pa.table({"i": pa.array([1, 2**40, None, 3]), "t": ["2013-01-01", "5", "x", None]})
    write(files, "a.parquet", table)
    result = files.read(files.spec("a.parquet", schema(("i", INT), ("t", TIMESTAMP))), 2)
    assert values(result) == [(1, datetime(2013, 1, 1)), (3, None)]
    assert letters(result) == [
        (2, '{"i": 1099511627776, "t": "5"}', 'column "i": 1099511627776 is not an INT'),
        (3, '{"i": null, "t": "x"}', 'column "t": "x" is not a TIMESTAMP'),
    ]


@pytest.mark.parametrize(
    "values_", [pa.array([[1]]), pa.array(["x"]).cast(pa.binary()), pa.array([True]), pa.array([date(2013, 1, 1)])]
)
def test_a_type_that_makes_no_sense(files: Files, values_: pa.Array) -> None:
    write(files, "a.parquet", pa.table({"n": values_, "name": ["x"]}))
    with pytest.raises(SashError, match=r'column "n" of ".*a.parquet" has the type .*, which is no BIGINT'):
        files.read(files.spec("a.parquet", PAIR))


def test_a_missing_column(files: Files) -> None:
    write(files, "a.parquet", pa.table({"m": [1], "name": ["x"]}))
    with pytest.raises(SashError, match='has no column "n"; its columns are: m, name'):
        files.read(files.spec("a.parquet", PAIR))


def test_what_is_no_parquet(files: Files) -> None:
    files.write("a.parquet", "name,n\n")
    with pytest.raises(SashError, match="cannot read"):
        files.read(files.spec("a.parquet", PAIR))
