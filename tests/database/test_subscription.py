"""History and subscriptions of an engine in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.database.embedded import COMPLETE_SINCE, EmbeddedDatabase
from sash.errors import SashError
from sash.runtime.packets import changes_schema

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW v AS SELECT k, SUM(n) AS n FROM s [RANGE 10 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW w AS SELECT COUNT(*) AS n FROM s;
"""
START = datetime(2024, 1, 1)
LIMIT = 60.0  # seconds that a test waits at most


def connected(**options: Any) -> EmbeddedDatabase:
    db = sash.connect(**options)
    db.execute(SQL)
    return db


def push(db: EmbeddedDatabase, first: int, count: int) -> None:
    for second in range(first, first + count):
        db.push("s", [(START + timedelta(seconds=second), f"key {n % 3}", n) for n in range(4)])


def rows(table: pa.Table | list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for one in (table if isinstance(table, list) else [table]) for row in one.to_pylist()]


@contextmanager
def reading(subscription: sash.Subscription) -> Iterator[list[pa.RecordBatch]]:
    """Another thread reads to the end of it."""
    found: list[pa.RecordBatch] = []
    thread = threading.Thread(target=lambda: found.extend(subscription), daemon=True)
    thread.start()
    yield found
    thread.join(LIMIT)
    assert not thread.is_alive(), "the subscription does not end"


def test_by_default_changes_are_all_there_and_say_so() -> None:
    db = connected()
    push(db, 0, 30)
    assert db.changes("v").schema.metadata == {COMPLETE_SINCE.encode(): b"0001-01-01 00:00:00"}
    assert db.changes_since("v") == datetime(1, 1, 1)


@pytest.mark.parametrize("history", ["5 SECONDS", timedelta(seconds=5), "5 KB", 2000, "none"])
def test_a_bounded_history_is_the_end_of_the_whole_one(history: Any) -> None:
    db, whole = connected(history=history), connected(history="all")
    for one in (db, whole):
        push(one, 0, 200)
    for view in ("v", "w"):
        since = db.changes_since(view)
        expected = [row for row in rows(whole.changes(view)) if row["_ts"] >= since]
        assert rows(db.changes(view)) == expected
        assert since > datetime(1, 1, 1) and len(expected) < whole.changes(view).num_rows
        assert db.changes(view).schema.metadata[COMPLETE_SINCE.encode()] == str(since).encode()
        assert db.view(view).to_arrow() == whole.view(view).to_arrow()
    if "SECONDS" in str(history):
        assert len({row["_ts"] for row in rows(db.changes("w"))}) == 5


def test_the_engine_does_not_keep_every_change_for_ever() -> None:
    db = connected(history="100 KB")
    sizes = []
    for part in range(4):
        push(db, part * 150, 150)
        sizes.append(sum(shown.kept.changes.bytes for shown in db._running().views.values()))
    assert max(sizes) <= 2 * 100 << 10
    assert db.metrics()["views"]["w"]["changes"] == 2 * 4 * 150 - 3


def test_late_and_dead_rows_are_counted_for_ever_and_kept_within_a_bound() -> None:
    db = connected(history="20 KB")
    push(db, 1000, 1)
    for second in range(300):
        db.push("s", [(START + timedelta(seconds=second), "late " * 10, second), ("never", "k", 1)])
    late, dead = db.late("s"), db.dead("s")
    assert 0 < late.num_rows < 300 and 0 < dead.num_rows < 300
    assert late.column("n").to_pylist() == list(range(300 - late.num_rows, 300))
    assert db.metrics()["streams"]["s"] == {"late": 300, "dead": 300}
    assert max(late.nbytes, dead.nbytes) < 40 << 10


def test_a_view_that_comes_later_says_from_when_on_its_changes_are_there() -> None:
    db = connected()
    push(db, 0, 5)
    db.execute("CREATE MATERIALIZED VIEW later AS SELECT k, COUNT(*) AS n FROM s [RANGE 100 SECONDS] GROUP BY k")
    push(db, 5, 5)
    assert START < db.changes_since("later") <= min(row["_ts"] for row in rows(db.changes("later")))


@pytest.mark.parametrize("history", ["none", "64 MB"])
def test_a_subscriber_gets_what_comes_from_then_on(history: str) -> None:
    db, whole = connected(history=history), connected(history="all")
    for one in (db, whole):
        push(one, 0, 10)
    subscription, before = db.subscribe("v"), whole.changes("v").num_rows
    with reading(subscription) as found:
        for one in (db, whole):
            push(one, 10, 40)
        db.close()
    expected = rows(whole.changes("v"))[before:]
    assert rows(found) == expected != []
    assert found[0].schema == changes_schema(whole._running().views["v"].view.schema)


def test_several_subscribers_read_at_their_own_pace() -> None:
    db = connected(history="none")
    slow, with_timeout = db.subscribe("w"), db.subscribe("w", timeout=0.01)
    with reading(db.subscribe("w")) as found, reading(db.subscribe("v")) as others:
        push(db, 0, 20)
        part = list(with_timeout)
        push(db, 20, 20)
        db.close()
    assert rows(found) == rows(list(slow)) == rows(part) + rows(list(with_timeout))
    assert len(rows(found)) == 2 * 40 - 3 and others


def test_a_timeout_ends_the_iteration_and_loses_nothing() -> None:
    db = connected()
    subscription = db.subscribe("w", timeout=0.01)
    assert list(subscription) == []
    push(db, 0, 3)
    assert len(rows(list(subscription))) == 3
    push(db, 3, 1)
    assert len(rows(list(subscription))) == 2


def test_a_subscription_ends_when_its_view_is_dropped_or_replaced_or_it_is_closed() -> None:
    db = connected()
    closed = db.subscribe("w")
    with reading(db.subscribe("v")) as of_v, reading(db.subscribe("w")) as of_w, reading(closed):
        push(db, 0, 5)
        db.execute("DROP VIEW v; CREATE OR REPLACE MATERIALIZED VIEW w AS SELECT MAX(n) AS n FROM s")
        closed.close()
    assert of_v and of_w
    assert list(closed) == []


def test_a_reader_stops_with_the_error_of_a_database_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    db, told = connected(), []
    subscription = db.subscribe("w")

    def read() -> None:
        try:
            list(subscription)
        except SashError as error:
            told.append(str(error))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    monkeypatch.setattr(db._running()._shard._ports, "forget", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        push(db, 0, 1)
    thread.join(LIMIT)
    assert "in the middle of its work: ZeroDivisionError" in told[0]


def test_a_closed_database_takes_nothing() -> None:
    with connected() as db:
        push(db, 0, 1)
    for use in (lambda: push(db, 1, 1), lambda: db.view("v"), lambda: db.subscribe("v"), lambda: db.execute("SHOW VIEWS")):
        with pytest.raises(SashError, match="the database is closed; connect again"):
            use()
    db.close()
