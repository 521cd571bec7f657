"""A job goes on with another number of shards, on Spark."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from test_number_of_shards import JOB, MORE, put

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.spark import running_job
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow


def test_the_state_is_spread_over_another_number_of_shards(spark: SparkSession, tmp_path: Path) -> None:
    """From 2 to 7 to 3; what has been written is that of a run that nobody disturbed."""
    for number, shards in enumerate([2, 7, 3]):
        put(tmp_path, number)
        places = {"checkpoint": tmp_path / "point", "output": tmp_path / "out", "base": tmp_path}
        db = SparkDatabase(spark, shards=shards, flush=number == 2, **places)  # type: ignore[arg-type]
        db.execute(JOB + MORE)
        db.run()
        answers = {name: len(db.view(name)) for name in db.materialized()}
        db.close()
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB + MORE)
    embedded.run()
    for name in embedded.materialized():
        assert_same(from_arrow(embedded.changes(name)), from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet")))
        assert answers[name] == len(embedded.view(name))


def test_a_job_is_spread_while_rows_come(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 2 to 7 to 3 in one session, on shards that have homes, whatever batch is at hand; the handle goes on."""
    monkeypatch.setattr(running_job, "wants_homes", lambda spark: True)
    put(tmp_path, 0)
    places = {"checkpoint": tmp_path / "point", "output": tmp_path / "out", "base": tmp_path}
    with SparkDatabase(spark, shards=2, batch_rows=4, **places) as db:  # type: ignore[arg-type]
        db.execute(JOB)
        query = db.start()
        db.drain()
        runs = {query.runId}
        for number, shards in ((1, 7), (2, 3)):
            coming = threading.Thread(target=put, args=(tmp_path, number))
            coming.start()
            db.spread(shards)
            coming.join()
            db.drain()
            assert query.isActive
            runs.add(query.runId)
        assert len(runs) == 3
        db.end()
        answers = {name: len(db.view(name)) for name in db.materialized()}
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB)
    embedded.run()
    for name in embedded.materialized():
        assert_same(from_arrow(embedded.changes(name)), from_arrow(pq.read_table(tmp_path / f"out/{name}.changes.parquet")))
        assert answers[name] == len(embedded.view(name))
