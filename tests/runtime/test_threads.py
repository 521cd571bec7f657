"""Many threads on one database: every call is whole, counts are exact, and answers are those of one thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.runtime.ports import Ports

SQL = """
    CREATE STREAM bids (ts TIMESTAMP, bidder STRING, price BIGINT) TIMESTAMP BY ts DELAY 1000 SECONDS;
    CREATE MATERIALIZED VIEW totals AS SELECT bidder, COUNT(*) AS n, SUM(price) AS total FROM bids GROUP BY bidder;
    CREATE MATERIALIZED VIEW recent AS SELECT COUNT(*) AS n FROM bids [RANGE 5 SECONDS];
"""
PUSHERS, PUSHES, ROWS = 4, 25, 20
EVERY = PUSHERS * PUSHES * ROWS


def together(*works: Callable[[], object]) -> None:
    """Run all at once; the first failure of any is that of the test."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if failures:
        raise failures[0]


def connected() -> EmbeddedDatabase:
    db = sash.connect()
    db.execute(SQL)
    return db


def rows(number: int, push: int) -> list[tuple[int, str, int]]:
    return [(push + 1, f"bidder {(number * 7 + row) % 11}", row) for row in range(ROWS)]


def pusher(db: EmbeddedDatabase, number: int) -> Callable[[], None]:
    def push() -> None:
        for one in range(PUSHES):
            db.push("bids", rows(number, one))

    return push


def pushed_alone() -> EmbeddedDatabase:
    db = connected()
    for number in range(PUSHERS):
        pusher(db, number)()
    return db


def changelog(db: EmbeddedDatabase, view: str) -> list[dict[str, Any]]:
    found = db.changes(view)
    ordered: list[dict[str, Any]] = found.sort_by([(name, "ascending") for name in ("_ts", "_op", *found.column_names[2:])]).to_pylist()
    return ordered


def test_threads_that_push_at_once_count_every_row_once() -> None:
    db, alone = connected(), pushed_alone()
    together(*(pusher(db, number) for number in range(PUSHERS)))
    assert sum(row["n"] for row in db.view("totals").to_pylist()) == EVERY
    assert db.view("totals").to_arrow() == alone.view("totals").to_arrow()
    for one in (db, alone):
        one.end()
    assert changelog(db, "recent") == changelog(alone, "recent") != []


def test_threads_that_read_create_drop_and_advance_meanwhile_change_no_answer() -> None:
    db, alone, counts = connected(), pushed_alone(), [0]
    is_over = threading.Event()

    def push_all() -> None:
        together(*(pusher(db, number) for number in range(PUSHERS)))
        is_over.set()

    def read() -> None:
        while not is_over.is_set():
            counts.append(sum(row["n"] for row in db.view("totals").to_pylist()))
            assert db.changes("recent").num_rows >= 0 and db.state_bytes > 0 and db.metrics()["views"]

    def come_and_go() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            db.execute(f"CREATE MATERIALIZED VIEW v{number} AS SELECT bidder, MAX(price) AS most FROM bids [ROWS 50] GROUP BY bidder")
            assert len(db.view(f"v{number}")) <= 11
            db.execute(f"DROP VIEW v{number}")

    def advance() -> None:
        while not is_over.is_set():
            db.advance(0)
            db.poll()

    together(push_all, read, come_and_go, advance)
    assert counts == sorted(counts), "an answer went back"
    assert all(count % ROWS == 0 for count in counts), "a reader saw a part of a push"
    assert db.view("totals").to_arrow() == alone.view("totals").to_arrow()
    for one in (db, alone):
        one.end()
    assert changelog(db, "recent") == changelog(alone, "recent")


def test_a_function_of_the_user_cannot_come_back_into_the_database() -> None:
    db = connected()

    def asks(prices: pa.Array) -> pa.Array:
        return pa.array([len(db.view("totals"))] * len(prices))

    db.register("asks", asks, "BIGINT", ["BIGINT"])
    db.execute("CREATE MATERIALIZED VIEW asked AS SELECT asks(price) AS n FROM bids")
    db.push("bids", rows(0, 0))
    db.end()
    assert {row["n"] for row in db.view("asked").to_pylist()} == {None}
    assert any("cannot use the database that calls it" in reason for reason, _, _ in db.failures())
    assert sum(row["n"] for row in db.view("totals").to_pylist()) == ROWS


def test_a_callback_of_a_run_may_wait_for_other_threads_that_use_the_database(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,n\n" + "".join(f"2024-01-01 00:00:{second:02},{second}\n" for second in range(30)))
    seen: list[int] = []
    db = sash.connect(base=tmp_path, batch_rows=10, on_progress=lambda progress: ask())
    db.execute(
        "CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');"
        "CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM s;"
    )

    def ask() -> None:
        together(lambda: seen.append(db.view("v").to_pylist()[0]["n"]))

    together(db.run)
    assert seen == [10, 20, 30, 30]


def test_a_database_that_failed_in_the_middle_of_a_push_says_so_ever_after(monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected()
    db.push("bids", rows(0, 0))

    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(Ports, "forget", fails)
        with pytest.raises(MemoryError):
            db.push("bids", rows(0, 1))
    for use in (lambda: db.push("bids", rows(0, 1)), lambda: db.view("totals"), lambda: db.execute("SHOW VIEWS"), db.end):
        with pytest.raises(SashError, match=r"in the middle of its work: MemoryError: no room; .*connect again"):
            use()


@pytest.fixture
def plain_ctrl_c() -> Iterator[None]:
    """Whoever else listens to it in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.usefixtures("plain_ctrl_c")
def test_ctrl_c_comes_between_two_pushes(monkeypatch: pytest.MonkeyPatch) -> None:
    db, alone, forget = connected(), connected(), Ports.forget

    def interrupted(*args: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        forget(*args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Ports, "forget", interrupted)
        with pytest.raises(KeyboardInterrupt):
            db.push("bids", rows(0, 0))
    for one, pushes in ((db, range(1, 3)), (alone, range(3))):
        for push in pushes:
            one.push("bids", rows(0, push))
    assert db.view("totals").to_arrow() == alone.view("totals").to_arrow()


@pytest.mark.usefixtures("plain_ctrl_c")
def test_a_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected()
    monkeypatch.setattr(Ports, "forget", lambda *_, **__: [signal.raise_signal(signal.SIGINT) for _ in range(2)])
    with pytest.raises(KeyboardInterrupt):
        db.push("bids", rows(0, 0))
    with pytest.raises(SashError, match="in the middle of its work: KeyboardInterrupt"):
        db.view("totals")
