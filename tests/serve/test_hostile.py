"""Clients that mean no good, or that have gone wrong: they are refused or bounded, and the engine is as it was."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.errors import SashError
from sash.serve.door import Door
from sash.serve.limits import Limits
from sash.serve.postgres.channel import Channel
from sash.serve.postgres.scram import Verifier


def url(door: Door, user: str = "me", more: str = "") -> str:
    return f"postgresql://{user}@127.0.0.1:{door.port}/sash{more}"


@pytest.fixture(autouse=True)
def the_engine_is_untouched(db: sash.Database) -> Iterator[None]:
    yield
    assert sorted(tuple(row.values()) for row in db.view("totals")) == [("a", 1), ("b", 2)]


def raw(door: Door) -> socket.socket:
    return socket.create_connection(("127.0.0.1", door.port), 10)


def started(door: Door) -> socket.socket:
    """A connection that is in, spoken to by hand."""
    sock = raw(door)
    body = struct.pack("!i", 3 << 16) + b"user\0me\0database\0sash\0\0"
    sock.sendall(struct.pack("!i", len(body) + 4) + body)
    seen = b""
    while not seen.endswith(b"Z\0\0\0\5I"):
        seen += sock.recv(65536)
    return sock


def message(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack("!i", len(body) + 4) + body


def till_the_end(sock: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    sock.settimeout(20)
    seen = b""
    try:
        while part := sock.recv(65536):
            seen += part
    except ConnectionResetError:
        pass
    return seen


def works(door: Door) -> bool:
    with psycopg.connect(url(door)) as connection:
        return connection.execute("SELECT total FROM totals WHERE k = 'a'").fetchall() == [(1,)]


@pytest.mark.parametrize("garbage", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 100, b"\xff" * 5000, struct.pack("!ii", 2**31 - 1, 3 << 16), struct.pack("!i", 4),
    struct.pack("!ii", 9, 3 << 16) + b"u", struct.pack("!ii", 12, 80877102) + b"\0" * 4, b"\x16\x03\x01\x02\x00\x01\x00",
    struct.pack("!ii", 8, 3 << 16), struct.pack("!ii", 17, 2 << 16) + b"user\0x\0\0\0",
    struct.pack("!ii", 8, 80877103) * 9,
])  # fmt: skip
def test_garbage_on_the_port(door: Door, garbage: bytes) -> None:
    with raw(door) as sock:
        sock.sendall(garbage)
        sock.shutdown(socket.SHUT_WR)
        seen = till_the_end(sock)
        assert len(seen) < 1000 and b"Traceback" not in seen
    assert works(door)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(b"QPBDECSHFdcfXp?\0"), st.binary(max_size=60)), max_size=6))
def test_any_bytes_in_any_message(door: Door, messages: list[tuple[int, bytes]]) -> None:
    with started(door) as sock:
        sock.sendall(b"".join(message(bytes([tag]), body) for tag, body in messages))
        sock.shutdown(socket.SHUT_WR)
        assert b"Traceback" not in till_the_end(sock)


def test_a_message_that_is_too_long(door: Door) -> None:
    with started(door) as sock:
        sock.sendall(b"Q" + struct.pack("!i", 2**31 - 1))
        assert b"08P01" in till_the_end(sock)
    with started(door) as sock:
        sock.sendall(b"Q" + struct.pack("!i", -5))
        assert b"08P01" in till_the_end(sock)


def test_a_client_that_says_nothing_is_sent_away(db: sash.Database) -> None:
    with db.serve(0, limits=Limits(login_seconds=0.3)) as door, raw(door) as sock:
        begun = time.monotonic()
        assert till_the_end(sock) == b"" and time.monotonic() - begun < 15


def test_a_thousand_connections(db: sash.Database) -> None:
    with db.serve(0, limits=Limits(connections=20, login_seconds=5)) as door:
        kept = [psycopg.connect(url(door)) for _ in range(20)]
        with pytest.raises(psycopg.OperationalError, match="20 connections already"):
            psycopg.connect(url(door))
        silent = []
        for _ in range(1000):
            try:
                silent.append(raw(door))
            except OSError:
                break
        assert threading.active_count() < 150
        assert kept[0].execute("SELECT total FROM totals WHERE k = 'b'").fetchall() == [(2,)]
        for sock in silent:
            sock.close()
        kept.pop().close()
        wait_until(lambda: door.postgres.connections < 20)
        for _ in range(100):
            try:
                assert works(door)
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        else:
            pytest.fail("nobody is let in any more")
        for connection in kept:
            connection.close()


def wait_until(is_so: object) -> None:
    end = time.monotonic() + 20
    while not is_so() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.02)
    assert is_so()  # type: ignore[operator]


@pytest.mark.parametrize("statement", [
    "INSERT INTO s VALUES (TIMESTAMP '2024-01-01 00:00:00', 'z', 1)", "DELETE FROM t", "UPDATE t SET label = 'x'", "DROP VIEW totals",
    "CREATE VIEW x AS SELECT k FROM totals", "CREATE STREAM f (a STRING) WITH (format = 'csv', path = '/etc/passwd')",
    "ADVANCE TO '2030-01-01 00:00:00'", "SELECT 1; DROP VIEW totals", "COPY totals FROM STDIN", "COPY totals TO '/tmp/x'",
    "COPY (SELECT 1) TO PROGRAM 'id'", "CREATE EXTENSION x", "LOAD 'x'", "ATTACH 'x'", "PRAGMA version", "INSTALL httpfs", "CALL x()",
])  # fmt: skip
def test_readers_only_read(db: sash.Database, door: Door, statement: str) -> None:
    before = list(db.catalog.names())
    with psycopg.connect(url(door), autocommit=True) as connection, pytest.raises(psycopg.Error):
        connection.execute(statement)
    assert db.catalog.names() == before


@pytest.fixture(scope="module")
def defining(db: sash.Database) -> Iterator[Door]:
    with db.serve(0, grants=["define"]) as opened:
        yield opened


def spellings(key: str) -> list[str]:
    return [key, key.upper(), f'"{key}"', f'"{key.title()}"', f'/* */ "{key}" -- path\n']


@pytest.mark.parametrize("option", [
    *(f"{key} = '{{secret}}'" for key in spellings("path")), "\"path\" = E'{secret}'", '"path" = $${secret}$$', "\"p\" . \"path\" = '{secret}'",
    *(f"format = 'jdbc', {key} = 'mysql://root@127.0.0.1:1/d', \"table\" = 'x'" for key in spellings("dsn")),
    *(f"format = 'jdbc', {key} = 'HOME', \"table\" = 'x'" for key in spellings("dsn_env")),
    "format = 'delta', \"path\" = '{secret}'", "\"format\" = 'debezium', \"key\" = 'a', \"path\" = '{secret}'", "format = 'text'",
    "encoding = 'avro', registry = 'http://127.0.0.1:1'", "encoding = 'avro', schema_file = '{secret}'", "encoding = 'json', \"topic\" = 'x'",
    "encoding = 'protobuf', message = 'x', descriptor_file = '{secret}'", "format = 'kafka', \"kafka.bootstrap.servers\" = '127.0.0.1:1'",
    "format = 'socket', host = '127.0.0.1', port = '1'", "changes = 's', \"path\" = '{secret}'",
])  # fmt: skip
@pytest.mark.parametrize("what", ["STREAM", "TABLE", "TABLE IF NOT EXISTS", "-- a\n Table"])
def test_who_may_define_names_nothing_outside(db: sash.Database, defining: Door, tmp_path: Path, what: str, option: str) -> None:
    """However the option is spelled: names in quotes went past the words that were looked for."""
    (tmp_path / "secret.csv").write_text("root:x\n")
    before = list(db.catalog.names())
    statement = f"CREATE {what} f (a STRING) WITH ({option.format(secret=tmp_path / 'secret.csv')})"
    with psycopg.connect(url(defining), autocommit=True) as connection, pytest.raises(psycopg.Error) as told:
        connection.execute(statement.encode())
    assert told.value.sqlstate == "42501" and "a client may not" in str(told.value), told.value
    assert list(db.catalog.names()) == before


@pytest.mark.parametrize("statement", [
    "CREATE SINK x FROM totals TO FILES WITH (path = '{folder}')", "create /* */ sink x FROM totals TO FILES WITH (\"path\" = '{folder}')",
    'CREATE "SINK" x FROM totals TO FILES WITH ("path" = \'{folder}\')', "DROP SINK IF EXISTS x", "DROP \"SINK\" IF EXISTS x",
    "CREATE TABLE f (a STRING) WITH (U&\"p\\0061th\" = '{folder}/f.csv')", "CREATE TABLE f (a STRING) WITH (`path` = '{folder}/f.csv')",
    'CREATE TABLE f (a STRING) WITH ("path` = \'{folder}/f.csv\') --" = \'x\')',
    "CREATE VIEW f AS SELECT * FROM csv.\"{folder}/f.csv\"", "CREATE VIEW f AS SELECT * FROM \"{folder}/f.csv\"",
    "CREATE TABLE f AS SELECT 1", "INSERT INTO t SELECT * FROM \"{folder}/f.csv\"", "EXPORT DATABASE '{folder}'", "COPY t FROM '{folder}/f.csv'",
    "CREATE VIEW f WITH (\"path\" = '{folder}') AS SELECT k FROM totals",
])  # fmt: skip
def test_no_other_way_leads_outside(db: sash.Database, defining: Door, tmp_path: Path, statement: str) -> None:
    (tmp_path / "f.csv").write_text("root:x\n")
    before = list(db.catalog.names())
    with psycopg.connect(url(defining), autocommit=True) as connection, pytest.raises(psycopg.Error) as told:
        connection.execute(statement.format(folder=tmp_path).encode())
    assert told.value.sqlstate not in (None, "XX000") and "root:" not in str(told.value)
    assert list(db.catalog.names()) == before and not db.catalog.sinks


def test_a_parameter_names_no_file(db: sash.Database, defining: Door) -> None:
    before = list(db.catalog.names())
    with psycopg.connect(url(defining), autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        psycopg.RawCursor(connection).execute("CREATE TABLE f (a STRING) WITH (\"path\" = $1)", ["/etc/passwd"])
    assert list(db.catalog.names()) == before


def test_who_may_define_defines_what_is_inside(db: sash.Database, defining: Door) -> None:
    """Also where columns have the names of options."""
    statements = (
        "CREATE STREAM moves (ts TIMESTAMP, op INT, path STRING, \"dsn\" STRING) TIMESTAMP BY ts",
        "CREATE TABLE now_there (path STRING, dsn STRING) WITH (changes = 'moves', \"Sign\" = 'op')", "CREATE TABLE plain (a STRING)",
        "CREATE MATERIALIZED VIEW paths WITH (history = '1 HOUR') AS SELECT path FROM now_there", "CREATE INDEX by_path ON paths (path)",
        "DROP INDEX by_path", "DROP VIEW paths", "DROP TABLE now_there", "DROP TABLE plain", "DROP STREAM moves",
    )
    with psycopg.connect(url(defining), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.parametrize("query", [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_text('/etc/passwd'), pg_catalog.pg_class",
    "SELECT read_text('/etc/passwd')", "SELECT getenv('HOME')", "SELECT pg_read_file('/etc/passwd')", "SELECT * FROM glob('*'), pg_class",
    "SELECT * FROM duckdb_settings(), pg_catalog.pg_class", "SELECT * FROM pg_catalog.pg_class, main.x", "SELECT pg_sleep(100)",
    "WITH x AS (SELECT * FROM read_blob('/etc/passwd')) SELECT * FROM x, pg_class", "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM pg_catalog.read_csv('/etc/passwd')", "SELECT current_setting('home_directory')", "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM (VALUES (getvariable('x'))) v, pg_class", "SELECT * FROM pg_class JOIN sqlite_scan('a', 'b') ON true",
    "SELECT nextval('x')", "SELECT query('SELECT 1')", "SELECT * FROM query('SELECT 1'), pg_class", "SELECT * FROM here.types",
    "SELECT * INTO x FROM pg_class", "SELECT * FROM pg_class; COPY pg_class TO '/tmp/x'", "SELECT dblink('x')",
    "SELECT * FROM information_schema.tables, information_schema.duckdb_secrets()", "SELECT system('id')",
    pytest.param("SELECT " + "(" * 3000 + "1" + ")" * 3000, id="parentheses"),
    pytest.param("SELECT relname FROM pg_class WHERE " + "NOT " * 3000 + "true", id="negations"),
])  # fmt: skip
def test_nothing_but_the_catalog_is_read_by_the_catalog(door: Door, query: str) -> None:
    with psycopg.connect(url(door), autocommit=True) as connection, pytest.raises(psycopg.Error) as told:
        connection.execute(query)
    assert "root:" not in str(told.value) and told.value.sqlstate not in (None, "XX000")


def test_a_catalog_query_that_takes_for_ever(db: sash.Database) -> None:
    with db.serve(0, limits=Limits(statement_seconds=0.5)) as door, psycopg.connect(url(door), autocommit=True) as connection:
        begun = time.monotonic()
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d WHERE a.attname > d.attname")
        assert time.monotonic() - begun < 30
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_statement_timeouts_of_the_client(door: Door) -> None:
    with psycopg.connect(url(door, more="?options=-c%20statement_timeout%3D250ms"), autocommit=True) as connection:
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname > c.attname || b.attname")
        connection.execute("SET statement_timeout = 0")
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


@pytest.fixture(scope="module")
def wide() -> Iterator[sash.Database]:
    """A view of 200,000 rows, some 60 MB as messages."""
    with sash.connect() as database:
        database.execute("CREATE TABLE r (k BIGINT, text STRING) RETROACTIVE; CREATE MATERIALIZED VIEW wide AS SELECT k, text FROM r")
        database.push("r", pa.table({"k": range(200_000), "text": ["x" * 250] * 200_000}))
        yield database


def test_a_large_answer_is_sent_in_pieces(wide: sash.Database) -> None:
    with wide.serve(0) as door, psycopg.connect(url(door)) as connection:
        with connection.cursor().copy("COPY (SELECT * FROM wide) TO STDOUT (FORMAT BINARY)") as copy:
            size = sum(len(part) for part in copy)
        assert size > 200_000 * 260
        assert connection.execute("SELECT k FROM wide", binary=True).fetchmany(2) == [(0,), (1,)]
        connection.commit()
        assert door.postgres.answer_bytes == 0


def test_an_answer_that_is_too_large(wide: sash.Database) -> None:
    with wide.serve(0, limits=Limits(answer_bytes=1 << 20)) as door, psycopg.connect(url(door), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.OutOfMemory, match="are left for answers"):
            connection.execute("SELECT * FROM wide")
        assert connection.execute("SELECT k FROM wide WHERE k = 7").fetchall() == [(7,)]
        assert door.postgres.answer_bytes == 0


ENDLESS = "SELECT SUM(a.k - b.k) AS n FROM wide a CROSS JOIN wide b"


@pytest.mark.parametrize("query", [
    ENDLESS, "SELECT SUM(a.k - b.k) AS n FROM wide a JOIN wide b ON a.k < b.k", "SELECT REPEAT(text, 60000) FROM wide", "SELECT LPAD(text, 16000000) FROM wide",
    "SELECT COUNT(*) AS n FROM wide, LATERAL GENERATE_SERIES(1, 1000000)", "SELECT ARRAY_REPEAT(k, 1000000) FROM wide", "SELECT SEQUENCE(k, 2000000) FROM wide",
    "SELECT SUM(a.k - b.k) AS n FROM wide a LEFT JOIN wide b ON a.text = b.text",
])  # fmt: skip
def test_a_question_that_makes_too_much(wide: sash.Database, query: str) -> None:
    with wide.serve(0, flight_port=0, limits=Limits(question_bytes=64 << 20)) as door:
        with psycopg.connect(url(door), autocommit=True) as connection:
            with pytest.raises(psycopg.errors.OutOfMemory, match="makes more than 67,108,864 bytes"):
                connection.execute(query)
            assert connection.execute("SELECT k FROM wide WHERE k = 7").fetchall() == [(7,)]
        with flight.connect(f"grpc://127.0.0.1:{door.flight_port}") as client, pytest.raises(pa.ArrowException, match="makes more than"):
            client.do_get(flight.Ticket(query.encode())).read_all()


def test_a_question_that_would_never_end(wide: sash.Database) -> None:
    """It is ended in its middle, by its time or by its user; those who push rows wait no longer than that."""
    limits = Limits(question_bytes=1 << 50, statement_seconds=0.5)
    with wide.serve(0, flight_port=0, limits=limits) as door, psycopg.connect(url(door), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="longer than 0"):
            connection.execute(ENDLESS)
        with flight.connect(f"grpc://127.0.0.1:{door.flight_port}") as client, pytest.raises(pa.ArrowException, match="longer than 0"):
            client.do_get(flight.Ticket(ENDLESS.encode())).read_all()
    with wide.serve(0, limits=Limits(question_bytes=1 << 50)) as door, psycopg.connect(url(door), autocommit=True) as connection:
        stop = threading.Timer(0.5, connection.cancel_safe)
        stop.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="cancelled by its user"):
            connection.execute(ENDLESS)
        stop.join()
        wide.push("r", [(-2, "new")])
        assert connection.execute("SELECT text FROM wide WHERE k = -2").fetchall() == [("new",)]
        wide.delete("r", [(-2, "new")])
    assert len(wide.query("SELECT a.k FROM wide a JOIN wide b USING (k) WHERE k < 5")) == 5  # nobody bounds those in the process


def test_a_question_over_a_window_that_would_never_end() -> None:
    with sash.connect() as database:
        database.execute("CREATE STREAM s (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW n AS SELECT v FROM s [RANGE 1 HOUR]")
        database.push("s", pa.table({"ts": pa.array(range(5000), pa.timestamp("us")), "v": range(5000)}))
        with database.serve(0, limits=Limits(question_bytes=64 << 20)) as door, psycopg.connect(url(door), autocommit=True) as connection:
            with pytest.raises(psycopg.errors.OutOfMemory):
                connection.execute("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR] a JOIN s [RANGE 1 HOUR] b ON a.v < b.v")
            database.push("s", [("1970-01-01 00:00:01", 5000)])
            assert connection.execute("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]").fetchall() == [(5001,)]
        assert len(database.view("n")) == 5001


def test_a_client_that_vanishes_in_the_middle(wide: sash.Database) -> None:
    with wide.serve(0) as door:
        sock = started(door)
        sock.sendall(message(b"Q", b"SELECT * FROM wide\0"))
        sock.recv(1000)
        sock.close()
        wait_until(lambda: door.postgres.connections == 0 and door.postgres.answer_bytes == 0)


def test_a_slow_reader_holds_back_nobody(wide: sash.Database) -> None:
    with wide.serve(0, limits=Limits(send_seconds=1)) as door:
        sock = started(door)
        sock.sendall(message(b"Q", b"SELECT * FROM wide\0"))
        wait_until(lambda: door.postgres.answer_bytes > 0)
        wide.push("r", [(-1, "new")])
        with psycopg.connect(url(door)) as connection:
            assert connection.execute("SELECT text FROM wide WHERE k = -1").fetchall() == [("new",)]
        wide.delete("r", [(-1, "new")])
        wait_until(lambda: door.postgres.connections == 0 and door.postgres.answer_bytes == 0)  # it has read nothing for a second
        sock.close()


def test_changes_as_they_come_and_cancelling() -> None:
    with sash.connect() as database:
        database.execute("CREATE STREAM s (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW n AS SELECT v FROM s [ROWS 1]")
        database.push("s", [("2024-01-01 00:00:00", 1)])
        with database.serve(0) as door, psycopg.connect(url(door)) as connection:
            with pytest.raises(psycopg.errors.QueryCanceled), connection.cursor().copy("COPY (SUBSCRIBE n) TO STDOUT") as copy:
                rows = copy.rows()
                for second in range(1, 4):
                    database.push("s", [(f"2024-01-01 00:00:0{second}", second)])
                found = [next(rows)]
                assert found[0][2] == "1" and found[0][0] == "1"
                connection.cancel_safe()
                for _ in rows:
                    pass
            connection.rollback()
            assert connection.execute("SELECT v FROM n").fetchall() == [(3,)]
        database.push("s", [("2024-01-01 00:00:05", 5)])


def test_a_subscriber_that_vanishes_is_noticed(db: sash.Database) -> None:
    with db.serve(0) as door:
        sock = started(door)
        sock.sendall(message(b"Q", b"COPY (SUBSCRIBE totals) TO STDOUT\0"))
        sock.recv(100)
        sock.close()
        wait_until(lambda: door.postgres.connections == 0)


def test_a_subscriber_that_sleeps_holds_back_nobody() -> None:
    """What it has not read waits within a bound, and it is sent away; those who push, and those who read, go on meanwhile."""
    with sash.connect(history=1000) as database:
        database.execute("CREATE STREAM s (ts TIMESTAMP, text STRING) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW n AS SELECT text FROM s [ROWS 1]")
        database.push("s", [(0, "first")])
        with database.serve(0, limits=Limits(send_seconds=1)) as door:
            sock, awake, seen = started(door), database.subscribe("n", timeout=0), 0
            sock.sendall(message(b"Q", b"COPY (SUBSCRIBE n) TO STDOUT\0"))
            sock.recv(10)
            for second in range(1, 80):
                database.push("s", [(second + number / 100, f"{number} " + "x" * 1000) for number in range(100)])
                seen += sum(len(batch) for batch in awake)
            assert seen == 2 * 79 * 100 - 1  # the last row is not final yet
            assert works_for(door, "SELECT COUNT(*) AS n FROM n", [(1,)])
            wait_until(lambda: door.postgres.connections == 0)
            assert till_the_end(sock)
            sock.close()
            awake.close()


def works_for(door: Door, query: str, rows: list[tuple[object, ...]]) -> bool:
    with psycopg.connect(url(door)) as connection:
        return connection.execute(query).fetchall() == rows


# Passwords and encryption


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    verifier = Verifier.of_password("sesame")
    import base64

    shown = [base64.b64encode(part).decode() for part in (verifier.salt, verifier.stored_key, verifier.server_key)]
    path.write_text(f"# who may read\nann:opén\nbob:SCRAM-SHA-256${verifier.rounds}:{shown[0]}${shown[1]}:{shown[2]}\n")
    path.chmod(0o600)
    return path


def test_passwords(db: sash.Database, passwords: Path) -> None:
    with db.serve(0, password_file=passwords) as door:
        for user, password in (("ann", "opén"), ("bob", "sesame")):
            with psycopg.connect(url(door, user), password=password) as connection:
                assert connection.execute("SELECT current_user").fetchone() == (user,)
        told = set()
        for user, password in (("ann", "sesame"), ("ann", ""), ("nobody", "opén"), ("bob", "x" * 1000)):
            with pytest.raises(psycopg.OperationalError) as refused:
                psycopg.connect(url(door, user), password=password or "-")
            told.add(str(refused.value).split("FATAL:")[-1].replace(user, "…").strip())
        assert len(told) == 1, "whether a user exists is not told"


def test_a_password_file_that_others_may_read(db: sash.Database, passwords: Path) -> None:
    passwords.chmod(0o644)
    with pytest.raises(SashError, match="others may read the password file"):
        db.serve(0, password_file=passwords)


def test_elsewhere_only_with_passwords_and_tls(db: sash.Database, passwords: Path) -> None:
    for options in ({}, {"password_file": passwords}):
        with pytest.raises(SashError, match="can be reached from other machines"):
            db.serve(0, host="0.0.0.0", **options)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert),
             "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)
    return cert, key


def test_tls(db: sash.Database, passwords: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    with db.serve(0, password_file=passwords, tls_cert=cert, tls_key=key) as door:
        checked = url(door, "ann", f"?sslmode=verify-full&sslrootcert={cert}")
        with psycopg.connect(checked, password="opén") as connection:
            assert connection.pgconn.ssl_in_use and connection.execute("SELECT count(*) FROM totals").fetchone() == (2,)
        with started_tls_request(door) as sock:
            sock.sendall(b"this is no handshake" * 10)
            till_the_end(sock)
        with psycopg.connect(url(door, "ann", "?sslmode=disable"), password="opén") as connection:
            assert not connection.pgconn.ssl_in_use  # on this machine encryption is a choice


def test_what_comes_before_the_handshake_is_not_taken_for_safe(db: sash.Database, certificate: tuple[Path, Path]) -> None:
    with db.serve(0, tls_cert=certificate[0], tls_key=certificate[1]) as door, raw(door) as sock:
        body = struct.pack("!i", 3 << 16) + b"user\0me\0\0"
        sock.sendall(struct.pack("!ii", 8, 80877103) + struct.pack("!i", len(body) + 4) + body)
        seen = till_the_end(sock)
        assert b"Z" not in seen[1:] or b"08P01" in seen


def test_a_client_may_begin_its_handshake_before_the_server_goes_on(
    db: sash.Database, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Channel._send

    def send_and_sleep(channel: Channel, data: bytes) -> None:
        send(channel, data)
        time.sleep(0.2 if bytes(data) == b"S" else 0)  # as on a busy machine: the answer to "S" is there by then

    monkeypatch.setattr(Channel, "_send", send_and_sleep)
    with db.serve(0, tls_cert=certificate[0], tls_key=certificate[1]) as door, psycopg.connect(url(door, more="?sslmode=require")) as connection:
        assert connection.pgconn.ssl_in_use


def started_tls_request(door: Door) -> socket.socket:
    sock = raw(door)
    sock.sendall(struct.pack("!ii", 8, 80877103))
    assert sock.recv(1) == b"S"
    return sock


def test_all_is_let_go_when_a_door_closes(db: sash.Database) -> None:
    before = threading.active_count()
    files = len(os.listdir("/proc/self/fd"))
    with db.serve(0) as door:
        clients = [psycopg.connect(url(door)) for _ in range(5)]
    for client in clients:
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
        client.close()
    door.close()
    wait_until(lambda: threading.active_count() <= before and len(os.listdir("/proc/self/fd")) <= files + 2)
