"""Messages in Avro, Protobuf and raw: the same on both hosts, whatever comes with them; a registry that lacks a schema loses no row."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from registry_server import framed, registry
from sash.database.database import Database
from sash.errors import SashError
from sash.testing.tables import from_arrow

sys.path.insert(0, str(Path(__file__).parent.parent / "sources"))

from proto_files import classes, file, in_one, message
from test_avro_messages import logical, record, written

FIRST = record(ts=logical("long", "timestamp-millis"), k="string", v="long")
SECOND = record(v=["null", "int"], who="long", ts=logical("long", "timestamp-micros"))
SALE = file(
    "sale.proto", "", message("Sale", ts=".google.protobuf.Timestamp", k="optional string", v="int32"), imports=("google/protobuf/timestamp.proto",)
)
VIEW = "CREATE MATERIALIZED VIEW {0} AS SELECT k, COUNT(*) AS n, SUM(v) AS v FROM {0}s [RANGE 20 SECONDS] GROUP BY k;"


def in_avro(second: int) -> bytes | None:
    """Two versions of a schema, and now and then what is none of them."""
    if second in (31, 41):
        return framed(9, b"\0")
    if second % 10 == 7:
        return [None, b"", b"oops oops", framed(1, b"\xff")][second // 10 % 4]
    if second % 3:
        return framed(1, written(FIRST, {"ts": second * 1000, "k": "abc"[second % 3], "v": second})[0])
    return framed(2, written(SECOND, {"ts": second * 1_000_000, "who": 1, "v": None if second % 2 else second})[0])


def in_protobuf(second: int) -> bytes:
    sale = classes(SALE)("Sale")(v=second, **({"k": "xyz"[second % 3]} if second % 5 else {}))
    sale.ts.seconds = second
    return b"\xff\xff" if second % 10 == 3 else bytes(sale.SerializeToString())


def raw(second: int) -> bytes | None:
    return [None, b"\xff", b"", "ü".encode()][second % 4]


def declare(db: Database, url: str, folder: Path, **options: str) -> None:
    (folder / "sale.desc").write_bytes(in_one(SALE))
    more = "".join(f", {key} = '{value}'" for key, value in options.items())
    db.execute(f"CREATE STREAM avros (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts WITH (encoding = 'avro', registry = '{url}'{more})")
    db.execute("CREATE STREAM protos (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts "
               "WITH (encoding = 'protobuf', descriptor_file = 'sale.desc', message = 'Sale')")  # fmt: skip
    db.execute("CREATE STREAM raws (k STRING, at TIMESTAMP METADATA, v INT METADATA FROM 'offset') TIMESTAMP BY at WITH (encoding = 'raw')")
    for name in NAMES:
        db.execute(VIEW.format(name))


NAMES = {"avro": in_avro, "proto": in_protobuf, "raw": raw}
MAKE: dict[str, Any] = NAMES


def messages(name: str, first: int, last: int) -> pa.Table:
    seconds = range(first, last)
    return pa.table({
        "value": pa.array([MAKE[name](second) for second in seconds], pa.binary()), "partition": pa.array([0] * len(seconds), pa.int32()),
        "offset": pa.array(seconds, pa.int32()), "at": pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us")),
    })  # fmt: skip


def put(folder: Path, number: int, first: int, last: int) -> None:
    for name in NAMES:
        (folder / name).mkdir(exist_ok=True)
        pq.write_table(messages(name, first, last), folder / name / f"{number}.parquet")


def read(spark: SparkSession, db: Any, folder: Path) -> None:
    for name in NAMES:
        reader = spark.readStream.schema("value binary, partition int, offset int, at timestamp_ntz").option("maxFilesPerTrigger", "1")
        db.stream(f"{name}s", reader.parquet(str(folder / name)), partition="partition", position="offset")


def changed(table: pa.Table) -> Counter[str]:
    return Counter(repr((change.ts, change.row, change.op)) for change in from_arrow(table))


def embedded(url: str, folder: Path, seconds: int, **options: str) -> tuple[dict[str, Counter[str]], dict[str, list[tuple[int, str]]]]:
    """Changelogs, and dead letters with the offsets of their messages."""
    with sash.connect(history="all", base=folder) as db:
        declare(db, url, folder, **options)
        for name in NAMES:
            pushed = messages(name, 0, seconds)
            db.push(f"{name}s", pushed.select(["value", "at", "offset"]) if name == "raw" else pushed["value"].to_pylist())
        db.end()
        dead = {name: [(letter["row"] - 1, letter["reason"]) for letter in db.dead(f"{name}s").to_pylist()] for name in NAMES}
        return {name: changed(db.changes(name)) for name in NAMES}, dead


def test_a_job_that_a_registry_has_stopped_goes_on_with_another_and_both_hosts_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    """It lacks a schema that messages are written in; there is one that nobody knows, which the user gives up."""

    def connected(url: str, **options: str) -> Any:
        db = sash.connect(spark, checkpoint=tmp_path / "point", output=tmp_path / "out", shards=2, base=tmp_path)
        declare(db, url, tmp_path, **options)
        read(spark, db, tmp_path)
        return db

    put(tmp_path, 0, 0, 30)
    put(tmp_path, 1, 30, 60)
    with registry() as served:
        served.put(1, json.dumps(FIRST))
        with connected(served.url) as db, pytest.raises(SashError, match=r'stream "avros": the registry http://\S+ does not know schema [29], and a'):
            db.run()
    with registry() as moved:
        moved.put(1, json.dumps(FIRST))
        moved.put(2, json.dumps(SECOND))
        with connected(moved.url, unknown_schema="dead_letter") as db:
            db.run()
            dead = {name: sorted((letter["row"], letter["reason"]) for letter in db.dead(f"{name}s").to_pylist()) for name in NAMES}
            assert {letter["file"] for name in NAMES for letter in db.dead(f"{name}s").to_pylist()} == {"0"}
        logs, letters = embedded(moved.url, tmp_path, 60, unknown_schema="dead_letter")
        assert (31, f"the registry {moved.url} does not know schema 9") in letters["avro"]
    assert dead == letters
    assert [len(letters[name]) for name in NAMES] == [8, 6, 15]
    for name in NAMES:
        assert changed(pq.read_table(tmp_path / "out" / f"{name}.changes.parquet")) == logs[name] != Counter()
