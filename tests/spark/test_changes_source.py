"""Readers of changes go by the number of the batch: whatever is merged or forgotten meanwhile, nothing is lost or repeated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from test_outputs import embedded, embedded_answer, in_order, often, played, settled
from without_spark import query_of

from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.runtime.packets import changes_schema
from sash.spark.changes_source import ChangesReader

assert often  # a fixture


def schema_of(db: SparkDatabase) -> pa.Schema:
    return changes_schema(db._running().job.view("a").schema)


class Reader:
    """A streaming query over the changes of a view, with a checkpoint of its own."""

    def __init__(self, db: SparkDatabase) -> None:
        self.offset: dict[str, Any] = {"batch": None}
        self.rows: list[dict[str, Any]] = []
        self.connect(db)

    def connect(self, db: SparkDatabase) -> None:
        schema = from_arrow_schema(schema_of(db), prefer_timestamp_ntz=True)
        changelog = db._running().ledger.changelog("a.changes.parquet")
        self._reader = ChangesReader(changelog.to_text(), schema)

    def step(self) -> list[dict[str, Any]]:
        end = self._reader.latestOffset(self.offset, None)  # type: ignore[arg-type]
        partitions = self._reader.partitions(self.offset, end)
        came = [row for one in partitions for batch in self._reader.read(one) for row in batch.to_pylist()]
        self.offset, self.rows = end, self.rows + came
        return came


@pytest.mark.usefixtures("often")
def test_readers_at_any_pace_get_every_change_once_while_files_are_merged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(2))
    readers = [Reader(db) for _ in range(4)]
    for number in range(2, 40):
        played(monkeypatch, tmp_path, range(number, number + 1), db)
        if number == 20:
            db.close()
            db = played(monkeypatch, tmp_path, range(0))
            for reader in readers:
                reader.connect(db)
        for pace, reader in enumerate(readers[:3]):
            if number % (1 + 5 * pace) == 0:
                reader.step()
    settled(db)
    expected = in_order(embedded(range(40)))
    for reader in readers:
        reader.step()
        assert reader.step() == []
        assert in_order(pa.Table.from_pylist(reader.rows)) == expected
        instants = [row["_ts"] for row in reader.rows]
        assert instants == sorted(instants)
    db.close()


def summed(rows: list[dict[str, Any]]) -> Counter[str]:
    """What the changes add up to, after the last row that says to forget all before."""
    starts = [place for place, row in enumerate(rows) if row["_op"] == 0]
    net: Counter[str] = Counter()
    for row in rows[starts[-1] + 1 if starts else 0 :]:
        net[repr({name: value for name, value in row.items() if name not in ("_op", "_ts")})] += row["_op"]
    return Counter({row: count for row, count in net.items() if count})


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("history", ["30 SECONDS", "none", "12 KB"])
def test_a_reader_older_than_the_history_gets_the_answer_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, history: str) -> None:
    db = played(monkeypatch, tmp_path, range(3), history=history, shards=1)
    slow = Reader(db)
    slow.step()
    played(monkeypatch, tmp_path, range(3, 60), db)
    settled(db)
    new = Reader(db)
    answer = Counter(map(repr, db._running().final("a").to_pylist()))
    for reader in (slow, new):
        came = reader.step()
        assert summed(reader.rows) == answer
        assert len(came) < embedded(range(60)).num_rows // 2
        assert (came[0]["_op"] == 0) is (reader is slow)
        assert set(came[0]) - {"_op", "_ts"} == {"k", "n", "v"}
        instants = [row["_ts"] for row in came]
        assert instants == sorted(instants)
        assert {row["_op"] for row in came if row["_ts"] == instants[0]} <= {0, 1}
    db.close()


@pytest.mark.usefixtures("often")
def test_a_bounded_history_keeps_bytes_and_files_flat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(1), history="1 MINUTE", shards=1)
    sizes, counts = [], []
    for number in range(1, 100):
        played(monkeypatch, tmp_path, range(number, number + 1), db)
        settled(db)
        places = [path for name in ("out", "point/manifest") for path in (tmp_path / name).rglob("*") if path.is_file()]
        sizes.append(sum(path.stat().st_size for path in places))
        counts.append(len(places))
    assert max(counts[66:]) <= max(counts[33:66]) + 2 and max(sizes[66:]) <= 1.1 * max(sizes[33:66])
    assert query_of(db) and db.view("a").to_pylist() == embedded_answer(100)
    db.close()
    again = played(monkeypatch, tmp_path, range(100, 102), history="1 MINUTE", shards=1)
    assert again.view("a").to_pylist() == embedded_answer(102)
    again.close()


def test_a_task_whose_changes_are_forgotten_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, often: None) -> None:
    db = played(monkeypatch, tmp_path, range(3), history="none", shards=1)
    changelog = db._running().ledger.changelog("a.changes.parquet")
    (piece,) = changelog.pieces(None, 2)
    played(monkeypatch, tmp_path, range(3, 30), db)
    settled(db)
    with pytest.raises(SashError, match=r"up to batch \d+ are not kept any more; read it again"):
        list(changelog.read(piece, schema_of(db)))
    db.close()
