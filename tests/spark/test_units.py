"""A DataFrame that tells no positions: the rows of a batch are one unit, however Spark has cut it into tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from without_spark import PlayedFrame, connected, query_of

from sash.database.on_spark import SparkDatabase
from sash.sources.convert import convert
from sash.testing.tables import from_arrow

STREAM = "CREATE STREAM e (ts TIMESTAMP, k BIGINT, name STRING) TIMESTAMP BY ts DELAY 2 SECONDS;"
VIEWS = """
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW last AS SELECT * FROM e [ROWS 3];
"""
Row = tuple[float, int, str | None]


def task(db: SparkDatabase, rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_batches([convert(db.catalog.streams["e"], rows).batch])


def played(
    monkeypatch: pytest.MonkeyPatch, folder: Path, batches: Sequence[Sequence[Sequence[Row]]], shards: int = 2, crash: bool = False
) -> tuple[dict[str, list[object]], list[object]]:
    """The changelogs, and the late rows, of a stream of batches of tasks."""
    db = connected(monkeypatch, folder, STREAM + VIEWS, shards)
    db.stream("e", PlayedFrame(*([task(db, rows) for rows in batch] for batch in batches)))  # type: ignore[arg-type]
    if crash:
        db.start()
        query_of(db).crash = (1, shards - 1)
        try:
            query_of(db).processAllAvailable()
        except Exception:
            db.stop()
    db.run()
    found = {view: log(folder / "out" / f"{view}.changes.parquet") for view in ("counts", "last")}
    late = pq.read_table(folder / "out" / "e.late.parquet").to_pylist() if (folder / "out" / "e.late.parquet").exists() else []
    db.close()
    return found, sorted(late, key=str)


def log(folder: Path) -> list[object]:
    tables = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    changes = from_arrow(pa.concat_tables(tables))
    return sorted(((change.ts, change.op, change.row) for change in changes), key=repr)


def random_batches(chance: random.Random, count: int) -> list[list[Row]]:
    """Rows at random in time, later batches later; many at one instant, some equal."""
    return [
        [(batch * 3 + chance.randrange(0, 32) / 4, chance.randrange(3), chance.choice(["a", "b", None])) for _ in range(12)]
        for batch in range(count)
    ]


def cut(chance: random.Random, rows: Sequence[Row]) -> list[list[Row]]:
    """The same rows in tasks, in any order."""
    mixed, tasks = chance.sample(rows, len(rows)), chance.randrange(1, 5)
    return [mixed[place::tasks] for place in range(tasks)]


@pytest.mark.parametrize("seed", range(6))
def test_how_a_batch_is_cut_into_tasks_does_not_show(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    batches = random_batches(chance, 5)
    expected, late = played(monkeypatch, tmp_path / "one", [[rows] for rows in batches], shards=1)
    assert late == sorted((_row(db_row) for db_row in late_rows(batches, 2)), key=str)
    assert late
    for way in range(2):
        other = played(
            monkeypatch, tmp_path / f"way{way}", [cut(chance, rows) for rows in batches], shards=1 + way, crash=way == 1
        )
        assert other == (expected, late)


def late_rows(batches: Sequence[Sequence[Row]], delay: float) -> list[Row]:
    """Those below the greatest timestamp of the batches before, less the delay."""
    found, greatest = [], float("-inf")
    for batch in batches:
        found += [row for row in batch if row[0] < greatest - delay]
        greatest = max([greatest, *(row[0] for row in batch)])
    return found


def _row(row: Row) -> dict[str, object]:
    return {"ts": datetime(1970, 1, 1) + timedelta(seconds=row[0]), "k": row[1], "name": row[2]}


def test_rows_of_a_second_task_are_not_late_because_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `rate` gives them: every task its own part of each batch's time, the second one's all before the first one's end."""
    batches = [[[(t, 0, "even"), (t + 8, 0, "even")], [(t, 1, "odd"), (t + 7, 1, "odd")]] for t in range(0, 100, 10)]
    _, late = played(monkeypatch, tmp_path, batches)
    assert late == []
