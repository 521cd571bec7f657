"""A checkpoint keeps the number of its shards, unless somebody asks for another, who is told. (Played without a JVM.)"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from without_spark import connected

from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(v) AS v FROM s [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM s [RANGE 7 SECONDS];
"""
PARTS = [[(second, f"k{second % 4}", second) for second in range(first, first + 9)] for first in range(1, 28, 9)]


def put(folder: Path, number: int) -> None:
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{number}.csv").write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in PARTS[number]))


def test_a_checkpoint_keeps_its_number_of_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is gone on with: what machine this is, nobody asks there, as there is no Spark."""
    for number, shards in enumerate([3, None, None]):
        put(tmp_path, number)
        db = connected(monkeypatch, tmp_path, JOB, shards=shards, flush=number == 2)
        db.run()
        assert db._running().job.shards == 3
        db.close()
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB)
    embedded.run()
    for name in ("sums", "total"):
        found = from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet"))
        assert_same(from_arrow(embedded.changes(name)), found)


def test_another_number_of_shards_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0)
    db = connected(monkeypatch, tmp_path, JOB, shards=2, flush=False)
    db.run()
    db.close()
    with pytest.raises(SashError, match="has 2 shards, the job 7; run with --shards 2, or leave it out"):
        connected(monkeypatch, tmp_path, JOB, shards=7).run()
