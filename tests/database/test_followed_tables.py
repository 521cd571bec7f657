"""CREATE TABLE … WITH (format = 'jdbc', …): a table holds what a table of PostgreSQL holds, as of the last look."""

from __future__ import annotations

import sys
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from without_spark import connected, query_of

import sash
from pages import shown_on_page
from postgres_server import PostgresServer
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SourceWarning

STREAM = "CREATE STREAM s (ts TIMESTAMP, code STRING, n BIGINT) TIMESTAMP BY ts{source};"
VIEWS = """
CREATE MATERIALIZED VIEW priced AS SELECT s.code, n, rate FROM s [RANGE 10 SECONDS] JOIN rates r ON s.code = r.code;
CREATE MATERIALIZED VIEW alone AS SELECT code, rate FROM rates;
"""


@pytest.fixture
def server(postgres: PostgresServer) -> PostgresServer:
    postgres.clear()
    postgres.execute("CREATE TABLE rates (code text, rate double precision, more int)", "INSERT INTO rates VALUES ('a', 1.5, 1), ('b', 2, 2), ('b', 2, 3)")
    return postgres


def table(server: PostgresServer, updates: str = "", **options: str) -> str:
    told = {"format": "jdbc", "dsn": server.dsn, "table": "rates", "every": "1 HOUR", **options}
    listed = ", ".join(f"{key} = '{value}'" for key, value in told.items() if value)
    return f"CREATE TABLE rates (code STRING, rate DOUBLE) {updates} WITH ({listed});"


def held(answer: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in answer.to_arrow().to_pylist()]


def second(n: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, n)


@pytest.mark.parametrize("updates", ["RETROACTIVE", "NON RETROACTIVE"])
def test_it_is_as_if_statements_had_changed_it(server: PostgresServer, updates: str) -> None:
    """At the same places of the input: the changelogs are the same."""
    with sash.connect(history="all") as db, sash.connect(history="all") as said:
        db.execute(STREAM.format(source="") + table(server, updates) + VIEWS)
        said.execute(STREAM.format(source="") + f"CREATE TABLE rates (code STRING, rate DOUBLE) {updates};" + VIEWS)
        said.execute("INSERT INTO rates VALUES ('a', 1.5), ('b', 2), ('b', 2)")
        for n, statement in enumerate((
            "UPDATE rates SET rate = 3 WHERE code = 'a'", "DELETE FROM rates WHERE code = 'b'", "INSERT INTO rates (code, rate) VALUES (NULL, NULL), ('c', 4)",
            "UPDATE rates SET rate = rate", "DELETE FROM rates",
        )):  # fmt: skip
            for one in (db, said):
                one.push("s", [(second(n), code, n) for code in ("a", "b", "c")])
            server.execute(statement)
            db.drain()
            said.execute(statement)
            assert db.view("priced").to_arrow().equals(said.view("priced").to_arrow())
            assert db.view("alone").to_arrow().equals(said.view("alone").to_arrow())
        for one in (db, said):
            one.end()
        assert db.changes("priced").equals(said.changes("priced")) and len(db.changes("priced")) > 10  # type: ignore[arg-type]


def test_all_types_come_through(server: PostgresServer) -> None:
    server.execute(
        "CREATE TABLE everything (b boolean, i integer, n bigint, d double precision, m numeric(9, 2), t text, at timestamp, zoned timestamptz, day date, a bigint[])",
        "INSERT INTO everything VALUES (true, 1, 2, 0.5, 1.25, 'é', '2026-01-01 12:00:00.000001', '2026-01-01 12:00:00+02', '2026-01-01', '{1,NULL}'),"
        " (NULL, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    with sash.connect() as db:
        columns = "b BOOLEAN, i INT, n BIGINT, d DOUBLE, m DECIMAL(9, 2), t STRING, at TIMESTAMP, zoned TIMESTAMP, day DATE, a ARRAY<BIGINT>"
        db.execute(f"CREATE TABLE e ({columns}) WITH (format = 'jdbc', dsn = '{server.dsn}', table = 'public.everything')")
        row, empty = sorted(db.query("SELECT * FROM e").to_arrow().to_pylist(), key=lambda row: row["b"] is None)
        assert row == {
            "b": True, "i": 1, "n": 2, "d": 0.5, "m": Decimal("1.25"), "t": "é", "at": datetime(2026, 1, 1, 12, 0, 0, 1),
            "zoned": datetime(2026, 1, 1, 10), "day": date(2026, 1, 1), "a": [1, None],
        }  # fmt: skip
        assert str(empty.pop("d")) == "nan" and set(empty.values()) == {None}


def test_a_query_and_the_environment(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATES_DSN", server.dsn)
    with sash.connect() as db:
        db.execute(table(server, dsn="", dsn_env="RATES_DSN", table="", query="SELECT upper(code) AS code, sum(rate) AS rate FROM rates GROUP BY 1"))
        assert sorted(held(db.query("SELECT * FROM rates"))) == [("A", 1.5), ("B", 4.0)]


def test_what_the_page_shows(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATES_DSN", server.dsn)
    with sash.connect() as db:
        db.execute(shown_on_page("docs/running.md", "CREATE TABLE rates"))
        assert sorted(held(db.query("SELECT * FROM rates"))) == [("a", 1.5), ("b", 2.0), ("b", 2.0)]


def test_it_is_looked_at_when_the_time_has_come(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(table(server, every="300 MILLISECONDS") + "CREATE MATERIALIZED VIEW v AS SELECT UPPER(code) AS code FROM rates")
        server.execute("DELETE FROM rates")
        end = time.monotonic() + 20
        while len(held(db.view("v"))):
            db.poll()
            assert time.monotonic() < end
            time.sleep(0.05)


REFUSED = [
    ({"dsn": ""}, 'table "rates" in PostgreSQL needs dsn or dsn_env'), ({"table": ""}, 'table "rates" needs table or query'),
    ({"query": "SELECT 1"}, 'table "rates" needs table or query'), ({"every": "soon"}, "every = 'soon' of table \"rates\" is no length of time"),
    ({"path": "x"}, 'table "rates" has no option "path"; options are: format, every, dsn'), ({"table": "nothing"}, 'relation "nothing" does not exist'),
    ({"dsn": "postgresql://x:secret@127.0.0.1/y"}, "the dsn has a password in it"), ({"dsn": "postgresql://x@127.0.0.1:1/y"}, "cannot be reached"),
    ({"table": "", "query": "SELECT 1 AS code"}, 'column "rate" does not exist'), ({"table": "", "query": "SELECT code, code AS rate FROM rates"}, 'are none of table "rates"'),
]  # fmt: skip


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_at_once(server: PostgresServer, options: dict[str, str], told: str) -> None:
    with sash.connect() as db:
        with pytest.raises(SashError) as failure:
            db.execute(table(server, **options))
        assert told in str(failure.value) and "secret" not in str(failure.value)
        db.execute(table(server))  # nothing is left of the other


def test_only_its_source_changes_it(server: PostgresServer) -> None:
    with sash.connect() as db:
        db.execute(table(server))
        for statement in ("INSERT INTO rates VALUES ('x', 1)", "UPDATE rates SET rate = 1", "DELETE FROM rates"):
            with pytest.raises(SashError, match='table "rates" holds what its source holds'):
                db.execute(statement)
        for change in (lambda: db.push("rates", [("x", 1.0)]), lambda: db.table("rates", [])):
            with pytest.raises(SashError, match='table "rates" holds what its source holds; change it there'):
                change()
        server.execute("DELETE FROM rates")
        db.execute("DROP TABLE rates")
        db.drain()


def test_a_client_does_not_say_what_is_connected_to(server: PostgresServer) -> None:
    import psycopg

    with sash.connect() as db:
        door = db.serve(0, grants=["define", "change"])
        try:
            with psycopg.connect(f"postgresql://x@127.0.0.1:{door.port}/sash", autocommit=True) as client, pytest.raises(psycopg.Error, match="may not say what the server connects to"):
                client.execute(table(server).encode())
        finally:
            door.close()


def rows(start: int, count: int) -> list[tuple[Any, ...]]:
    return [(second(n % 60), "abc"[n % 3], n) for n in range(start, start + count)]


def put(folder: Path, start: int, count: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    data = pa.table([pa.array(column) for column in zip(*rows(start, count), strict=True)], names=["ts", "code", "n"])
    csv.write_csv(data, folder / "in" / f"{start:06d}.csv", csv.WriteOptions(include_header=False))


def spark_job(server: PostgresServer, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> SparkDatabase:
    job = STREAM.format(source=" WITH (format = 'csv', path = 'in')") + table(server, every="100 MILLISECONDS") + VIEWS
    return connected(monkeypatch, folder, job, flush=False, **options)


def changelog(db: SparkDatabase, view: str) -> pa.Table:
    return pa.concat_tables(db._running().ledger.read_all(f"{view}.changes.parquet"))


def test_a_job_on_spark_and_its_restarts(server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was seen is on record: another run, or the same that begins a batch again, has the same changelog."""
    put(tmp_path, 0, 5)
    db = spark_job(server, tmp_path, monkeypatch)
    db.start()
    db.drain()
    assert len(held(db.view("alone"))) == 3
    server.execute("UPDATE rates SET rate = 7 WHERE code = 'a'")
    put(tmp_path, 5, 5)
    db.drain()
    assert ("a", 7.0) in held(db.view("alone"))
    end = time.monotonic() + 20
    server.execute("DELETE FROM rates WHERE code = 'b'")
    while len(held(db.view("alone"))) > 1:  # by the thread that looks
        query_of(db).processAllAvailable()
        assert time.monotonic() < end
    db.stop()
    before = changelog(db, "priced")
    server.execute("INSERT INTO rates VALUES ('c', 9)")  # while nobody looks
    db = spark_job(server, tmp_path, monkeypatch)
    db.start()
    assert changelog(db, "priced").equals(before)
    put(tmp_path, 10, 5)
    db.drain()
    assert sorted(held(db.view("alone"))) == [("a", 7.0), ("c", 9.0)]
    assert ("c", 14, 9.0) in held(db.view("priced"))
    try:
        with pytest.warns(SourceWarning, match='table "rates" stays as it is'):
            server.kill()
            time.sleep(1.5)
            with pytest.raises(SashError, match="cannot be reached"):
                db.drain()
        assert len(held(db.view("alone"))) == 2
    finally:
        server.start()
    db.drain()
    db.close()
