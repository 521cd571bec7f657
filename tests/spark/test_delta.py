"""A real table of Delta streams into a view and into another, which Spark reads; appended to and restarted in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from delta_job import COLUMNS, ROUNDS, VIEW

import sash
from kafka_broker import jars
from sash.testing.tables import from_arrow

HERE = Path(__file__).parent
WANTED = "4.2"  # Delta 4.4 is made for it, and fails on PySpark 4.3 for want of a method
PYTHON = HERE.parents[1] / f".venv/spark-{WANTED}/bin/python"
DELTA = ("io.delta:delta-spark_4.2_2.13:4.4.0",)
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",  # of 50, for tables of many files
    "spark.sql.shuffle.partitions": "2",
}


def python() -> str:
    """One that has the PySpark which Delta wants."""
    if pyspark.__version__.startswith(f"{WANTED}."):
        return sys.executable
    if not PYTHON.exists():
        pytest.skip(f"Delta wants PySpark {WANTED}: ./run matrix {WANTED} installs it")
    return str(PYTHON)


def changed(table: object) -> Counter[str]:
    return Counter(repr((change.ts, change.row, change.op)) for change in from_arrow(table))  # type: ignore[arg-type]


@pytest.mark.spark
def test_a_table_of_delta_streams_into_a_view_and_another(tmp_path: Path) -> None:
    command, found = python(), jars("delta", DELTA, with_dependencies=True)
    listed = ",".join(str(path) for path in sorted(found.glob("*.jar")) if path.name.startswith(("delta-", "unitycatalog-")))
    settings = " ".join(f"--conf {key}={value}" for key, value in SETTINGS.items())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment |= {"PYSPARK_SUBMIT_ARGS": f"--jars {listed} {settings} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([command, str(HERE / "delta_job.py"), str(tmp_path)], capture_output=True, text=True, env=environment, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    *told, last = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    db = sash.connect(history="all")
    db.execute(f"CREATE STREAM e {COLUMNS}; {VIEW}")
    for rows, seen in zip(ROUNDS, told, strict=True):
        db.push("e", rows)
        held = sorted((list(row.values()) for row in db.final("counts")), key=str)
        assert seen["final"] == seen["seen"] == seen["written"] == held
    db.end()
    assert last == {"late": 0, "dead": 0} and any(seen["final"] for seen in told)
    assert changed(pq.read_table(tmp_path / "out/counts.changes.parquet")) == changed(db.changes("counts"))
