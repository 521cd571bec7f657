"""CREATE SINK … TO MYSQL, against a MariaDB: types, names, keys, what is refused, what happens to servers, and the law of sinks."""

from __future__ import annotations

import json
import ssl
import subprocess
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pymysql
import pytest
from tables import bag, check, check_changes, table
from test_laws_of_sinks import VIEWS, played
from test_sinks_on_spark import put, query_of
from without_spark import connected

import sash
from mariadb_server import MariaDbServer
from sash.errors import SashError, SinkWarning, SqlError
from sash.schema import BIGINT, DOUBLE, STRING, schema
from sash.sinks.mysql import columns
from sash.sinks.mysql.writer import MySqlSink
from sash.sinks.options import Mode, SinkSpec
from sash.sinks.sink import SinkMoved, SinkRefused, Taken
from sash.sources import mysql
from shapes import STREAMS

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW plain AS SELECT k, v FROM s [RANGE 10 SECONDS];
"""
ONE = pa.table({"_op": pa.array([1], pa.int8()), "_ts": pa.array([0], pa.timestamp("us")), "k": ["a"]})


def sink(server: MariaDbServer, view: str, name: str = "t", **options: str) -> str:
    listed = ", ".join(f"{key} = '{value}'" for key, value in {"dsn": server.dsn, "table": name, **options}.items())
    return f"CREATE SINK {name} FROM {view} TO MYSQL WITH ({listed})"


def seconds(start: int, count: int, keys: int = 3) -> list[tuple[Any, ...]]:
    return [(datetime(2026, 1, 1, 0, (start + n) // 60, (start + n) % 60), f"k{n % keys}" if n % keys else None, start + n) for n in range(count)]


def test_all_types_come_through(shop: MariaDbServer) -> None:
    kinds = "b BOOLEAN, i INT, l BIGINT, d DOUBLE, m DECIMAL(38, 9), s STRING, t TIMESTAMP, a DATE"
    first = (True, -(2**31), -(2**63), 0.1 + 0.2, Decimal("-12345678901234567890123456789.000000001"), 'a"b\\c,\n;{}\té\0%s', datetime(1, 1, 1), date(1, 1, 1))
    second = (False, 2**31 - 1, 2**63 - 1, 5e-324, Decimal("0.000000001"), "", datetime(9999, 12, 31, 23, 59, 59, 999999), date(9999, 12, 31))
    third = (*[None] * 5, "\\N", None, None)
    with sash.connect() as db:
        db.execute(f"CREATE TABLE all_types ({kinds}); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT * FROM all_types")
        db.execute(sink(shop, "v"))
        db.push("all_types", [first, second, third, third])
        db.end()
        check(shop, db, "v", "t")
        assert len(shop.rows("SELECT * FROM t")) == 3
        db.delete("all_types", [second, third, third])
        db.end()
        check(shop, db, "v", "t")


def test_doubles_are_texts_in_the_json_that_mysql_parses() -> None:
    rows = pa.table({"d": [0.1 + 0.2, -0.0, None, 5e-324], "k": ["a", None, "b", ""]})
    said = list(columns.parts_as_json(schema(("d", DOUBLE), ("k", STRING)), rows))
    assert said == ['[["0.30000000000000004","a"],["0",null],[null,"b"],["5e-324",""]]']


def test_doubles_of_any_bits_come_through(shop: MariaDbServer) -> None:
    bits = np.random.default_rng(7).integers(0, 1 << 64, 20_000, np.uint64)
    values = np.concatenate([bits.view(np.float64), np.random.default_rng(8).uniform(-1e6, 1e6, 5_000)])
    rows = [(place, float(value)) for place, value in enumerate(values[np.isfinite(values)])]
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, d DOUBLE); CREATE MATERIALIZED VIEW v AS SELECT k, MAX(d) AS d FROM a GROUP BY k;" + sink(shop, "v"))
        db.push("a", rows)
        db.end()
        db.drain()
        assert shop.rows("SELECT k, d FROM t ORDER BY k") == rows


@pytest.mark.parametrize(("most", "room"), [(7, 1 << 30), (1 << 30, 200), (1, 1)])
def test_texts_of_many_rows_are_never_one_array(monkeypatch: pytest.MonkeyPatch, most: int, room: int) -> None:
    """An array of texts ends at 2 GB: rows are cut before they are texts, and none is lost or doubled."""
    monkeypatch.setattr(columns, "ROWS", most)
    monkeypatch.setattr(columns, "ROOM", room)
    rows = pa.table({"k": [f"{n}" * (n % 9) for n in range(100)], "n": list(range(100))})
    parts = [json.loads(part) for part in columns.parts_as_json(schema(("k", STRING), ("n", BIGINT)), rows)]
    assert [row for part in parts for row in part] == [list(row.values()) for row in rows.to_pylist()]
    assert max(map(len, parts)) < min(most + 1, 100)
    assert list(columns.parts_as_json(schema(("k", STRING), ("n", BIGINT)), rows.slice(0, 0))) == []


def test_texts_that_other_collations_take_for_one_are_several(shop: MariaDbServer) -> None:
    """In keys: with a space behind them, in capitals, with accents; and long ones that begin alike."""
    texts = ["a", "a ", "A", "á", "", " ", "x" * 1000 + "1", "x" * 1000 + "2", "\U0001f9e3"]
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k STRING, v INT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM a GROUP BY k;" + sink(shop, "v"))
        for value in (1, 2):
            db.push("a", [(text, value) for text in texts])
            db.end()
            check(shop, db, "v", "t")
        db.delete("a", [(text, value) for text in texts[::2] for value in (1, 2)])
        db.end()
        check(shop, db, "v", "t")


def test_names_are_identifiers_whatever_is_in_them(shop: MariaDbServer) -> None:
    name = 'x`; DROP TABLE sash_sinks; -- %s %'
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, v INT); CREATE MATERIALIZED VIEW v AS SELECT k AS `select`, SUM(v) AS `a\"b'c%s;{}` FROM a GROUP BY k")
        db.execute(f"CREATE SINK `weird \" {{}}` FROM v TO MYSQL WITH (dsn = '{shop.dsn}', table = '{name}')")
        for _ in range(2):
            db.push("a", [(1, 2), (None, 3)])
            db.end()
            check(shop, db, "v", shop.quoted(name))
    assert len(shop.rows("SELECT * FROM sash_sinks")) == 1


def test_changes_are_appended_with_sign_and_instant(shop: MariaDbServer) -> None:
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(shop, "plain", mode="changes"))
        for start in range(0, 60, 15):
            db.push("s", seconds(start, 15))
            check_changes(shop, db, "plain", "t")
        db.end()
        check_changes(shop, db, "plain", "t")
        assert len(shop.rows("SELECT * FROM t")) > 60


def test_a_batch_of_many_statements(shop: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is as long as a statement may be, and no row is cut."""
    monkeypatch.setattr(columns, "BYTES", 1000)
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k BIGINT, v STRING); CREATE MATERIALIZED VIEW v AS SELECT k, MAX(v) AS v FROM a GROUP BY k;" + sink(shop, "v"))
        for value in ("x", "y" * 300, "z" * 3000):
            db.push("a", [(key, value) for key in (*range(50), None)])
            db.end()
            check(shop, db, "v", "t")


@pytest.mark.parametrize("second", [(1, "y"), (None, "z")])
def test_a_key_that_is_none_is_told_and_nothing_is_half_written(shop: MariaDbServer, second: tuple[Any, ...]) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k INT, v STRING); CREATE MATERIALIZED VIEW v AS SELECT k, v FROM a;" + sink(shop, "v", key="k"))
        db.push("a", [(1, "x"), (None, "n")])
        db.end()
        check(shop, db, "v", "t")
        before = table(shop, "t", ["k", "v"])
        db.push("a", [(7, "other"), second])
        db.end()
        with pytest.raises(SashError, match=r'sink "t" cannot write: k is no key: .*; drop the sink and create it with columns'):
            db.drain()
        assert table(shop, "t", ["k", "v"]) == before
        with pytest.warns(SinkWarning, match="not everything was written"):
            db.close()


def test_a_value_that_mysql_cannot_hold_is_an_error_and_never_null(shop: MariaDbServer) -> None:
    shop.execute("CREATE TABLE short (k varchar(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, d double)")
    with sash.connect() as db:
        db.execute("CREATE TABLE a (k STRING, d DOUBLE); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(d) AS d FROM a GROUP BY k;")
        db.execute(sink(shop, "v", "short") + ";" + sink(shop, "v", "t"))
        db.push("a", [("abcd", 1.0)])
        db.end()
        with pytest.raises(SashError, match="Data too long for column"):
            db.drain()
        db.execute("DROP SINK short")
        db.push("a", [("e", float("inf"))])
        db.end()
        with pytest.raises(SashError, match='column "d" of the view is NaN or infinite in a row, which a DOUBLE of MySQL cannot be'):
            db.drain()
        assert not shop.rows("SELECT * FROM short") and shop.rows("SELECT * FROM t") in ([], [("abcd", 1.0)])
        with pytest.warns(SinkWarning):
            db.close()


REFUSED = [
    ("plain TO MYSQL WITH (dsn = 'DSN', table = 't')", 'view "plain" has no key'),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 't', colour = 'red')", 'a sink has no option "colour"; options are: dsn,'),
    ("counts TO MYSQL WITH (dsn = 'DSN')", "a sink in MySQL needs a table"),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 'a.b.c')", "'a.b.c' is no name of a table"),
    ("counts TO MYSQL WITH (table = 't')", "a sink in MySQL needs dsn or dsn_env"),
    ("counts TO MYSQL WITH (dsn_env = 'SASH_NOT_SET', table = 't')", 'the environment variable "SASH_NOT_SET" is not set'),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 'nowhere.t')", "MySQL 127.0.0.1:.*Unknown database 'nowhere'"),
    ("counts TO MYSQL WITH (dsn = 'postgresql://x@y/z', table = 't')", "the DSN cannot be understood"),
    ("counts TO MYSQL WITH (dsn = 'mysql://x@y', table = 't')", "the DSN cannot be understood: it wants a user, a host and a database"),
    ("counts TO MYSQL WITH (dsn = 'mysql://x@y:port/z', table = 't')", "the DSN cannot be understood"),
    ("counts TO MYSQL WITH (dsn = 'DSN?local_infile=1', table = 't')", 'the DSN has no parameter "local_infile"; those that it may have: unix_socket,'),
    ("counts TO MYSQL WITH (dsn = 'mysql://x@127.0.0.1:1/y', table = 't')", "MySQL 127.0.0.1:1/y cannot be reached"),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 'other')", "table shop.other has other columns: k text, n int; the sink writes: k longtext, n bigint"),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 'loose')", 'column "k" of table shop.loose is compared by utf8mb4_general_ci, by which texts that differ may be one'),
    ("counts TO MYSQL WITH (dsn = 'DSN', table = 'full')", "table shop.full has rows that no sink has written; empty it"),
    ("arrays TO MYSQL WITH (dsn = 'DSN', table = 't', mode = 'changes')", "ARRAY<BIGINT> has no type in MySQL"),
    (f"counts TO MYSQL WITH (dsn = 'DSN', table = '{'x' * 65}')", "is longer than the 64 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_at_once(shop: MariaDbServer, text: str, told: str) -> None:
    exact = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    shop.execute(
        "CREATE TABLE other (k text, n int)", "CREATE TABLE `full` (k text CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, n bigint, total bigint)",
        "INSERT INTO `full` VALUES ('a', 1, 2)", "CREATE TABLE loose (k text CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n bigint, total bigint)",
        f"CREATE TABLE padded (k text {exact}, n bigint, total bigint)",
    )  # fmt: skip
    with sash.connect() as db:
        db.execute(JOB + "CREATE MATERIALIZED VIEW arrays AS SELECT ARRAY_AGG(v) AS a FROM s [ROWS 3]")
        with pytest.raises(SqlError, match=told):
            db.execute("CREATE SINK x FROM " + text.replace("DSN", shop.dsn))
        assert db.execute("SHOW SINKS").to_arrow().num_rows == 0  # type: ignore[union-attr]
    assert shop.rows("SELECT k, n FROM `full`") == [("a", 1)]


@pytest.mark.parametrize("dsn", ["mysql://u:s3cr3t@127.0.0.1:1/d", "mariadb://u:s3cr3t@127.0.0.1:1/d"])
def test_a_password_is_neither_taken_nor_shown(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with sash.connect() as db:
        db.execute(JOB)
        with pytest.raises(SqlError, match="the dsn has a password in it") as told:
            db.execute(f"CREATE SINK x FROM counts TO MYSQL WITH (dsn = '{dsn}', table = 't')")
        assert "s3cr3t" not in str(told.value)
        monkeypatch.setenv("SASH_TEST_DSN", dsn)
        with pytest.raises(SqlError, match="cannot be reached") as told:
            db.execute("CREATE SINK x FROM counts TO MYSQL WITH (dsn_env = 'SASH_TEST_DSN', table = 't')")
        assert "s3cr3t" not in str(told.value) + repr(told.value.__cause__) + repr(told.value.__context__)


@pytest.mark.parametrize("told", ["5.7.44", "8.0.16", "5.5.5-10.5.1-MariaDB-log", "10.3.39-MariaDB"])
def test_a_server_that_is_too_old_is_told_so(told: str) -> None:
    class Old:
        def get_server_info(self) -> str:
            return told

    with pytest.raises(SashError, match=r"which is too old; it takes MySQL 8.0.17 or MariaDB 10.6"):
        mysql.check_version(Old())
    for good in ("8.0.17", "8.4.2", "10.6.3-MariaDB"):
        Old.get_server_info = lambda self, good=good: good  # type: ignore[method-assign, misc]
        assert mysql.check_version(Old()) == ("MariaDB" in good)


def test_a_certificate_is_verified_where_the_dsn_names_an_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyMySQL 1.2 checks nothing when it is told `ssl_ca` alone."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=db.example", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(words, check=True, capture_output=True)
    monkeypatch.setattr(pymysql, "connect", partial(pymysql.connect, defer_connect=True))
    made = [mysql.MySqlServer("x", f"mysql://u@db.example/d{more}", None).connect() for more in (f"?ssl_ca={cert}", "?ssl_ca=", "")]
    seen = [(one.ctx.verify_mode, one.ctx.check_hostname, bool(one.ctx.get_ca_certs())) for one in made]  # type: ignore[attr-defined]
    assert seen[0] == (ssl.CERT_REQUIRED, True, True)
    assert [one[:2] for one in seen[1:]] == [(ssl.CERT_REQUIRED, True), (ssl.CERT_NONE, False)]  # by those of the system; by nobody


def test_a_server_that_falls_silent_is_given_up(shop: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql, "READING", 1)
    spec = SinkSpec("s", "v", schema(("k", STRING)), Mode.CHANGES, (), None, (("dsn", shop.dsn), ("table", "t")))
    one = MySqlSink(spec, "run")
    assert one.begin() is None and one.write(Taken(None, 1, ONE)) == 1
    with shop.silent(), pytest.raises(SashError, match="timed out"):
        one.write(Taken(1, 2, ONE))
    one.close()
    after = MySqlSink(spec, "run")
    position = after.begin()
    assert shop.rows("SELECT count(*) FROM t") == [(position,)]
    after.close()


def test_a_batch_is_never_written_twice_and_a_table_has_one_writer(shop: MariaDbServer) -> None:
    spec = SinkSpec("s", "v", schema(("k", STRING)), Mode.CHANGES, (), None, (("dsn", shop.dsn), ("table", "t")))
    one = MySqlSink(spec, "run")
    assert one.begin() is None
    assert one.write(Taken(None, 1, ONE)) == one.write(Taken(1, 2, ONE)) == 1
    for after, position in ((None, 1), (1, 2), (7, 8)):
        with pytest.raises(SinkMoved) as moved:
            one.write(Taken(after, position, ONE))
        assert moved.value.position == 2
    later = MySqlSink(spec, "run", epoch=1)
    assert later.begin() == 2
    with pytest.raises(SinkRefused, match=r"another run has taken over table shop.t"):
        one.write(Taken(2, 3, ONE))
    assert later.write(Taken(2, 3, ONE)) == 1 and shop.rows("SELECT count(*) FROM t") == [(3,)]
    with pytest.raises(SinkRefused, match=r"has rows that another run has written; .* or existing = 'append'"):
        MySqlSink(spec, "other").begin()
    one.close()
    later.close()


def test_who_dies_between_making_the_table_and_taking_it_leaves_no_false_position(shop: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """MySQL ends a transaction by CREATE TABLE: the new one is empty, whatever the record said of the old one."""
    spec = SinkSpec("s", "v", schema(("k", STRING)), Mode.UPSERT, (0,), None, (("dsn", shop.dsn), ("table", "t")))
    one = MySqlSink(spec, "run")
    assert one.begin() is None and one.write(Taken(None, 7, ONE)) == 1
    one.close()
    shop.execute("DROP TABLE t")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("sash.sinks.mysql.writer.OpenMySqlTable.locked_record", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        MySqlSink(spec, "run").begin()
    assert shop.rows("SELECT * FROM t") == []
    assert MySqlSink(spec, "run").begin() is None


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_whose_end_nobody_heard(shop: MariaDbServer, monkeypatch: pytest.MonkeyPatch, is_committed: bool) -> None:
    """Half of all writes fail: after they were committed, or before. Each is there once."""
    write, calls = MySqlSink.write, []

    def failing(self: MySqlSink, taken: Taken) -> int:
        calls.append(taken)
        if len(calls) % 2:
            if is_committed:
                write(self, taken)
            raise SashError("the line is dead")
        return write(self, taken)

    monkeypatch.setattr(MySqlSink, "write", failing)
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(shop, "counts") + ";" + sink(shop, "plain", "changes", mode="changes"))
        for start in range(0, 24, 6):
            db.push("s", seconds(start, 6))
            for _ in range(50):
                with suppress(SashError):
                    db.drain()
                    break
            check(shop, db, "counts", "t")
            check_changes(shop, db, "plain", "changes")


def test_a_server_that_dies_and_comes_back(shop: MariaDbServer) -> None:
    with sash.connect(history="all") as db:
        db.execute(JOB + sink(shop, "counts", "a") + ";" + sink(shop, "plain", "b", mode="changes"))
        db.push("s", seconds(0, 10))
        db.drain()
        shop.kill()
        try:
            db.push("s", seconds(10, 10))
            with pytest.raises(SashError, match=r'sink "a" cannot write: MySQL 127.0.0.1:'):
                db.drain()
        finally:
            shop.start()
            shop.execute("USE shop")
        check(shop, db, "counts", "a")
        check_changes(shop, db, "plain", "b")


def test_a_table_that_somebody_dropped_or_changed(shop: MariaDbServer) -> None:
    with sash.connect() as db:
        db.execute(JOB + sink(shop, "counts"))
        db.push("s", seconds(0, 20))
        db.drain()
        shop.execute("DROP TABLE t")
        db.push("s", seconds(20, 20))
        with suppress(SashError):  # it may have found out, and made it, before this was asked
            db.drain()
        check(shop, db, "counts", "t")
        shop.execute("DELETE FROM t WHERE k = 'k1'")
        db.push("s", seconds(40, 60))
        with pytest.raises(SashError, match=r"table shop.t does not hold what was written to it: of \d+ rows that change or go \d+ were found"):
            db.drain()
        db.execute("DROP SINK t;" + sink(shop, "counts"))
        check(shop, db, "counts", "t")


@pytest.mark.laws
@pytest.mark.parametrize(("seed", "size"), [(12, 20), (13, 200)])
def test_every_push_is_in_the_tables(shop: MariaDbServer, seed: int, size: int) -> None:
    views = {name: query.replace(", ARRAY_AGG(auction) AS auctions", "") for name, query in VIEWS.items()}
    with sash.connect() as db:
        db.execute(STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in views.items()))
        db.execute(";".join(sink(shop, name, name) for name in views))
        for _ in played(db, seed, 60, size):
            for name in views:
                check(shop, db, name, name)
        db.end()
        db.execute("DELETE FROM sellers WHERE region = 'south'")
        for name in views:
            check(shop, db, name, name)


def test_on_spark_each_batch_is_written_once(shop: MariaDbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver dies when a batch is in the table and not committed; the next one goes on."""
    job = JOB.replace("BY ts;", "BY ts WITH (format = 'csv', path = 'in');") + sink(shop, "counts", "a") + ";" + sink(shop, "plain", "b", mode="changes")
    put(tmp_path, 0, 30)
    db = connected(monkeypatch, tmp_path, job, batch_rows=10, flush=False)
    db.start()
    query = query_of(db)
    down = query._write_down
    monkeypatch.setattr(query, "_write_down", lambda kind, *rest: (_ for _ in ()).throw(SashError("dead")) if kind == "commits" else down(kind, *rest))
    with pytest.raises(SashError, match="dead"):
        query.processAllAvailable()
    db.sinks.drain()
    db._running()._held.close()  # what the system does for who is dead
    put(tmp_path, 30, 20)
    after = connected(monkeypatch, tmp_path, job, batch_rows=10)
    after.run()
    answer = after.final("counts").to_arrow()
    assert table(shop, "a", answer.column_names) == bag(answer)
    changes = pa.concat_tables(after._running().ledger.read_all("plain.changes.parquet"))
    assert len(changes) > 40 and table(shop, "b", changes.column_names) == bag(changes)


def test_a_table_of_mysql_is_followed(shop: MariaDbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.execute(
        "CREATE TABLE rates (code varchar(9), rate double, m decimal(9, 2), at datetime(6), zoned timestamp(6) NULL, day date, b bit(1), c bool, n bigint)",
        "INSERT INTO rates VALUES ('a', 1.5, 1.25, '2026-01-01 12:00:00.000001', NULL, '2026-01-01', 1, true, 5), ('%', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        "SET time_zone = '+02:00'", "UPDATE rates SET zoned = '2026-01-01 12:00:00' WHERE code = 'a'", "SET time_zone = '+00:00'",
    )  # fmt: skip
    kinds = "code STRING, rate DOUBLE, m DECIMAL(9, 2), at TIMESTAMP, zoned TIMESTAMP, day DATE, b BOOLEAN, c BOOLEAN, n BIGINT"
    monkeypatch.setenv("SHOP_DSN", shop.dsn)
    with sash.connect() as db:
        db.execute(f"CREATE TABLE rates ({kinds}) WITH (format = 'jdbc', dsn = '{shop.dsn}', table = 'shop.rates', every = '1 HOUR')")
        db.execute("CREATE TABLE some (code STRING) WITH (format = 'jdbc', dsn_env = 'SHOP_DSN', query = 'SELECT code FROM rates WHERE code LIKE ''%''')")
        row, empty = sorted(db.query("SELECT * FROM rates").to_arrow().to_pylist(), key=lambda row: row["rate"] is None)
        assert row == {
            "code": "a", "rate": 1.5, "m": Decimal("1.25"), "at": datetime(2026, 1, 1, 12, 0, 0, 1), "zoned": datetime(2026, 1, 1, 10),
            "day": date(2026, 1, 1), "b": True, "c": True, "n": 5,
        }  # fmt: skip
        assert empty.pop("code") == "%" and set(empty.values()) == {None}
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT code FROM rates WHERE n > 0")
        shop.execute("INSERT INTO rates (code, n) VALUES ('b', 1)", "DELETE FROM rates WHERE code = 'a'")
        db.drain()
        assert db.view("v").to_pylist() == [{"code": "b"}] and len(db.query("SELECT * FROM some").to_arrow()) == 2
        shop.execute("DROP TABLE rates")
        with pytest.raises(SashError, match=r"MySQL 127.0.0.1:\d+/shop: Table 'shop.rates' doesn't exist"):
            db.drain()
        with pytest.raises(SashError, match="needs dsn or dsn_env"):
            db.execute(f"CREATE TABLE x (code STRING) WITH (format = 'jdbc', dsn = '{shop.dsn}', dsn_env = 'SHOP_DSN', table = 't')")
