"""The example of the README that runs on Spark."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from sash.database.on_spark import SparkDatabase

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECOND = 1_000_000


def test_the_session(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conn").mkdir()
    rows = {"ts": pa.array([0, 30 * SECOND, 70 * SECOND], pa.timestamp("us", "UTC")), "src": ["ann", "ann", "bob"]}
    pq.write_table(pa.table({**rows, "bytes": pa.array([10, 5, 7])}), tmp_path / "conn/0.parquet")
    values: dict[str, object] = {"spark": spark, "sash": sash}
    exec(example.replace('parquet("conn")', f'parquet("{tmp_path}/conn")'), values)  # the JVM stays where it began
    db = values["db"]
    assert isinstance(db, SparkDatabase)
    try:
        db.drain()
        assert db.view("busiest").to_arrow().to_pylist() == [{"src": "bob", "bytes": 7}, {"src": "ann", "bytes": 5}]
        assert db.changes("volume").columns == ["_op", "_ts", "src", "bytes"]
    finally:
        db.close()
