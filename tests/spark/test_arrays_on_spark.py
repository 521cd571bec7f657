"""Arrays go through Spark as they are: read from files and DataFrames, moved between shards, given back as arrays."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, StringType

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase

FILES = """
CREATE STREAM s (ts TIMESTAMP, k STRING, a ARRAY<BIGINT>) TIMESTAMP BY ts WITH (format = 'json', path = 's.jsonl');
CREATE MATERIALIZED VIEW words AS SELECT a, ARRAY_AGG(k) AS ks, MAX(CARDINALITY(a)) AS n FROM s [RANGE 5 SECONDS] GROUP BY a;
CREATE MATERIALIZED VIEW sets AS SELECT ks, COUNT(*) AS n FROM words GROUP BY ks;
"""
FRAMES = """
CREATE STREAM f (ts TIMESTAMP, w STRING[]) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW lists AS SELECT w, COUNT(*) AS n FROM f GROUP BY w;
"""
LINES = ['{"ts": 1, "k": "x", "a": [1, 2]}', '{"ts": 2, "a": [1, 2]}', '{"ts": 2, "k": "y", "a": []}', '{"ts": 3, "k": "x"}']
COLUMNS = "ts TIMESTAMP_NTZ, w ARRAY<STRING>"


def test_arrays_are_keys_and_values_on_every_shard(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(LINES) + "\n")
    rows = [(datetime(1970, 1, 1, 0, 0, second), ["a", None] * second) for second in range(3)]
    spark.createDataFrame(rows, COLUMNS).coalesce(1).write.parquet(str(tmp_path / "in"))
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(FILES)
    embedded.run()
    db = SparkDatabase(spark, output=tmp_path / "out", shards=3, base=tmp_path)
    db.execute(FILES + FRAMES)
    db.stream("f", spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "in")))
    db.run()
    for view in ("words", "sets"):
        found = pq.read_table(tmp_path / f"out/{view}.changes.parquet")
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, embedded.changes(view).to_pylist()))
        assert found.schema == embedded.changes(view).schema
    assert db.changes("sets").schema["ks"].dataType == ArrayType(StringType())
    assert {"a": [1, 2], "ks": [None, "x"], "n": 2} in db.view("words").to_arrow().to_pylist()
    lists = {tuple(row["w"]): row["n"] for row in db.view("lists").to_arrow().to_pylist()}
    assert lists == {(): 1, ("a", None): 1, ("a", None, "a", None): 1}
    db.close()
