"""A real table of Delta or Iceberg streams into a view and into another table, which Spark reads; appended to and restarted in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from lake_job import COLUMNS, ROUNDS, VIEW

import sash
from kafka_broker import jars
from sash.testing.tables import from_arrow

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Connector:
    """What Spark reads a format with: made for one version of it."""

    spark: str
    artifact: str
    own: tuple[str, ...]  # what the names of its jars begin with, of all that come with it
    settings: Mapping[str, str]

    def python(self) -> str:
        """One that has the PySpark which it wants."""
        if pyspark.__version__.startswith(f"{self.spark}."):
            return sys.executable
        found = HERE.parents[1] / f".venv/spark-{self.spark}/bin/python"
        if not found.exists():
            pytest.skip(f"{self.artifact} wants PySpark {self.spark}: ./run matrix {self.spark} installs it")
        return str(found)


CONNECTORS = {
    # Delta 4.4 fails on PySpark 4.3 for want of a method
    "delta": Connector("4.2", "io.delta:delta-spark_4.2_2.13:4.4.0", ("delta-", "unitycatalog-"), {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",  # of 50, for tables of many files
    }),
    "iceberg": Connector("4.1", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", ("iceberg-",), {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "{folder}/warehouse",
    }),
}  # fmt: skip


def changed(table: object) -> Counter[str]:
    return Counter(repr((change.ts, change.row, change.op)) for change in from_arrow(table))  # type: ignore[arg-type]


@pytest.mark.spark
@pytest.mark.parametrize("name", CONNECTORS)
def test_a_table_of_a_lake_streams_into_a_view_and_another(tmp_path: Path, name: str) -> None:
    connector = CONNECTORS[name]
    command, found = connector.python(), jars(name, (connector.artifact,), with_dependencies=name == "delta")
    listed = ",".join(str(path) for path in sorted(found.glob("*.jar")) if path.name.startswith(connector.own))
    told_to = {**connector.settings, "spark.sql.shuffle.partitions": "2"}
    settings = " ".join(f"--conf {key}={value.format(folder=tmp_path)}" for key, value in told_to.items())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment |= {"PYSPARK_SUBMIT_ARGS": f"--jars {listed} {settings} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    job = [command, str(HERE / "lake_job.py"), name, str(tmp_path)]
    done = subprocess.run(job, capture_output=True, text=True, env=environment, timeout=400)
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
