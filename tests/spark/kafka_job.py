"""A job over a topic of two partitions, in a process of its own: Spark's connector has to be there when Java starts.

    python kafka_job.py ADDRESS TOPIC REGISTRY FOLDER     the rows are in `ROUNDS`; tells what it saw as JSON, after every one of them

The rows are in one topic as CSV, and in another in Avro, with a schema that the registry has.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from fastavro import parse_schema, schemaless_writer
from pyspark.sql import DataFrame, SparkSession

import sash
from sash.database.on_spark import SparkDatabase
from sash.spark.session import local_session

Row = tuple[int, float, str]  # partition, seconds, key

VIEWS = """
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW latest AS SELECT ts, k FROM e [ROWS 3];
"""
NAMES = ("counts", "latest")
DECLARED = """
CREATE STREAM m (ts TIMESTAMP, k STRING, topic STRING METADATA, place BIGINT METADATA FROM 'offset') TIMESTAMP BY ts DELAY 1 SECONDS
WITH (format = 'kafka', kafka.bootstrap.servers = '{address}', subscribe = '{topic}', startingOffsets = 'earliest', encoding = 'csv');
CREATE MATERIALIZED VIEW declared AS SELECT k, COUNT(*) AS n FROM m [RANGE 5 SECONDS] WHERE topic = '{topic}' AND place >= 0 GROUP BY k;
CREATE STREAM a (ts TIMESTAMP, k STRING FROM '$.who.name', place BIGINT METADATA FROM 'offset') TIMESTAMP BY ts DELAY 1 SECONDS
WITH (format = 'kafka', kafka.bootstrap.servers = '{address}', subscribe = '{topic}-avro', startingOffsets = 'earliest', encoding = 'avro', registry = '{registry}');
CREATE MATERIALIZED VIEW encoded AS SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] WHERE place >= 0 GROUP BY k;
"""
SCHEMA = {"type": "record", "name": "row", "fields": [
    {"name": "who", "type": {"type": "record", "name": "who", "fields": [{"name": "name", "type": ["null", "string"]}]}},
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]}  # fmt: skip
SCHEMA_NUMBER = 77


def _rows(partition: int, first: float, last: float, step: float) -> list[Row]:
    times = [first + place * step for place in range(int((last - first) / step) + 1)]
    # Each second row is a little earlier than the one before: within the delay.
    return [(partition, max(0.0, ts - 0.75 * (place % 2)), "abc"[place % 3]) for place, ts in enumerate(times)]


ROUNDS: list[list[Row]] = [
    _rows(0, 5, 12, 0.5),  # of the other partition nothing has been heard
    _rows(1, 1, 8, 0.5),  # all of it before what the first one has reached
    _rows(0, 12, 20, 0.5) + _rows(1, 8, 10, 0.25),
    _rows(1, 10, 21, 0.5),
]
RESTART = 2  # the round before which another driver begins


def write(spark: SparkSession, address: str, topic: str, rows: Sequence[Row]) -> None:
    put(spark, address, topic, [(partition, f"{ts},{key}".encode()) for partition, ts, key in rows])
    put(spark, address, f"{topic}-avro", [(partition, in_avro(ts, key)) for partition, ts, key in rows])


def in_avro(ts: float, key: str) -> bytes:
    made = io.BytesIO()
    schemaless_writer(made, parse_schema(SCHEMA), {"who": {"name": key}, "ts": int(ts * 1000)})
    return b"\0" + SCHEMA_NUMBER.to_bytes(4, "big") + made.getvalue()


def put(spark: SparkSession, address: str, topic: str, made: Sequence[tuple[int, bytes]]) -> None:
    frame = spark.createDataFrame(made, "partition int, value binary").coalesce(1)
    frame.write.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic).save()


def read(spark: SparkSession, address: str, topic: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address)
    frame = reader.option("subscribe", topic).option("startingOffsets", "earliest").load()
    parts = "split(CAST(value AS STRING), ',')"
    return frame.selectExpr(
        "topic", "partition", "offset", f"timestamp_micros(CAST(TRY_CAST({parts}[0] AS DOUBLE) * 1000000 AS BIGINT)) AS ts",
        f"GET({parts}, 1) AS k",
    )


def connected(spark: SparkSession, address: str, topic: str, registry: str, folder: Path) -> SparkDatabase:
    db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", shards=2)
    frame = read(spark, address, topic)
    db.execute("CREATE STREAM e (ts TIMESTAMP, k STRING) TIMESTAMP BY ts DELAY 1 SECONDS;" + VIEWS)
    db.execute(DECLARED.format(address=address, topic=topic, registry=registry))
    db.stream("e", frame, partition=("topic", "partition"), position="offset")
    return db


def seen(db: SparkDatabase) -> dict[str, object]:
    host = db._running()
    found: dict[str, object] = {view: host.final(view).num_rows for view in NAMES}
    dead = [(letter["file"], letter["line"], letter["reason"]) for stream in "ma" for letter in db.dead(stream).to_pylist()]
    return found | {"late": sum(db.late(stream).num_rows for stream in "ema"), "dead": dead, "kafka": len(host._settings.kafka)}


def main(address: str, topic: str, registry: str, folder: Path) -> None:
    spark = local_session("2")
    db = connected(spark, address, topic, registry, folder)
    for number, rows in enumerate(ROUNDS):
        if number == RESTART:
            db.close()
            db = connected(spark, address, topic, registry, folder)
        write(spark, address, topic, rows)
        if db._host is None or db._host._query is None:
            db.start()
        db.drain()
        print(json.dumps(seen(db)), flush=True)
    put(spark, address, topic, [(1, b"oops")])
    put(spark, address, f"{topic}-avro", [(0, b"oops")])
    db.stop()
    db.run()
    print(json.dumps(seen(db)), flush=True)
    db.close()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]))
