"""A PostgreSQL of one's own, in a folder and on a port of this machine, which lives as long as the tests that use it.

It wants no root: run as such, it is run as the user "postgres", or "nobody". Where it is not installed, tests that ask for it are
skipped, and say so.
"""

from __future__ import annotations

import os
import pwd
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

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

STARTING = 60  # seconds
USER = "sash"


class PostgresServer:
    """`dsn` names a database of it; kill() and start() are what happens to servers."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None

    @property
    def dsn(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        settings = ("fsync=off", "listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.folder}", "max_connections=40")
        command = [_tool("postgres"), "-D", str(self.folder / "data"), *(part for one in settings for part in ("-c", one))]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **_user())
        end = time.monotonic() + STARTING
        while True:
            try:
                psycopg.connect(self.dsn, connect_timeout=2).close()
                return
            except psycopg.Error:
                if time.monotonic() > end or self._process.poll() is not None:
                    pytest.skip(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-500:]}")
                time.sleep(0.05)

    def kill(self) -> None:
        """At once, as a machine that loses its power does."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(STARTING)
            self._process = None

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return list(self._connected().execute(query).fetchall())

    def execute(self, *statements: str) -> None:
        for statement in statements:
            self._connected().execute(statement)

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = psycopg.connect(self.dsn, autocommit=True)
        return self._connection

    def clear(self) -> None:
        """As if nobody had been here."""
        self.execute(f"DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO {USER}")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="sash-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _user()["user"])
        made = [_tool("initdb"), "-D", str(folder / "data"), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(made, capture_output=True, text=True, cwd=folder, **_user())
        if done.returncode:
            pytest.skip(f"PostgreSQL could not be set up: {done.stderr.strip()[-300:]}")
        server = PostgresServer(folder, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tool(name: str) -> str:
    found = shutil.which(name) or next((str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip(f"PostgreSQL is not installed: there is no {name}")
    return found


def _user() -> dict[str, Any]:
    """Root must not run it."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            return {"user": pwd.getpwnam(name).pw_name, "extra_groups": []}
        except KeyError:
            continue
    pytest.skip("PostgreSQL is not run as root, and there is no user postgres or nobody")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
