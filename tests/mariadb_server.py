"""A MariaDB of one's own, in a folder and on a port of this machine, which lives as long as the tests that use it.

It is looked for in PATH, in /usr/sbin, and in the folder that SASH_TEST_MARIADB names (a Debian package that was unpacked there). Where it
is not installed, tests that ask for it are skipped, and say so.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pymysql = pytest.importorskip("pymysql", reason="PyMySQL is not installed")

STARTING = 120  # seconds
DATABASE = "shop"


class MariaDbServer:
    """`dsn` names a database of it; kill() and start() are what happens to servers."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None

    @property
    def dsn(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        settings = (f"--datadir={self.folder / 'data'}", "--bind-address=127.0.0.1", f"--port={self.port}", f"--socket={self.folder / 'socket'}",
                    f"--pid-file={self.folder / 'pid'}", "--skip-networking=0", "--innodb-buffer-pool-size=64M")  # fmt: skip
        command = [_tool("mariadbd"), "--no-defaults", *_base(), *settings, f"--user={getpass.getuser()}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        end = time.monotonic() + STARTING
        while True:
            try:
                pymysql.connect(host="127.0.0.1", port=self.port, user="root", connect_timeout=2).close()
                return
            except pymysql.MySQLError:
                if time.monotonic() > end or self._process.poll() is not None:
                    pytest.skip(f"MariaDB did not start: {(self.folder / 'log').read_text()[-500:]}")
                time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a machine that loses its power does."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.kill()
            self._process.wait(STARTING)
            self._process = None

    @contextmanager
    def silent(self) -> Iterator[None]:
        """As one whose machine is gone: nobody says that the connection has ended."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._connected().cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def execute(self, *statements: str) -> None:
        for statement in statements:
            self.rows(statement)

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True, charset="utf8mb4")
            self.rows(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            self._connection.select_db(DATABASE)
        return self._connection

    def clear(self) -> None:
        """As if nobody had been here."""
        self.execute(f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}")


@contextmanager
def mariadb_server() -> Iterator[MariaDbServer]:
    folder = Path(tempfile.mkdtemp(prefix="sash-mariadb-"))
    try:
        made = [_tool("mariadb-install-db"), "--no-defaults", *(_base() or ["--basedir=/usr"]), f"--datadir={folder / 'data'}",
                "--auth-root-authentication-method=normal", "--skip-test-db", f"--user={getpass.getuser()}"]  # fmt: skip
        done = subprocess.run(made, capture_output=True, text=True, cwd=folder, env=_environment())
        if done.returncode:
            pytest.skip(f"MariaDB could not be set up: {(done.stdout + done.stderr).strip()[-300:]}")
        server = MariaDbServer(folder, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tool(name: str) -> str:
    root = os.environ.get("SASH_TEST_MARIADB")
    places = [f"{root}/usr/sbin", f"{root}/usr/bin"] if root else ["/usr/sbin", "/usr/bin"]
    found = shutil.which(name, path=os.pathsep.join([*places, *([] if root else [os.environ.get("PATH", "")])]))
    if found is None:
        pytest.skip(f"MariaDB is not installed: there is no {name}")
    return found


def _base() -> list[str]:
    root = os.environ.get("SASH_TEST_MARIADB")
    return [f"--basedir={root}/usr", f"--lc-messages-dir={root}/usr/share/mysql"] if root else []


def _environment() -> dict[str, str]:
    root = os.environ.get("SASH_TEST_MARIADB")
    return {**os.environ, **({"LD_LIBRARY_PATH": f"{root}/usr/lib/x86_64-linux-gnu"} if root else {})}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
