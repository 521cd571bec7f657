"""DataFrames that tell partition and position, on the host without a JVM: restarts, views that come later, what is refused."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from without_spark import Crash, PlayedFrame, connected, query_of

import sash
from partitioned import COLUMNS, NAMES, VIEWS, Row, expected, in_batches, in_tasks, source, table
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.runtime.partitions import label, named
from sash.schema import SECOND, Schema
from sash.spark.frame_streams import as_read
from sash.spark.idle import Partition
from sash.spark.kafka import KafkaStream, known_partitions
from sash.spark.placed_frames import check_places, placed
from sash.spark.sealed import SealedFolder
from sash.testing.tables import from_arrow

STREAM = f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts DELAY 1 SECONDS;"


def opened(monkeypatch: pytest.MonkeyPatch, folder: Path, batches: Sequence[Sequence[Sequence[Row]]], sql: str) -> SparkDatabase:
    db = connected(monkeypatch, folder, STREAM + sql)
    frame = PlayedFrame(*([table(rows) for rows in tasks] for tasks in batches))
    db.stream("e", frame, partition="partition", position="offset")  # type: ignore[arg-type]
    return db


def changes(folder: Path, view: str) -> list[str]:
    tables = [pq.read_table(file) for file in sorted((folder / "out" / f"{view}.changes.parquet").glob("*.parquet"))]
    return sorted(repr((c.ts, c.row, c.op)) for c in from_arrow(pa.concat_tables(tables)))


@pytest.mark.parametrize("seed", range(4))
def test_a_restart_in_the_middle_does_not_show(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    batches = in_batches(chance, source(chance, (0, 1, 10), 40), 6, together=False)
    tasks = [in_tasks(chance, batch, is_whole=True) for batch in batches]
    logs, late = expected(batches, 1)
    first = opened(monkeypatch, tmp_path, tasks, VIEWS)
    first.start()
    for _ in range(chance.randrange(1, 5)):
        query_of(first).step()
    query_of(first).crash = (1, 1)
    with pytest.raises(Crash):
        query_of(first).processAllAvailable()
    first.stop()
    second = opened(monkeypatch, tmp_path, tasks, VIEWS)
    second.run()
    for view in NAMES:
        assert changes(tmp_path, view) == sorted(logs[view].elements())
    folder = tmp_path / "out" / "e.late.parquet"
    assert (pq.read_table(folder).num_rows if folder.exists() else 0) == late.total()


def test_a_level_that_comes_later_knows_the_clocks_of_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 1 has fallen silent, and holds the time of all shards back, also of those that are new."""
    batches = [[[Row(0, n, 2.0 * n, n % 2, "a"), *([Row(1, n, 0.5 * n, n % 2, "b")] if n < 10 else [])]] for n in range(20)]
    db = opened(monkeypatch, tmp_path, batches, "CREATE MATERIALIZED VIEW plain AS SELECT k, name FROM e [RANGE 5 SECONDS];")
    db.start()
    for _ in range(10):
        query_of(db).step()
    db.execute(
        "CREATE MATERIALIZED VIEW deep AS SELECT n, COUNT(*) AS m FROM "
        "(SELECT k, COUNT(*) AS n FROM e [RANGE 100 SECONDS] GROUP BY k) GROUP BY n"
    )
    db.drain()
    assert db.view("deep").to_pylist() == [{"n": 5, "m": 2}]  # of the rows since it is there
    assert db._running().final("deep").num_rows == 0  # none of them is final
    assert not (tmp_path / "out" / "e.late.parquet").exists()
    db.close()


def test_rows_without_a_place_are_dead_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table([Row(0, 0, 1.0, 0, "a"), Row(0, 1, 2.0, 1, "b"), Row(1, 2, 3.0, 2, "c")])
    rows = rows.set_column(3, "partition", pa.array([0, None, 1])).set_column(4, "offset", pa.array([0, 1, None]))
    db = connected(monkeypatch, tmp_path, STREAM + VIEWS)
    db.stream("e", PlayedFrame([rows]), partition="partition", position="offset")  # type: ignore[arg-type]
    db.run()
    dead = pq.read_table(tmp_path / "out" / "e.dead.parquet").to_pylist()
    assert [letter["reason"] for letter in dead] == [
        'column "partition": the partition is NULL', 'column "offset": the position is NULL',
    ]  # fmt: skip
    assert '"name": "b"' in dead[0]["line"]
    assert db.view("latest").to_arrow().num_rows == 1
    db.close()


def test_a_partition_that_falls_silent_is_waited_for_only_as_long_as_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advance is on record, with its partitions: a restart meets it at the same place."""
    sql = f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts IDLE AFTER 5 SECONDS; {VIEWS}"
    batches = [[[Row(0, n, 1.0 * n, 0, "a"), *([Row(1, n, 0.25 * n, 1, "b")] if n < 3 else [])]] for n in range(10)]
    frame = PlayedFrame(*([table(rows) for rows in tasks] for tasks in batches))

    def started() -> SparkDatabase:
        db = connected(monkeypatch, tmp_path, sql)
        db.stream("e", frame, partition="partition", position="offset")  # type: ignore[arg-type]
        db.start()
        return db

    db = started()
    query_of(db).processAllAvailable()
    host = db._running()
    now = time.time_ns() // 1000
    assert max(host.final("latest").column("ts").to_pylist()).second == 0  # all wait for partition 1
    speaking, silent = named([pa.array([0, 1])]).to_pylist()
    host._idle._heard |= {Partition("e", speaking): now, Partition("e", silent): now - 6 * SECOND}
    events = list(host._idle.events(now))
    assert events == [{"advance": 9 * SECOND, "stream": "e", "partitions": [silent]}]
    host._checkpoint.ask(events[0])
    query_of(db).processAllAvailable()
    assert max(host.final("latest").column("ts").to_pylist()).second == 8
    before = {view: changes(tmp_path, view) for view in NAMES}
    db.stop()
    frame.batches.append([table([Row(1, 50, 8.75, 1, "late"), Row(1, 51, 9.0, 1, "in time")])])
    with pytest.warns(sash.LateRowsWarning, match="the clock of its partition 1 was at 1970-01-01 00:00:09"):
        again = started()
        query_of(again).processAllAvailable()
    assert again.late("e").column("name").to_pylist() == ["late"]
    assert all(set(before[view]) <= set(changes(tmp_path, view)) for view in NAMES)
    again.close()


def test_a_partition_without_rows_is_known_from_the_record_of_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds time back from the first batch on, so its first rows are not late; one that comes later starts at the clock."""
    batches = [
        [[Row(0, n, 2.0 * n, 0, "first") for n in range(5)]],
        [[Row(1, n, 1.0 + n, 1, "second") for n in range(6)]],
        [[Row(2, 0, 4.75, 2, "late"), Row(2, 1, 5.0, 2, "third")]],
        [[Row(0, 5, 9.0, 0, "first")]],
    ]
    frame = PlayedFrame(*([table(rows) for rows in tasks] for tasks in batches), partitions=[0, 1])

    def started() -> SparkDatabase:
        db = connected(monkeypatch, tmp_path, STREAM + VIEWS)
        db.stream("e", frame, partition="partition", position="offset")  # type: ignore[arg-type]
        db.start()
        return db

    db = started()
    query_of(db).step()
    assert changes(tmp_path, "latest") == [] and db.view("latest").to_arrow().num_rows == 3
    query_of(db).step()
    assert max(db._running().final("latest").column("ts").to_pylist()).second == 4  # all before 5 seconds is final
    db.stop()
    db = started()
    frame.partitions.append(2)
    query_of(db).processAllAvailable()
    assert db.late("e").column("name").to_pylist() == ["late"]
    db.stop()
    db.run()
    rows = [row for tasks in batches for task in tasks for row in task if row.name != "late"]
    logs, _ = expected([rows], 100)
    for view in NAMES:
        assert changes(tmp_path, view) == sorted(logs[view].elements())
    db.close()


def test_a_partition_that_never_had_rows_follows_the_others_by_the_rule_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = connected(monkeypatch, tmp_path, f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts IDLE AFTER 5 SECONDS; {VIEWS}")
    frame = PlayedFrame([table([Row(0, n, 1.0 * n, 0, "a") for n in range(5)])], partitions=[0, 1])
    db.stream("e", frame, partition="partition", position="offset")  # type: ignore[arg-type]
    db.start()
    query_of(db).processAllAvailable()
    host, now = db._running(), time.time_ns() // 1000
    speaking, silent = named([pa.array([0, 1])]).to_pylist()
    assert host.final("latest").num_rows == 0
    assert list(host._idle.events(now)) == []
    host._idle._heard |= {Partition("e", speaking): now, Partition("e", silent): now - 6 * SECOND}
    (event,) = host._idle.events(now)
    assert event == {"advance": 4 * SECOND, "stream": "e", "partitions": [silent]}
    host._checkpoint.ask(event)
    query_of(db).processAllAvailable()
    assert max(host.final("latest").column("ts").to_pylist()).second == 3
    db.close()


def on_record(folder: Path, *lines: str) -> SealedFolder:
    checkpoint = SealedFolder.of(folder)
    checkpoint.plain.child("spark", "offsets").put("3", ["\n".join(lines).encode()])
    return checkpoint


ORDERS = KafkaStream("s", ("topic", "partition"), 0, "a:9092", "subscribe", "orders, returns")


def test_partitions_are_found_in_the_record_of_a_batch(tmp_path: Path) -> None:
    checkpoint = on_record(
        tmp_path, "v1", '{"batchWatermarkMs": 0, "conf": {}}', '{"places": {}, "seen": 0}', "-", '{"x": {}}', "17",
        '{"orders": {"0": 12, "1": 0}, "payments": {"0": 1}}', '{"returns": {"10": 3}}',
    )  # fmt: skip

    def found(*streams: KafkaStream) -> list[list[str]]:
        return [[label(name) for name in names] for names in known_partitions(checkpoint, 3, streams).values()]

    assert found(ORDERS) == [["orders/0", "orders/1", "returns/10"]]
    assert found(replace(ORDERS, columns=("partition",))) == [["0", "1", "10"]]
    assert found(replace(ORDERS, way="subscribePattern", what="or.*|pay.*")) == [["orders/0", "orders/1", "payments/0"]]
    assert found(replace(ORDERS, way="subscribePattern", what="(")) == [[]]
    assert found(replace(ORDERS, way="assign", what='{"orders": [1]}')) == [["orders/1"]]
    other = replace(ORDERS, stream="t", servers="b:9092", what="orders")
    assert found(ORDERS, other) == [["returns/10"], []]  # nobody knows whose the orders are
    assert known_partitions(checkpoint, 4, [ORDERS]) == {ORDERS: []}


E_STREAM = StreamSpec("e", Schema(()))


def test_both_or_none_are_named() -> None:
    with pytest.raises(SashError, match="has partition= and no position="):
        check_places("e", None, "partition", None)  # type: ignore[arg-type]
    with pytest.raises(SashError, match="has position= and no partition="):
        check_places("e", None, None, "offset")  # type: ignore[arg-type]
    with pytest.raises(SashError, match="is a table"):
        placed(replace(E_STREAM, is_table=True), "partition", "offset")
    assert placed(E_STREAM, ["topic", "partition"], "offset").partition == ("topic", "partition")
    assert placed(E_STREAM, None, None).is_unit


def test_kafka_tells_partition_and_position_by_itself() -> None:
    kafka = as_read(replace(E_STREAM, options=(("format", "Kafka"),)))
    assert (kafka.partition, kafka.position, kafka.is_unit) == (("topic", "partition"), "offset", False)
    assert as_read(replace(E_STREAM, options=(("format", "rate"),))).is_unit
    assert as_read(replace(E_STREAM, options=(("format", "csv"), ("path", "x")))).is_in_order
