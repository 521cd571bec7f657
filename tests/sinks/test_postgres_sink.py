"""CREATE SINK … TO POSTGRES: types, names, keys, what is refused, and what happens to servers and processes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tables import bag, check, check_changes, plain, table

import sash
from postgres_server import PostgresServer
from sash.cli.run import RunOptions, run_embedded
from sash.database import embedded, rows_in_process
from sash.errors import SashError, SinkWarning, SqlError
from sash.runtime import change_log
from sash.schema import STRING, schema
from sash.sinks.options import Mode, SinkSpec
from sash.sinks.postgres.writer import PostgresSink
from sash.sinks.sink import SinkMoved, SinkRefused, Taken

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW plain AS SELECT k, v FROM s [RANGE 10 SECONDS];
"""


def sink(server: PostgresServer, view: str, name: str = "t", **options: str) -> str:
    said = {"dsn": server.dsn, "table": name, **options}
    listed = ", ".join(f"{key} = '{value}'" for key, value in said.items())
    return f"CREATE SINK {name} FROM {view} TO POSTGRES WITH ({listed})"


def seconds(start: int, count: int, keys: int = 3) -> list[tuple[Any, ...]]:
    return [(datetime(2026, 1, 1, 0, (start + n) // 60, (start + n) % 60), f"k{n % keys}" if n % keys else None, start + n) for n in range(count)]


def shown(db: sash.Database) -> dict[str, Any]:
    found = db.execute("SHOW SINKS")
    assert found is not None
    (row,) = found.to_arrow().to_pylist()
    return dict(row)


def test_all_types_come_through(server: PostgresServer) -> None:
    columns = "b BOOLEAN, i INT, l BIGINT, d DOUBLE, m DECIMAL(38, 9), s STRING, t TIMESTAMP, a DATE, ai ARRAY<INT>, at ARRAY<STRING>, ad ARRAY<DOUBLE>, am ARRAY<TIMESTAMP>, ab ARRAY<BOOLEAN>, ac ARRAY<DECIMAL(5, 2)>, ae ARRAY<DATE>"
    first: tuple[Any, ...] = (
        True, -(2**31), -(2**63), float("nan"), Decimal("-12345678901234567890123456789.000000001"), 'a"b\\c,\n;{}\té', datetime(1, 1, 1),
        date(1, 1, 1), [1, None, -3], ['a"b', "", None, "NULL", "x\\y", "{,}", "é\n"], [float("inf"), 0.1, None, float("nan")],
        [datetime(2026, 1, 1, 1, 2, 3, 456789), None], [True, None, False], [Decimal("1.25"), None], [date(2026, 1, 1), None],
    )  # fmt: skip
    second = (False, 2**31 - 1, 2**63 - 1, 5e-324, Decimal("0.000000001"), "", datetime(9999, 12, 31, 23, 59, 59, 999999), date(9999, 12, 31), [], [], [], [], [], [], [])
    third = (*[None] * 5, "\\N", *[None] * 9)
    with sash.connect() as db:
        db.execute(f"CREATE TABLE all_types ({columns}); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT * FROM all_types")
        db.execute(sink(server, "v"))
        db.push("all_types", [first, second, third, third])
        db.end()
        check(server, db, "v", "t")
        assert len(server.rows("SELECT * FROM t")) == 3
        kinds = dict(server.rows("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"))
        assert kinds["m"] == "numeric(38,9)" and kinds["t"] == "timestamp without time zone" and kinds["ac"] == "numeric(5,2)[]"
        db.delete("all_types", [second, third])
        db.end()
        check(server, db, "v", "t")


def test_names_are_identifiers_whatever_is_in_them(server: PostgresServer) -> None:
    name = 'x"; DROP TABLE sash_sinks; --'
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, v INT); CREATE MATERIALIZED VIEW v AS SELECT k AS `select`, SUM(v) AS `a\"b'c;{}` FROM a GROUP BY k")
        db.execute(f"CREATE SINK `weird \" {{}}` FROM v TO POSTGRES WITH (dsn = '{server.dsn}', table = '{name}')")
        db.push("a", [(1, 2), (None, 3)])
        db.end()
        check(server, db, "v", server.quoted(name))
        db.push("a", [(1, 2), (None, 3)])
        db.end()
        check(server, db, "v", server.quoted(name))
    assert len(server.rows("SELECT * FROM sash_sinks")) == 1


def test_changes_are_appended_with_sign_and_instant(server: PostgresServer) -> None:
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(server, "plain", mode="changes"))
        for start in range(0, 60, 7):
            db.push("s", seconds(start, 7))
            check_changes(server, db, "plain", "t")
        db.push("s", [])
        db.end()
        check_changes(server, db, "plain", "t")
        assert shown(db)["rows"] == len(server.rows("SELECT * FROM t")) > 60


def test_a_sink_begins_with_the_answer(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(JOB)
        db.push("s", seconds(0, 20))
        db.execute(sink(server, "counts"))
        check(server, db, "counts", "t")
        assert server.rows("SELECT * FROM t")


def test_a_large_batch_and_one_that_changes_all_of_it(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k BIGINT, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM a GROUP BY k;" + sink(server, "v"))
        keys = pa.array([*range(60_000), None], pa.int64())
        for value in (1, 2):
            db.push("a", pa.table({"k": keys, "v": pa.array([value] * 60_001)}))
            db.end()
            db.drain()
            assert server.rows("SELECT count(*), count(k), sum(v) FROM t") == [(60_001, 60_000, 60_001 * sum(range(value + 1)))]
        db.delete("a", pa.table({"k": keys, "v": pa.array([1] * 60_001)}))
        db.delete("a", pa.table({"k": keys, "v": pa.array([2] * 60_001)}))
        db.end()
        db.drain()
        assert server.rows("SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize("key", ["k", "K , v"])
def test_a_key_may_be_given(server: PostgresServer, key: str) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, v STRING); CREATE MATERIALIZED VIEW v AS SELECT k, v FROM a;" + sink(server, "v", key=key))
        db.push("a", [(1, "x"), (None, None), (2, None)])
        db.end()
        check(server, db, "v", "t")
        db.execute("UPDATE a SET v = 'y' WHERE k = 2")
        db.delete("a", [(None, None)])
        db.end()
        check(server, db, "v", "t")


@pytest.mark.parametrize("second", [(1, "y"), (1, "x"), (None, "z")])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_key_that_is_none_is_told_and_nothing_is_half_written(server: PostgresServer, second: tuple[Any, ...], at_once: bool) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, v STRING); CREATE MATERIALIZED VIEW v AS SELECT k, v FROM a;" + sink(server, "v", key="k"))
        db.push("a", [(1, "x"), (None, "n")])
        db.end()
        check(server, db, "v", "t")
        before = table(server, "t", ["k", "v"])
        db.push("a", [(7, "other")])
        if not at_once:
            db.end()
            check(server, db, "v", "t")
            before = table(server, "t", ["k", "v"])
        db.push("a", [second])
        db.end()
        with pytest.raises(SashError, match=r'sink "t" cannot write: k is no key: .*; drop the sink and create it with columns'):
            db.drain()
        assert table(server, "t", ["k", "v"]) == before
        assert "is no key" in shown(db)["error"] and shown(db)["waiting"] > 0
        with pytest.warns(SinkWarning, match="not everything was written"):
            db.close()


def test_one_row_needs_no_key_column(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT); CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM a;" + sink(server, "v"))
        for n in range(3):
            db.push("a", [(n,)])
            db.end()
            check(server, db, "v", "t")
        assert server.rows("SELECT * FROM t") == [(3,)]


REFUSED = [
    ("FROM nope TO POSTGRES WITH (dsn = 'DSN', table = 't')", 'unknown view "nope"; views are: counts, plain'),
    ("FROM plain TO POSTGRES WITH (dsn = 'DSN', table = 't')", 'view "plain" has no key: .*; name columns in which they do, key = \'a, b\', or'),
    ("FROM counts TO ORACLE", 'expected POSTGRES, MYSQL, KAFKA, FILES or DELTA, found "ORACLE"'),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 't', colour = 'red')", 'a sink has no option "colour"; options are: dsn,'),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 't', mode = 'append')", "mode = 'append' is unknown; it is one of: upsert, changes"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 't', key = 'z')", 'unknown column "z"; columns are: k, n, total'),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 't', mode = 'changes', key = 'k')", "mode = 'changes' has no key"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 't', existing = 'append')", "existing = 'append' is for mode = 'changes'"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN')", "a sink in PostgreSQL needs a table"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 'a.b.c')", "'a.b.c' is no name of a table"),
    ("FROM counts TO POSTGRES WITH (table = 't')", "a sink in PostgreSQL needs dsn or dsn_env"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', dsn_env = 'X', table = 't')", "a sink in PostgreSQL needs dsn or dsn_env"),
    ("FROM counts TO POSTGRES WITH (dsn_env = 'SASH_NOT_SET', table = 't')", 'the environment variable "SASH_NOT_SET" is not set'),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 'nowhere.t')", "schema \"nowhere\" does not exist"),
    ("FROM counts TO POSTGRES WITH (dsn = 'what is this', table = 't')", "the DSN cannot be understood"),
    ("FROM counts TO POSTGRES WITH (dsn = 'postgresql://x@127.0.0.1:1/y', table = 't')", "PostgreSQL 127.0.0.1:1/y cannot be reached"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 'other')", "table public.other has other columns: k text, n integer; the sink writes"),
    ("FROM counts TO POSTGRES WITH (dsn = 'DSN', table = 'full')", "table public.full has rows that no sink has written; empty it"),
    (f"FROM counts TO POSTGRES WITH (dsn = 'DSN', table = '{'x' * 64}')", "is longer than the 63 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_at_once(server: PostgresServer, text: str, told: str) -> None:
    server.execute(
        "CREATE TABLE other (k text, n integer)", 'CREATE TABLE "full" (k text, n bigint, total bigint)', "INSERT INTO \"full\" VALUES ('a', 1, 2)"
    )
    with sash.connect() as db:
        db.execute(JOB)
        with pytest.raises(SqlError, match=told):
            db.execute("CREATE SINK x " + text.replace("DSN", server.dsn))
        assert db.execute("SHOW SINKS").to_arrow().num_rows == 0  # type: ignore[union-attr]
    assert server.rows('SELECT k, n FROM "full"') == [("a", 1)]


@pytest.mark.parametrize("dsn", ["postgresql://u:s3cr:et@127.0.0.1:1/d", "host=127.0.0.1 port=1 password=s3cret", "postgresql://u@127.0.0.1:1/d?password=s3cret"])
def test_a_password_is_neither_taken_nor_shown(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sash.connect() as db:
        db.execute(JOB)
        for wrong in ("", ", colour = 'red'", " WITH"):
            with pytest.raises(SqlError) as told:
                db.execute(f"CREATE SINK x FROM counts TO POSTGRES WITH (dsn = '{dsn}', table = 't'{wrong})")
            assert "s3cr" not in str(told.value)
        monkeypatch.setenv("SASH_TEST_DSN", dsn)
        with pytest.raises(SqlError, match="cannot be reached") as told:
            db.execute("CREATE SINK x FROM counts TO POSTGRES WITH (dsn_env = 'SASH_TEST_DSN', table = 't')")
        assert "s3cr" not in str(told.value) + repr(told.value.__cause__) + repr(told.value.__context__)


def test_a_dsn_from_the_environment(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_TEST_DSN", server.dsn.replace("sash@", "sash:s3cret@"))
    with sash.connect() as db:
        db.execute(JOB + "CREATE SINK x FROM counts TO POSTGRES WITH (dsn_env = 'SASH_TEST_DSN', table = 't')")
        db.push("s", seconds(0, 20))
        check(server, db, "counts", "t")
        assert "s3cret" not in str(db.execute("SHOW SINKS").to_arrow().to_pylist()) + repr(db)  # type: ignore[union-attr]


def test_sinks_come_and_go(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(JOB + sink(server, "counts"))
        with pytest.raises(SqlError, match='there is a sink "t" already'):
            db.execute(sink(server, "counts"))
        db.execute(sink(server, "counts").replace("SINK t", "SINK IF NOT EXISTS T"))
        with pytest.raises(SqlError, match='sink "t" writes there already; name another table'):
            db.execute(sink(server, "counts").replace("SINK t", "SINK u"))
        with pytest.raises(SqlError, match=r'view "counts" is read by: t \(sink\); drop them first'):
            db.execute("DROP VIEW counts")
        assert "sink t" in repr(db)
        db.push("s", seconds(0, 20))
        check(server, db, "counts", "t")
        there = table(server, "t", ["k", "n", "total"])
        db.execute("DROP SINK t; DROP SINK IF EXISTS t")
        db.push("s", seconds(20, 20))
        db.drain()
        assert table(server, "t", ["k", "n", "total"]) == there
        with pytest.raises(SqlError, match=r'there is no sink "t"; sinks are: \(none\)'):
            db.execute("DROP SINK t")
        db.execute(sink(server, "counts"))
        check(server, db, "counts", "t")
        db.execute("DROP SINK t; DROP VIEW counts")


def test_another_run_begins_the_table_anew(server: PostgresServer) -> None:
    """In mode upsert, where nothing is lost by it."""
    for count in (30, 12):
        with sash.connect() as db:
            db.execute(JOB + sink(server, "counts"))
            db.push("s", seconds(0, count))
            check(server, db, "counts", "t")


def test_changes_of_another_run_are_not_touched_unless_that_is_said(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(JOB + sink(server, "plain", mode="changes"))
        db.push("s", seconds(0, 30))
        db.drain()
        count = len(server.rows("SELECT * FROM t"))
    with sash.connect() as db:
        db.execute(JOB)
        with pytest.raises(SqlError, match=r"table public.t has rows that another run has written; empty it, name another table, or say"):
            db.execute(sink(server, "plain", mode="changes"))
        db.execute(sink(server, "plain", mode="changes", existing="append"))
        db.push("s", seconds(0, 30))
        db.drain()
        assert len(server.rows("SELECT * FROM t")) == 2 * count
    with sash.connect() as db:
        db.execute(JOB + sink(server, "plain", mode="changes", existing="replace"))
        db.push("s", seconds(0, 30))
        db.drain()
        assert len(server.rows("SELECT * FROM t")) == count


def test_of_two_runs_the_older_one_is_told(server: PostgresServer) -> None:
    with sash.connect() as first, sash.connect() as second:
        for db in (first, second):
            db.execute(JOB + sink(server, "counts"))
            db.push("s", seconds(0, 20))
            db.drain()
        first.push("s", seconds(20, 40))
        for _ in range(2):  # it does not take it back
            with pytest.raises(SashError, match=r'sink "t" cannot write: another run has taken over table public.t; let one job'):
                first.drain()
        second.push("s", seconds(20, 10))
        check(server, second, "counts", "t")
        with pytest.warns(SinkWarning):
            first.close()


def test_a_run_that_lost_its_connection_does_not_take_the_table_back(server: PostgresServer) -> None:
    """It had not noticed that another one had it by then, and began anew."""
    spec = SinkSpec("s", "v", schema(("k", STRING)), Mode.UPSERT, (0,), None, (("dsn", server.dsn), ("table", "t")))
    first, second = PostgresSink(spec, "first"), PostgresSink(spec, "second")
    assert first.begin() is None
    assert second.begin() is None
    first.close()
    for _ in range(2):
        with pytest.raises(SinkRefused, match="another run has taken over"):
            first.begin()
    changes = pa.table({"_op": pa.array([1], pa.int8()), "_ts": pa.array([0], pa.timestamp("us")), "k": ["a"]})
    assert second.write(Taken(None, 1, changes)) == 1
    second.close()


def test_a_batch_is_never_written_twice(server: PostgresServer) -> None:
    """Whoever asks for it: the position is put down with the rows."""
    spec = SinkSpec("s", "v", schema(("k", STRING)), Mode.CHANGES, (), None, (("dsn", server.dsn), ("table", "t")))
    changes = pa.table({"_op": pa.array([1], pa.int8()), "_ts": pa.array([0], pa.timestamp("us")), "k": ["a"]})
    one = PostgresSink(spec, "run")
    assert one.begin() is None
    assert one.write(Taken(None, 1, changes)) == one.write(Taken(1, 2, changes)) == 1
    for after, position in ((None, 1), (1, 2), (7, 8)):
        with pytest.raises(SinkMoved) as moved:
            one.write(Taken(after, position, changes))
        assert moved.value.position == 2
    assert len(server.rows("SELECT * FROM t")) == 2
    later = PostgresSink(spec, "run", epoch=1)
    assert later.begin() == 2
    with pytest.raises(SinkRefused, match="another run has taken over"):
        one.write(Taken(2, 3, changes))
    with pytest.raises(SinkRefused, match="another run has taken over"):
        PostgresSink(spec, "run").begin()
    assert later.write(Taken(2, 3, changes)) == 1
    later.release()
    with pytest.raises(SinkRefused, match="has rows that another run has written"):
        PostgresSink(spec, "run", epoch=1).begin()
    one.close()
    later.close()


@pytest.mark.parametrize("mode", ["upsert", "changes"])
@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_whose_end_nobody_heard(server: PostgresServer, monkeypatch: pytest.MonkeyPatch, mode: str, is_committed: bool) -> None:
    """Half of all writes fail: after they were committed, or before. Each is there once."""
    write, calls = PostgresSink.write, []

    def failing(self: PostgresSink, taken: Taken) -> int:
        calls.append(taken)
        if len(calls) % 2:
            if is_committed:
                write(self, taken)
            raise SashError("the line is dead")
        return write(self, taken)

    monkeypatch.setattr(PostgresSink, "write", failing)
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(server, "plain" if mode == "changes" else "counts", mode=mode))
        for start in range(0, 40, 4):
            db.push("s", seconds(start, 4))
            while True:
                try:
                    db.drain()
                    break
                except SashError as error:
                    assert "the line is dead" in str(error)
            if mode == "changes":
                check_changes(server, db, "plain", "t")
            else:
                check(server, db, "counts", "t")
        assert shown(db)["failures"] >= 5


def test_a_server_that_dies_and_comes_back(server: PostgresServer) -> None:
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(server, "counts", "a") + ";" + sink(server, "plain", "b", mode="changes"))
        db.push("s", seconds(0, 10))
        db.drain()
        server.kill()
        try:
            db.push("s", seconds(10, 10))
            with pytest.raises(SashError, match=r'sink "a" cannot write: PostgreSQL 127.0.0.1:'):
                db.drain()
            db.push("s", seconds(20, 10))
            (one, other) = db.execute("SHOW SINKS").to_arrow().to_pylist()  # type: ignore[union-attr]
            assert one["failures"] and one["waiting"] and one["error"] and other["waiting"]
        finally:
            server.start()
        end = time.monotonic() + 30
        while any(sink["waiting"] or sink["error"] for sink in db.execute("SHOW SINKS").to_arrow().to_pylist()):  # type: ignore[union-attr]
            assert time.monotonic() < end  # by itself, though nobody asks for it
            time.sleep(0.05)
        check(server, db, "counts", "a")
        check_changes(server, db, "plain", "b")


def test_memory_is_bounded_while_nobody_takes_changes(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every change counts, rows are refused; where the answer counts, it is written whole instead of what was dropped."""
    for module in (embedded, rows_in_process):
        monkeypatch.setattr(module, "MOST_WAITING", 50)
    monkeypatch.setattr(change_log, "DEFAULT_BYTES", 1 << 12)
    with sash.connect(history=1 << 12) as db:
        db.execute(JOB + "CREATE MATERIALIZED VIEW again AS SELECT v, k FROM s [RANGE 10 SECONDS];" + sink(server, "counts", "a"))
        db.push("s", seconds(0, 10))
        db.drain()
        server.kill()
        try:
            for start in range(10, 400, 10):
                db.push("s", seconds(start, 10))
        finally:
            server.start()
        check(server, db, "counts", "a")
        db.execute(sink(server, "again", "b", mode="changes"))
        db.drain()
        server.kill()
        try:
            taken = 400
            with pytest.raises(SashError, match='no rows were taken, as 50 changes wait: sink "b" cannot write'):
                for _ in range(100):
                    db.push("s", seconds(taken, 10))
                    taken += 10
            assert taken > 400
        finally:
            server.start()
        db.drain()
        db.push("s", seconds(taken, 10))
        check(server, db, "counts", "a")
        assert Sum(server.rows("SELECT v, k, _op FROM b")) == bag(db.final("again").to_arrow())


def Sum(changes: list[tuple[Any, ...]]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for *row, op in changes:
        found[tuple(map(plain, row))] = found.get(tuple(map(plain, row)), 0) + op
    return {row: count for row, count in found.items() if count}


def test_a_table_that_somebody_dropped_is_made_again(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(JOB + sink(server, "counts"))
        db.push("s", seconds(0, 20))
        db.drain()
        server.execute("DROP TABLE t")
        db.push("s", seconds(20, 20))
        with suppress(SashError):  # it may have found out, and made it, before this was asked
            db.drain()
        check(server, db, "counts", "t")
        assert shown(db)["failures"] == 1


def test_a_table_that_somebody_changed_is_told_of(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(JOB + sink(server, "counts"))
        db.push("s", seconds(0, 9))
        db.drain()
        server.execute("DELETE FROM t WHERE k = 'k1'")
        db.push("s", seconds(9, 60))
        with pytest.raises(SashError, match=r"table public.t does not hold what was written to it: of \d+ rows that change or go \d+ were found"):
            db.drain()
        db.execute("DROP SINK t;" + sink(server, "counts"))
        check(server, db, "counts", "t")


KILLED = """
import sys, sash
from datetime import datetime, timedelta
db = sash.connect()
db.execute(sys.argv[1])
for start in range(0, 100_000, 50):
    db.push("s", [(datetime(2026, 1, 1) + timedelta(milliseconds=start + n), f"k{n % 7}", n) for n in range(50)])
    print(start, flush=True)
"""


def test_a_process_that_is_killed_and_begun_again(server: PostgresServer) -> None:
    """Whenever it dies, readers see one whole answer; the next run begins with its own."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, JOB + sink(server, "counts")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(40):
        assert process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    counts = server.rows("SELECT n FROM t")
    assert not counts or sum(n for (n,) in counts) <= 10_000
    with sash.connect() as db:
        db.execute(JOB + sink(server, "counts"))
        db.push("s", seconds(0, 20))
        check(server, db, "counts", "t")


def test_a_job_file_with_a_sink(server: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("".join(f"2026-01-01 00:00:{n:02d},k{n % 3},{n}\n" for n in range(60)))
    source = "WITH (format = 'csv', path = 's.csv')"
    (tmp_path / "job.sql").write_text(JOB.replace("BY ts;", f"BY ts {source};") + sink(server, "counts") + ";" + sink(server, "plain", "c", mode="changes"))
    run_embedded(RunOptions(tmp_path / "job.sql", tmp_path / "out", batch_rows=7))
    with sash.connect(base=tmp_path, history="all") as db:
        db.execute(JOB.replace("BY ts;", f"BY ts {source};"))
        db.run()
        assert table(server, "t", ["k", "n", "total"]) == bag(db.final("counts").to_arrow())
        assert table(server, "c", ["_op", "_ts", "k", "v"]) == bag(db.changes("plain"))  # type: ignore[arg-type]


def test_closing_writes_what_waits(server: PostgresServer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SinkWarning)
        db = sash.connect()
        db.execute(JOB + sink(server, "counts"))
        db.push("s", seconds(0, 20))
        answer = db.final("counts").to_arrow()
        db.close()
        db.close()
    assert table(server, "t", answer.column_names) == bag(answer)


def test_clients_of_the_server_do_not_say_what_it_connects_to(server: PostgresServer) -> None:
    import psycopg

    with sash.connect() as db:
        db.execute(JOB)
        door = db.serve(0, grants=["define", "change"])
        try:
            with psycopg.connect(f"postgresql://x@127.0.0.1:{door.port}/sash", autocommit=True) as client:
                for text in (sink(server, "counts"), sink(server, "counts").lower(), "DROP SINK IF EXISTS t"):
                    with pytest.raises(psycopg.Error, match="a client may not say what the server connects to"):
                        client.execute(text.encode())
                assert client.execute("SHOW SINKS").fetchall() == []
        finally:
            door.close()
    assert not re.findall("t", str(server.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")))
