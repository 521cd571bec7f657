"""A change of a table that is refused leaves no trace: neither in the table, nor in how far a source was followed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))

from without_spark import connected, query_of

import sash
from sash.database.database import Database
from sash.errors import SashError

DECLARED = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts{source};
    CREATE TABLE t (k BIGINT, name STRING);
    CREATE TABLE fed (k BIGINT PRIMARY KEY, name STRING) WITH (format = 'debezium', path = 'feed', every = '1 HOUR');
    CREATE TABLE lake (k BIGINT, name STRING) WITH (format = 'delta', path = 'lake', every = '1 HOUR');
    CREATE MATERIALIZED VIEW joined AS SELECT s.k, name FROM s JOIN t ON s.k = t.k;
    CREATE MATERIALIZED VIEW counted AS SELECT COUNT(*) AS n FROM s;
    CREATE MATERIALIZED VIEW told AS SELECT k, name FROM fed UNION ALL SELECT k, name FROM lake;
"""
WAYS = (
    lambda db: db.execute("INSERT INTO t VALUES (2, 'bob')"),
    lambda db: db.execute("UPDATE t SET name = 'ann'"),
    lambda db: db.execute("DELETE FROM t"),
    lambda db: db.push("t", [(1, "eve")]),
    lambda db: db.delete("t", [(1, "old")]),
    lambda db: db.table("t", [(1, "new")]),
    lambda db: db.following.look(),
    lambda db: db.following.look(),
)


def tell(folder: Path, number: int) -> None:
    """Both sources have a row more."""
    message = {"op": "c", "before": None, "after": {"k": number, "name": "fed"}}
    (folder / "feed").mkdir(exist_ok=True)
    (folder / f"feed/{number}.json").write_text(json.dumps(message) + "\n")
    write_deltalake(
        str(folder / "lake"), pa.table({"k": [number], "name": ["lake"]}), mode="append",
        configuration={"delta.enableChangeDataFeed": "true"},
    )  # fmt: skip


def held(db: Database, view: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.view(view))


def refused(db: Database, why: str) -> None:
    for way in WAYS:
        with pytest.raises(SashError, match=why):
            way(db)
    assert db.query("SELECT * FROM t").to_pylist() == [{"k": 1, "name": "old"}]


def gone_on(db: Database) -> None:
    """What was refused can be said again, and means what it says."""
    db.execute("UPDATE t SET name = 'ann'; INSERT INTO t VALUES (1, 'bob'); DELETE FROM t WHERE name = 'ann'")
    db.drain()
    assert held(db, "joined") == [(1, "bob")]
    assert held(db, "told") == [(1, "fed"), (1, "lake"), (2, "fed"), (2, "lake")]


def test_by_a_reader_that_is_waited_for(tmp_path: Path) -> None:
    tell(tmp_path, 1)
    with sash.connect(base=tmp_path) as db:
        db.execute(DECLARED.format(source=""))
        db.push("t", [(1, "old")])
        reader = db.subscribe("counted", 0.0, slow="block", queue=1)
        for second, k in enumerate((1, 7, 7)):
            db.push("s", [(f"2026-01-01 00:00:0{second}", k)])
        tell(tmp_path, 2)
        refused(db, "this thread would wait for a subscription that it reads itself")
        assert sum(batch.num_rows for batch in reader)
        reader.close()
        gone_on(db)


def test_by_a_query_that_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(tmp_path, 1)
    (tmp_path / "s").mkdir()
    (tmp_path / "s/1.csv").write_text("2026-01-01 00:00:00,1\n")
    db = connected(monkeypatch, tmp_path, DECLARED.format(source=" WITH (format = 'csv', path = 's')"), flush=False)
    db.start()
    db.push("t", [(1, "old")])
    db.drain()
    tell(tmp_path, 2)
    query_of(db).stop()
    refused(db, "the query was stopped by somebody else")
    db.start()
    gone_on(db)
    db.close()


@pytest.mark.parametrize("has_run", [True, False])
def test_by_a_session_whose_job_another_one_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_run: bool) -> None:
    """It was put on record, as a change of what the table had held when that session looked."""
    tell(tmp_path, 1)
    (tmp_path / "s").mkdir()
    (tmp_path / "s/1.csv").write_text("2026-01-01 00:00:00,1\n")
    declared = DECLARED.format(source=" WITH (format = 'csv', path = 's')")
    old = connected(monkeypatch, tmp_path, declared, flush=False)
    old.start()
    old.push("t", [(1, "old")])
    old.drain()
    if has_run:
        old.stop()
    else:
        old.close()
        old = connected(monkeypatch, tmp_path, declared, flush=False)
        old.view("joined")
    new = connected(monkeypatch, tmp_path, declared, flush=False)
    new.start()
    new.execute("DELETE FROM t; INSERT INTO t VALUES (1, 'new')")
    new.drain()
    tell(tmp_path, 2)
    ways = (*WAYS, lambda db: db.advance("2027-01-01 00:00:00"), lambda db: db.execute("DROP VIEW joined"), lambda db: db.start())
    for way in ways:
        with pytest.raises(SashError, match=r"another run .* has (taken over|begun to use) the checkpoint|does not have all of these rows"):
            way(old)
    new.execute("UPDATE t SET name = 'newer' WHERE name = 'new'")
    new.drain()
    assert held(new, "joined") == [(1, "newer")]
    for db in (new, old):
        db.close()


def test_a_statement_that_breaks_declares_nothing() -> None:
    """Whatever it breaks with: a sink whose path names a home that nobody has stayed declared, and could not be dropped."""
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k FROM t")
        for _ in range(2):
            with pytest.raises(SashError, match='nobody knows the folder that "~nobody-at-all/x" begins with'):
                db.execute("CREATE SINK o FROM v TO FILES WITH (path = '~nobody-at-all/x')")
            with pytest.raises(SashError, match='there is no sink "o"'):
                db.execute("DROP SINK o")
