"""Spark Connect: a client of a server elsewhere, which dies and begins again, has what the embedded engine has."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from connect_job import NAMES, ROWS, shout

import sash
from kafka_broker import Broker, _free_ports, connector
from sash.testing.tables import from_arrow

HERE = Path(__file__).parent
STARTING = 120  # seconds

pytest.importorskip("grpc", reason="grpcio is not installed, which Spark Connect speaks with")


@contextmanager
def server(jars: str) -> Iterator[str]:
    (port,) = _free_ports(1)
    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin", "spark.connect.grpc.binding.port": str(port), "spark.jars": jars,
        "spark.sql.artifact.isolation.enabled": "true", "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
    }  # fmt: skip
    said = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell", "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen([sys.executable, str(HERE / "connect_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert select.select([process.stdout], [], [], STARTING)[0], "the server did not start in time"
        assert process.stdout.readline().startswith("4."), "the server did not start"
        yield str(port)
    finally:
        process.stdin.close()
        try:
            process.wait(STARTING)
        finally:
            process.kill()


def client(port: str, address: str, folder: Path, part: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / "connect_job.py"), port, address, str(folder), part]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})


def fill(broker: Broker, folder: Path) -> None:
    from confluent_kafka import Producer

    broker.create_topic("connected", 2)
    producer = Producer({"bootstrap.servers": broker.address})
    for second, key, partition in ROWS:
        producer.produce("connected", f"{second},{key}".encode(), partition=partition)
    assert producer.flush(60) == 0
    (folder / "in").mkdir()
    for number in range(3):
        rows = ROWS[number * 20 : number * 20 + 20]
        (folder / f"in/{number}.json").write_text("".join(json.dumps({"ts": second, "k": key}) + "\n" for second, key, _ in rows))


def changed(table: Any) -> Counter[str]:
    return Counter(repr((change.ts, change.row, change.op)) for change in from_arrow(table))


def expected() -> dict[str, Counter[str]]:
    """The third row of names comes when all rows of the file are in."""
    db = sash.connect(history="all")
    db.register("shout", shout, "STRING", ["STRING"])
    db.execute("""
        CREATE STREAM e (ts TIMESTAMP, k STRING) TIMESTAMP BY ts; CREATE STREAM f (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
        CREATE TABLE names (k STRING, name STRING);
        CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW named AS SELECT f.ts, SHOUT(names.name) AS name FROM f [ROWS 4], names WHERE f.k = names.k;
        INSERT INTO names VALUES ('a', 'Ann'), ('b', 'Bob')
    """)
    for stream in "ef":
        db.push(stream, [(float(second), key) for second, key, _ in ROWS])
    db.execute("INSERT INTO names VALUES ('c', 'Cem')")
    db.end()
    return {view: changed(db.changes(view)) for view in NAMES}


@pytest.mark.spark
def test_a_client_of_spark_connect_that_dies_goes_on(kafka: Broker, tmp_path: Path) -> None:
    fill(kafka, tmp_path)
    with server(connector()) as port:
        done = client(port, kafka.address, tmp_path, "first")
        assert done.returncode == 9, done.stderr[-3000:]
        done = client(port, kafka.address, tmp_path, "second")
        assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kafka"] == 1 and told["is_active"] and told["metrics"] and told["left"] == []
    assert told["late"] == [{"n": 3}]
    assert sorted(told["session"], key=str) == told["final"] != []
    assert told["handle"] == [True, "NoneType", True]
    logs = expected()
    for view in NAMES:
        assert changed(pq.read_table(tmp_path / "out" / f"{view}.changes.parquet")) == logs[view] != Counter()
