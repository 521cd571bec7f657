"""Streams of messages, declared in SQL: by a source of Spark's own, and as Kafka's on the host without a JVM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from without_spark import Crash, PlayedFrame, connected, query_of

import sash
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError

COLUMNS = "ts TIMESTAMP, k STRING FROM '$.who.name', v BIGINT"
VIEW = "CREATE MATERIALIZED VIEW n AS SELECT k, SUM(v) AS v FROM e GROUP BY k;"


def test_messages_of_a_source_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = ['{"ts": 1, "who": {"name": "ann"}, "v": 1}', "", "oops", '{"ts": 2, "who": {"name": "bob"}, "v": 2}', '{"ts": 2, "who": 3}']
    (tmp_path / "in/a.txt").write_text("\n".join(lines) + "\n")
    with sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2) as db:
        db.execute(f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts WITH (format = 'text', path = '{tmp_path}/in', encoding = 'json');" + VIEW)
        db.run()
        assert {(row["k"], row["v"]) for row in db.view("n").to_pylist()} == {("ann", 1), ("bob", 2)}
        reasons = [letter["reason"] for letter in db.dead("e").to_pylist()]
    assert reasons == [
        "the message is empty", "not valid JSON: Expecting value at character 1",
        "column \"k\": '3' in the middle of its path is not a STRING",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("ts TIMESTAMP, a INT", "format = 'rate', encoding = 'json'", '"value" in the DataFrame of stream "e" is bigint, and a message'),
        ("ts TIMESTAMP, a INT METADATA", "format = 'text', path = '.', encoding = 'json'", 'has no column "a"; it has: value'),
        ("timestamp TIMESTAMP, a INT FROM '$.a'", "format = 'rate'", 'column "a" of stream "e" is FROM a path or METADATA'),
        ("ts TIMESTAMP, a INT", "format = 'text', path = '.', encoding = 'yaml'", 'unknown encoding "yaml"; encodings are: json, csv, avro, protobuf, raw'),
    ],
)
def test_messages_that_cannot_be_are_refused_at_once(spark: SparkSession, tmp_path: Path, columns: str, options: str, error: str) -> None:
    with sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=1) as db:
        time = columns.split()[0]
        with pytest.raises(SashError, match=error):
            db.execute(f"CREATE STREAM e ({columns}) TIMESTAMP BY {time} WITH ({options}); CREATE MATERIALIZED VIEW n AS SELECT COUNT(*) AS n FROM e")
            db.run()


def messages(partition: int, first: int, *values: bytes | None) -> pa.Table:
    places = range(first, first + len(values))
    return pa.table({
        "value": pa.array(values, pa.binary()), "topic": ["e"] * len(values), "partition": pa.array([partition] * len(values), pa.int32()),
        "offset": pa.array(places, pa.int64()),
    })  # fmt: skip


def opened(monkeypatch: pytest.MonkeyPatch, folder: Path) -> SparkDatabase:
    """Both partitions have one bad message; the second is behind the first."""
    good = [b'{"ts": %d, "who": {"name": "%s"}, "v": 1}' % (second, b"ab"[second % 2 :][:1]) for second in range(1, 30)]
    batches = [
        [messages(0, 0, *good[10:20]), messages(1, 0, *good[:5], b"", *good[5:8])],
        [messages(1, 9, *good[8:12])],
        [messages(0, 10, None, *good[20:24]), messages(1, 13, *good[12:])],
    ]
    db = connected(
        monkeypatch, folder, f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts DELAY 0 SECONDS WITH (format = 'kafka', encoding = 'json');" + VIEW
    )
    db.stream("e", PlayedFrame(*batches, partitions=(0, 1)), partition=("topic", "partition"), position="offset")  # type: ignore[arg-type]
    return db


def test_messages_keep_partition_and_offset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = opened(monkeypatch, tmp_path)
    db.start()
    query_of(db).step()
    query_of(db).crash = (1, 0)
    with pytest.raises(Crash):
        query_of(db).processAllAvailable()
    db.stop()
    db = opened(monkeypatch, tmp_path)
    db.run()
    assert {(row["k"], row["v"]) for row in db.view("n").to_pylist()} == {("a", 14 + 2 + 5), ("b", 15 + 2 + 5)}
    assert db.late("e").num_rows == 0
    dead = sorted((letter["file"], letter["row"], letter["reason"]) for letter in db.dead("e").to_pylist())
    assert dead == [("e/0", 10, "the message has no value"), ("e/1", 5, "the message is empty")]
