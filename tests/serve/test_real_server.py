"""Clients that mean no good against a real `sash serve`, in a process of its own: refused or bounded, and those who mean well are
answered meanwhile."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from lengths import LONG
from serve.conftest import Serving

MEGABYTE = 1 << 20
WIDE = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true');
    CREATE MATERIALIZED VIEW w AS SELECT k FROM s [RANGE 1 HOUR];
"""


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Serving]:
    """A server of a view of a thousand rows."""
    lines = (f"2024-01-01 00:00:00.{number:06},{number}\n" for number in range(1000))
    (folder / "s.csv").write_text("ts,k\n" + "".join(lines))
    (folder / "job.sql").write_text(WIDE)
    words = [sys.executable, "-m", "sash.cli.main", "serve", str(folder / "job.sql"), "--port", "0", *options]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        told = ""
        while (found := re.search(r"//127\.0\.0\.1:(\d+)/sash", told)) is None:
            line = process.stdout.readline()  # type: ignore[union-attr]
            assert line, process.stderr.read()  # type: ignore[union-attr]
            told += line
        while "still served" not in (line := process.stderr.readline()):  # type: ignore[union-attr]
            assert line
        yield Serving(int(found[1]), 0, process)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def memory(serving: Serving, what: str = "VmRSS") -> int:
    """Megabytes of the server, now or at most so far."""
    lines = Path(f"/proc/{serving.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(what))


def test_a_wrong_password(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    passwords.write_text("ann:sesame\n")
    passwords.chmod(0o600)
    with started(tmp_path, "--password-file", str(passwords)) as serving:
        right = f"postgresql://ann:sesame@127.0.0.1:{serving.port}/sash"
        for wrong in (right.replace("sesame", "wrong"), right.replace("ann:", "eve:"), right.replace(":sesame", "")):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(wrong)
        with psycopg.connect(right) as connection:
            assert connection.execute("SELECT COUNT(*) AS n FROM w").fetchall() == [(1000,)]


def test_a_thousand_connections_and_garbage(serving: Serving) -> None:
    """None of which says who it is; those that are in are answered, and others get in again when the crowd has gone."""
    before = memory(serving)
    with psycopg.connect(serving.url) as connection:
        crowd = []
        for number in range(1000):
            try:
                sock = socket.create_connection(("127.0.0.1", serving.port), 10)
                sock.sendall((b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 200, b"", b"\0\0")[number % 4])
                crowd.append(sock)
            except OSError:
                break
        assert len(crowd) > 100
        assert connection.execute("SELECT n FROM totals WHERE k = 'a'").fetchall() == [(2,)]
        for sock in crowd:
            sock.close()
    for _ in range(100):
        try:
            with psycopg.connect(serving.url) as connection:
                assert connection.execute("SELECT n FROM totals WHERE k = 'a'").fetchall() == [(2,)]
            break
        except psycopg.OperationalError:  # it still looks who has hung up
            continue
    else:
        pytest.fail("nobody is let in any more")
    assert memory(serving) < before + 200


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of another process is asked of /proc")
def test_a_large_answer_to_a_reader_that_sleeps(tmp_path: Path) -> None:
    """100 MB, in the long form 1 GB: what is sent is cut from the answer piece by piece, so memory does not depend on who reads how slowly,
    and others are answered."""
    length = 1000 if LONG else 100  # bytes of each of a million rows
    with started(tmp_path, "--statement-timeout", "300") as serving:
        before, size = memory(serving), 0
        with psycopg.connect(serving.url) as sleepy, sleepy.cursor() as cursor, psycopg.connect(serving.url, autocommit=True) as other:
            with cursor.copy(f"COPY (SELECT a.k, REPEAT('x', {length}) AS text FROM w a CROSS JOIN w b) TO STDOUT") as copy:
                for part in copy:
                    size += len(part)
                    if size > 10 * MEGABYTE > size - len(part):  # it looks away, and the server waits with what is left
                        asleep = memory(serving)
                        assert [other.execute("SELECT k FROM w WHERE k = 7").fetchall() for _ in range(50)] == [[(7,)]] * 50
                        assert memory(serving) < asleep + 50
            assert size > 1_000_000 * length
            assert memory(serving, "VmHWM") < before + 4 * size // MEGABYTE + 200
