"""Subscriptions: where they begin, how they are read, and what becomes of a reader that is slow. On both hosts where both can."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hosts import Played

import sash
from sash.errors import SashError

HOSTS = ("embedded", "spark")


@pytest.fixture(params=HOSTS)
def played(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Played(request.param, tmp_path, monkeypatch)
    yield found
    found.db.close()


def added_up(batches: list[pa.RecordBatch]) -> Counter[tuple[Any, ...]]:
    """What a reader has who adds up what it is given, and forgets all at _op 0."""
    held: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            op, _ = row.pop("_op"), row.pop("_ts")
            if op == 0:
                held.clear()
            else:
                held[tuple(row.values())] += op
    assert all(count >= 0 for count in held.values())
    return +held


def final(db: sash.Database, view: str = "v") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in db.final(view))


def put_some(played: Played, first: int, last: int) -> None:
    for second in range(first, last, 10):
        played.put((second, "abc"[second // 10 % 3], second))


def test_the_answer_first_then_changes(played: Played) -> None:
    put_some(played, 10, 60)
    with played.db.subscribe("v", timeout=0.5, snapshot=True) as subscription:
        batches = list(subscription)
        assert added_up(batches) == final(played.db)
        assert {row["_op"] for batch in batches for row in batch.to_pylist()} == {1}
        put_some(played, 60, 120)
        batches += list(subscription)
        assert added_up(batches) == final(played.db)
        assert subscription.complete_before == played.db.final("v").as_of + timedelta(microseconds=1)  # type: ignore[operator]


def test_from_an_instant_on(played: Played) -> None:
    put_some(played, 10, 100)
    instant = datetime(1970, 1, 1, 0, 0, 40)
    found = [row for batch in played.db.subscribe("v", timeout=0.5, since=instant) for row in batch.to_pylist()]
    everything = [row for batch in played.db.subscribe("v", timeout=0.5, since=datetime(1, 1, 1)) for row in batch.to_pylist()]
    assert found == [row for row in everything if row["_ts"] >= instant] != everything
    assert added_up([pa.RecordBatch.from_pylist(everything)]) == final(played.db)


def test_a_reader_goes_on_where_another_has_stopped(played: Played) -> None:
    put_some(played, 10, 60)
    first = played.db.subscribe("v", timeout=0.5, snapshot=True)
    batches = list(first)
    reached = first.complete_before
    first.close()
    put_some(played, 60, 120)
    batches += list(played.db.subscribe("v", timeout=0.5, since=reached))
    assert added_up(batches) == final(played.db)


def test_time_goes_on_without_changes(played: Played) -> None:
    played.put((10, "a", 1))
    subscription = played.db.subscribe("v", timeout=0.5, progress=True)
    played.put((40, "a", None))  # SUM stays as it is: NULL adds nothing
    played.put((50, "a", None))
    batches = list(subscription)
    assert subscription.complete_before == datetime(1970, 1, 1, 0, 0, 40)
    assert batches[-1].num_rows == 0 or batches[-1].schema == batches[0].schema


def test_an_async_reader_and_one_who_is_called_read_the_same(played: Played) -> None:
    called: list[pa.RecordBatch] = []
    subscription = played.db.subscribe("v", snapshot=True, on_batch=called.append)

    async def read() -> list[pa.RecordBatch]:
        return [batch async for batch in played.db.subscribe("v", timeout=1.0, snapshot=True)]

    thread = threading.Thread(target=lambda: put_some(played, 10, 80))
    thread.start()
    thread.join()
    assert added_up(asyncio.run(read())) == final(played.db)
    end = time.monotonic() + 30
    while added_up(list(called)) != final(played.db) and time.monotonic() < end:
        time.sleep(0.05)
    assert added_up(called) == final(played.db)
    assert subscription.failure is None
    subscription.close()


def test_batches_without_changes_of_a_view_do_not_end_its_subscription(played: Played) -> None:
    subscription = played.db.subscribe("v", timeout=0.5)
    played.put((10, "a", 1))  # not final yet, so nothing has changed
    assert list(subscription) == []
    played.put((40, "a", 1))
    assert added_up(list(subscription)) == final(played.db) != Counter()


def test_who_is_cancelled_while_it_waits_loses_nothing() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT n FROM s")
    subscription = db.subscribe("v")

    async def cancelled() -> list[int]:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(subscription), 0.05)
        for second in range(3):
            db.push("s", [(datetime(2024, 1, 1, 0, 0, second), second)])
        found: list[int] = []
        while len(found) < 2:
            found += (await anext(subscription)).column("n").to_pylist()
        return found

    assert asyncio.run(cancelled()) == [0, 1]


def test_what_a_call_raises_ends_the_subscription() -> None:
    db = sash.connect()
    db.execute("CREATE STREAM s (ts TIMESTAMP, n INT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT n FROM s")

    def refuse(batch: pa.RecordBatch) -> None:
        raise ValueError("no")

    subscription = db.subscribe("v", on_batch=refuse)
    for second in range(3):
        db.push("s", [(datetime(2024, 1, 1, 0, 0, second), second)])
    end = time.monotonic() + 30
    while subscription.failure is None and time.monotonic() < end:
        time.sleep(0.01)
    assert isinstance(subscription.failure, ValueError)


def counting(**options: Any) -> sash.Database:
    db = sash.connect(**options)
    db.execute("""
        CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
    """)
    return db


def push(db: sash.Database, first: int, last: int) -> None:
    for second in range(first, last):
        db.push("s", [(datetime(2024, 1, 1) + timedelta(seconds=second), second % 5)])


def test_a_slow_reader_gets_the_answer_and_costs_bounded_memory() -> None:
    db = counting(history="none")
    subscription = db.subscribe("v", timeout=0.01, snapshot=True, queue=50, slow="snapshot")
    push(db, 0, 5)
    batches = list(subscription)
    push(db, 5, 300)
    log = db._running().views["v"].kept.changes  # type: ignore[attr-defined]
    assert log.count - log.first <= 50 + 2
    batches += list(subscription)
    assert any(op == 0 for batch in batches for op in batch.column(0).to_pylist())
    push(db, 300, 310)
    batches += list(subscription)
    assert added_up(batches) == final(db)


def test_changes_are_gone_once_every_reader_has_them() -> None:
    db = counting(history="none")
    fast, slow = db.subscribe("v", timeout=0.01), db.subscribe("v", timeout=0.01)
    push(db, 0, 20)
    log = db._running().views["v"].kept.changes  # type: ignore[attr-defined]
    list(fast)
    assert log.bytes > 0
    list(slow)
    assert log.bytes == 0
    push(db, 20, 30)
    list(fast)
    slow.close()
    assert log.bytes == 0


def test_those_who_push_wait_for_a_reader_that_asks_for_it() -> None:
    db = counting(history="none")
    subscription = db.subscribe("v", snapshot=True, queue=10, slow="block")
    batches: list[pa.RecordBatch] = []
    most = 0

    def read() -> None:
        nonlocal most
        for batch in subscription:
            most = max(most, batch.num_rows)
            time.sleep(0.002)
            batches.append(batch)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    while not batches:
        time.sleep(0.001)
    push(db, 0, 200)
    expected = final(db)
    db.close()
    thread.join(30)
    assert added_up(batches) == expected
    assert most <= 10 + 2


def test_a_thread_does_not_wait_for_itself() -> None:
    db = counting()
    subscription = db.subscribe("v", queue=5, slow="block")
    with pytest.raises(SashError, match="would wait for a subscription that it reads itself"):
        push(db, 0, 100)
    subscription.close()
    push(db, 100, 110)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slow": "never"}, "policies are: error, snapshot, block"),
        ({"slow": "block"}, "needs a bound"),
        ({"queue": 0}, "holds nothing"),
        ({"snapshot": True, "since": "12:00:00"}, "not with both"),
        ({"since": datetime(2020, 1, 1)}, 'the changes of view "v" are kept since'),
    ],
)
def test_wishes_that_cannot_be_met(options: dict[str, Any], message: str) -> None:
    db = counting(history="5 SECONDS")
    push(db, 0, 30)
    with pytest.raises(SashError, match=message):
        db.subscribe("v", **options)


def test_on_spark_nobody_waits_for_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = Played("spark", tmp_path, monkeypatch).db
    for options in ({"slow": "block", "queue": 5}, {"queue": 5}):
        with pytest.raises(SashError, match="on Spark changes wait in files"):
            db.subscribe("v", **options)  # type: ignore[arg-type]
    db.close()
