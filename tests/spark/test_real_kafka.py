"""Kafka itself: two partitions, out of order between them, each with a clock of its own from the first batch on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kafka_job import NAMES, ROUNDS, SCHEMA, SCHEMA_NUMBER, VIEWS

import sash
from kafka_broker import Broker, connector
from registry_server import registry
from sash.testing.tables import from_arrow

HERE = Path(__file__).parent


def expected() -> dict[str, Counter[str]]:
    """The changelogs of the embedded engine, to which rows come in the order of (ts, partition, position)."""
    every = sorted((row for rows in ROUNDS for row in rows), key=lambda row: (row[1], row[0]))
    db = sash.connect(history="all")
    db.execute("CREATE STREAM e (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;" + VIEWS)
    db.push("e", [(ts, key) for _, ts, key in every])
    db.end()
    return {view: changed(db.changes(view)) for view in NAMES}


def changed(table: object) -> Counter[str]:
    return Counter(repr((change.ts, change.row, change.op)) for change in from_arrow(table))  # type: ignore[arg-type]


@pytest.mark.spark
def test_partitions_of_kafka_hold_time_back_from_the_first_batch_on(kafka: Broker, tmp_path: Path) -> None:
    jars = connector()
    kafka.create_topic("orders", 2)
    kafka.create_topic("orders-avro", 2)
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": f"--jars {jars} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    with registry() as served:
        served.put(SCHEMA_NUMBER, json.dumps(SCHEMA))
        command = [sys.executable, str(HERE / "kafka_job.py"), kafka.address, "orders", served.url, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [one["late"] for one in told] == [0] * len(told)
    assert all(one["kafka"] == 3 for one in told)
    assert [one["dead"] for one in told[:-1]] == [[]] * (len(told) - 1)
    assert told[-1]["dead"] == [
        ["orders/1", "oops", "1 values where 2 are expected"],
        ["orders-avro/0", "0x6f6f7073", "the message is too short for a registry's"],
    ]
    assert told[0]["counts"] == told[0]["latest"] == 0  # nothing is final before the second partition has been heard of
    assert told[1]["counts"] and told[-1]["latest"] == 3
    logs = expected()
    for view in NAMES:
        assert changed(pq.read_table(tmp_path / "out" / f"{view}.changes.parquet")) == logs[view]
    for view in ("declared", "encoded"):
        assert changed(pq.read_table(tmp_path / "out" / f"{view}.changes.parquet")) == logs["counts"]
