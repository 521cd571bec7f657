"""A job goes on with another number of shards, on Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from test_number_of_shards import JOB, MORE, put

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
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
