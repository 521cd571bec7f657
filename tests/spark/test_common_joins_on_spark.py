"""On Spark, views move onto common joins and off them while they run, also over a restart, and nothing of it shows."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sash.database import replan
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.planner.choose import CommonChoice
from sash.planner.join_sharing import Common, JoinSharing, Own
from sash.spark.trials import has_trials
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k INT, v INT) TIMESTAMP BY ts;" for name in "sr")
JOINED = "FROM s [RANGE 4 SECONDS] a JOIN r [RANGE 4 SECONDS] b ON a.k = b.k"
VIEWS = {
    "one": f"SELECT a.k, a.v {JOINED} WHERE a.v = 1",
    "two": f"SELECT a.k, b.v {JOINED} WHERE a.v > 1 AND b.v < 3",
    "both": f"SELECT b.v, COUNT(*) AS n {JOINED} WHERE a.v <> 2 GROUP BY b.v",
}
SQL = "".join(f"CREATE MATERIALIZED VIEW {name} AS {sql};" for name, sql in VIEWS.items())
PARTS = 12


def rows(number: int, stream: str) -> list[tuple[int, int, int]]:
    chance = random.Random(f"{number}{stream}")
    return [(second, chance.randrange(3), chance.randrange(4)) for second in range(4 * number, 4 * number + 4) for _ in range(3)]


def put(folder: Path, number: int) -> None:
    for stream in "sr":
        (folder / stream).mkdir(exist_ok=True)
        hidden = folder / stream / f".{number}"
        hidden.write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in rows(number, stream)))
        hidden.rename(folder / stream / f"{number}.csv")


def connected(spark: SparkSession, folder: Path) -> SparkDatabase:
    db = SparkDatabase(spark, checkpoint=folder / "point", output=folder / "out", shards=2, base=folder)
    db.execute("".join(one.replace(";", f" WITH (format = 'csv', path = '{name}');") for one, name in declared()))
    db.execute(SQL)
    db._running()
    return db


def declared() -> list[tuple[str, str]]:
    return [(f"{one};", name) for one, name in zip(STREAMS.split(";"), "sr", strict=False)]


def test_views_move_above_and_below(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = iter([True, False, True, True, False] * PARTS)

    def where(self: JoinSharing, here: Common) -> list[Own]:
        return list(here.own.values()) if next(turns) else []

    monkeypatch.setattr(JoinSharing, "where", where)
    for place, value in (("FIRST", 7), ("LAST", 7), ("better", lambda *_: None)):
        monkeypatch.setattr(replan, place, value)
    embedded = EmbeddedDatabase()
    embedded.execute(STREAMS + SQL)
    put(tmp_path, 0)
    ways, db = set(), connected(spark, tmp_path)
    db.start()
    for number in range(PARTS):
        if number == PARTS // 2:
            db.stop()
            db = connected(spark, tmp_path)
            db.start()
        put(tmp_path, number)
        db.drain()
        if not has_trials(db._running().job):
            ways |= {type(db._running().steering.choice_of(name)) for name in VIEWS}
    for number in range(PARTS):
        for stream in "sr":
            EmbeddedDatabase.push(embedded, stream, rows(number, stream))
    assert CommonChoice in ways and len(ways) > 1, ways
    for view in VIEWS:
        assert_same(from_arrow(embedded.changes(view)), from_arrow(pq.read_table(tmp_path / f"out/{view}.changes.parquet")))
    db.close()
