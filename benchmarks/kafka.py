"""A job over a topic of Kafka, against a plain job of Spark's that reads and parses the same topic and writes as many rows.

    sash     Kafka ─ parse JSON ─ exchange by key ─ GROUP BY over a sliding window ─ changelog in Parquet
    plain    Kafka ─ from_json ─ every row as often as the changelog has rows for it ─ Parquet

Both run in one session of Spark's own defaults, in turns, with a bounded run over all that is in the topic. The broker and the
connector are those of the tests (`tests/kafka_broker.py`), which fetches them by Maven.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Options, Report, span
from sash.errors import SashError, needing

ROWS, QUICK_ROWS = 2_000_000, 200_000
PARTITIONS = 2
KEYS = 1000
START, STEP, EARLY = datetime(2026, 1, 1), timedelta(microseconds=500), timedelta(milliseconds=250)
WALL, CPU = 0, 1
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Measured:
    """Seconds of each run, and those of processors."""

    job: str
    rows: int
    changes: int
    sash: list[list[float]]
    plain: list[list[float]]

    def ratio(self, kind: int) -> float:
        return median(took[kind] for took in self.plain) / median(took[kind] for took in self.sash)

    def speeds(self, runs: list[list[float]]) -> list[float]:
        return [self.rows / seconds for seconds, _ in runs]


def run(options: Options) -> Iterator[Report]:
    rows, repeat = options.rows or (QUICK_ROWS if options.quick else ROWS), options.repeat or (2 if options.quick else 3)
    servers = _servers()
    with tempfile.TemporaryDirectory(prefix="sash-kafka-") as folder:
        options.say("starting a broker")
        with servers.broker(Path(folder)) as broker:
            options.say("writing the topic")
            write_topic(broker, rows)
            for one in _measured(servers.connector(), broker.address, rows, repeat, Path(folder) / "jobs", options):
                yield _report(one, repeat)


def _report(one: Measured, repeat: int) -> Report:
    ratios = [f"{one.ratio(WALL):.2f}", f"{one.ratio(CPU):.2f}"]
    line = [one.job, *ratios, span(one.speeds(one.sash)), span(one.speeds(one.plain)), f"{one.changes:,}"]
    title = f"Through Kafka: {one.rows:,} messages of JSON in {PARTITIONS} partitions, {repeat} runs each, in turns"
    columns = ("job", "of plain Spark", "by processor time", "sash rows/s", "plain Spark rows/s", "changes")
    return Report(title, columns, [line], [{**asdict(one), "ratio": one.ratio(WALL)}])


def _servers() -> Any:
    sys.path.insert(0, str(ROOT / "tests"))
    with needing("the benchmark", "confluent-kafka", "kafka"):
        importlib.import_module("confluent_kafka")
    return importlib.import_module("kafka_broker")


def write_topic(broker: Any, rows: int) -> None:
    """Partitions take turns, and each is in the order of time but for a quarter of a second."""
    from confluent_kafka import Producer

    broker.create_topic("events", PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(rows):
        at = START + number * STEP - (EARLY if number % 7 == 0 else timedelta())
        parts = f'"ts": "{at.isoformat()}", "k": "key-{number * 7919 % KEYS}", "v": {number % 100}'
        text = f'{{{parts}, "what": "something that nobody reads"}}'
        producer.produce("events", text.encode(), partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def _measured(jars: str, address: str, rows: int, repeat: int, folder: Path, options: Options) -> Iterator[Measured]:
    """The runs of a process of its own, as Spark's connector has to be there when Java starts."""
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--jars {jars} pyspark-shell", "PYSPARK_PYTHON": sys.executable}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "benchmarks.kafka_job", address, str(rows), str(repeat), str(folder)]
    with open(folder.with_suffix(".log"), "w+") as log:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as child:
            assert child.stdout is not None
            for line in child.stdout:
                told = json.loads(line)
                if "say" in told:
                    options.say(told["say"])
                else:
                    yield Measured(**told)
        if child.returncode:
            log.seek(0)
            raise SashError(f"the job failed: {log.read()[-2000:]}")
