"""Changes come to subscribers in their order, each once, whatever is merged meanwhile; late and dead rows can be read."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from test_outputs import embedded, in_order, often, played, put, settled
from without_spark import connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.runtime.subscribing import Subscription

assert often  # a fixture


def read(subscription: Subscription) -> list[dict[str, Any]]:
    return [row for batch in subscription for row in batch.to_pylist()]


@pytest.mark.usefixtures("often")
def test_subscribers_get_what_comes_from_then_on_and_end_with_the_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(3), shards=1)
    before = embedded(range(3)).to_pylist()
    found: dict[str, list[dict[str, Any]]] = {}
    quick, slow, brief = db.subscribe("a"), db.subscribe("A"), db.subscribe("a", timeout=0.01)
    thread = threading.Thread(target=lambda: found.update(quick=read(quick)))
    thread.start()
    assert read(brief) == []
    some = []
    for number in range(3, 40):
        played(monkeypatch, tmp_path, range(number, number + 1), db)
        if number % 10 == 5:
            some += read(brief)
    settled(db)
    some += read(brief)
    closed = db.subscribe("a")
    with closed:
        pass
    assert read(closed) == []
    db.close()
    thread.join(60)
    found["slow"] = read(slow)
    expected = embedded(range(40)).to_pylist()
    rest = sorted((row for row in expected if row not in before), key=repr)
    for rows in (found["quick"], found["slow"], some):
        assert sorted(rows, key=repr) == rest
        assert [row["_ts"] for row in rows] == sorted(row["_ts"] for row in rows)


def test_a_subscription_ends_with_its_view(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(2), shards=1)
    db.execute("CREATE MATERIALIZED VIEW b AS SELECT k, MAX(v) AS v FROM s [RANGE 9 SECONDS] GROUP BY k")
    subscription = db.subscribe("b")
    played(monkeypatch, tmp_path, range(2, 5), db)
    db.execute("DROP VIEW b")
    assert {row["_op"] for row in read(subscription)} == {1, -1}
    db.close()


@pytest.mark.usefixtures("often")
def test_a_subscriber_that_is_slower_than_the_history_is_told_so_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(2), shards=1, history="none")
    subscription = db.subscribe("a", timeout=0.01)
    played(monkeypatch, tmp_path, range(2, 30), db)
    settled(db)
    with pytest.raises(SashError, match=r"a subscriber of a\.changes\.parquet is slower than its history.*; read the view and go on"):
        next(subscription)
    assert 0 < len(read(subscription)) < embedded(range(30)).num_rows // 2
    db.close()


@pytest.mark.usefixtures("often")
def test_late_and_dead_rows_can_be_read_as_embedded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sql = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts WITH (format = 'csv', path = 's');
    CREATE MATERIALIZED VIEW a AS SELECT k, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k;
    """
    (tmp_path / "s").mkdir()
    db = connected(monkeypatch, tmp_path, sql)
    db.start()
    assert db.late("s").num_rows == db.dead("S").num_rows == 0
    for number in range(20):
        put(tmp_path, number)
        with open(tmp_path / f"s/{number:05d}.csv", "a") as file:
            file.write(f"{number},late,{number}\nx,dead,{number}\n")
        query_of(db).processAllAvailable()
    settled(db)
    whole = EmbeddedDatabase(base=tmp_path)
    whole.execute(sql)
    whole.run()
    for kind in ("late", "dead"):
        here, there = getattr(db, kind)("s"), getattr(whole, kind)("s")
        assert here.schema == there.schema and here.num_rows > 10
        assert sorted(map(repr, here.to_pylist())) == sorted(map(repr, there.to_pylist()))
        assert any("-to-" in path.name for path in (tmp_path / f"out/s.{kind}.parquet").iterdir())
    db.close()


def test_the_changelog_of_a_view_is_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    db = played(monkeypatch, tmp_path, range(1))
    subscription = db.subscribe("a", timeout=0.01)
    played(monkeypatch, tmp_path, range(1, 6), db)
    rows = read(subscription)
    assert [row["_ts"] for row in rows] == [row["_ts"] for row in in_order(embedded(range(6)))][-len(rows) :]
    db.close()
