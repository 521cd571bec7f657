"""Arrays from files and programs: their elements are read as columns are, and one bad element makes its row a dead letter."""

from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import Files, letters, values

import sash
from sash.errors import SashError
from sash.schema import BIGINT, DATE, INT, STRING, TIMESTAMP, array, schema

ROW = schema(("n", array(BIGINT)), ("d", array(DATE)), ("t", array(TIMESTAMP)), ("w", array(array(STRING))))
GOOD = (
    '{"n": [1, null, 3], "d": ["2013-01-01"], "t": ["2013-01-01 05:15:00", null], "w": [["a"], [], null]}\n'
    '{"n": [], "w": null}\n'
)
VALUES = [
    ([1, None, 3], [date(2013, 1, 1)], [datetime(2013, 1, 1, 5, 15), None], [["a"], [], None]),
    ([], None, None, None),
]


@pytest.mark.parametrize("stumble", ["", '{"n": "none"}\n', '{"n": [1, "x"]}\n', '{"n": [1.5]}\n'])
def test_json(files: Files, stumble: str) -> None:
    files.write("a.jsonl", GOOD + stumble)
    result = files.read(files.spec("a.jsonl", ROW))
    assert values(result) == VALUES
    assert len(letters(result)) == bool(stumble)


def test_parquet_of_other_types(files: Files) -> None:
    given = pa.table({"a": pa.array([[1, None], [2**40], None], pa.large_list(pa.int64()))})
    pq.write_table(given, files.write("a.parquet", ""))
    result = files.read(files.spec("a.parquet", schema(("a", array(INT)))))
    assert values(result) == [([1, None],), (None,)]
    assert [reason for _, _, reason in letters(result)] == ['column "a": [1099511627776] is not an ARRAY<INT>']


def test_pushed_rows() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, a ARRAY<INT>) TIMESTAMP BY ts")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT a FROM s")
    db.push("s", [(1, [1, None]), (2, ()), (3, None), (4, ["x"]), (5, 7)])
    db.push("s", pa.table({"ts": [6], "a": pa.array([[5]], pa.list_(pa.int8()))}))
    assert db.view("v").to_arrow().column("a").to_pylist() == [[], [1, None], [5], None]
    assert db.dead("s").num_rows == 2


def test_csv_has_no_arrays(files: Files) -> None:
    files.write("a.csv", "1\n")
    with pytest.raises(SashError, match='CSV has no arrays, but column "a" is ARRAY<INT>'):
        files.read(files.spec("a.csv", schema(("a", array(INT)))))
