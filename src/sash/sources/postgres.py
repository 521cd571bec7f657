"""PostgreSQL: where it is, what of that may be shown, and the rows of a table of it.

A password never stands in SQL: libpq has better places for it, or the whole DSN comes from an environment variable, by its name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from sash.errors import SashError
from sash.schema import Schema

PASSWORD_PLACES = "dsn_env = 'NAME' (an environment variable with the whole DSN), PGPASSWORD, ~/.pgpass or a service file"
SECRETS = ("password", "sslpassword")
DEFAULTS = {"client_encoding": "utf8", "connect_timeout": 10, "tcp_user_timeout": 30_000, "keepalives_idle": 30}

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Server:
    """The database that options name, for who is called so: `sink top`."""

    who: str
    dsn: str | None
    dsn_env: str | None

    @staticmethod
    def of(who: str, options: Mapping[str, str]) -> Server:
        """Exactly one place is named, and no secret stands in the SQL."""
        server = Server(who, options.get("dsn"), options.get("dsn_env"))
        if (server.dsn is None) == (server.dsn_env is None):
            raise SashError(f"{who} in PostgreSQL needs dsn or dsn_env", "add dsn = 'postgresql://user@host:5432/database'")
        if server.dsn is not None and any(server._parameters().get(secret) for secret in SECRETS):
            raise SashError("the dsn has a password in it, which would be seen by all who see the SQL", f"use {PASSWORD_PLACES}")
        return server

    def connect(self) -> Connection:
        """A connection of one's own; an error names the place, and no secret."""
        known: dict[str, Any] = {**DEFAULTS, "application_name": f"sash {self.who}"[:63], **self._parameters()}
        try:
            return psycopg.connect(**known)
        except psycopg.Error as error:
            why = f"{self} cannot be reached: {first_line(error)}"
            raise SashError(why, "see that it runs and lets this user in") from None

    def __str__(self) -> str:
        known = self._parameters()
        host = known.get("host") or known.get("hostaddr") or (f"service {known['service']}" if known.get("service") else "local")
        port = f":{known['port']}" if known.get("port") else ""
        return f"PostgreSQL {host}{port}/{known.get('dbname') or known.get('user') or ''}"

    def _parameters(self) -> dict[str, Any]:
        dsn = self.dsn if self.dsn_env is None else os.environ.get(self.dsn_env)
        if dsn is None:
            raise SashError(f'the environment variable "{self.dsn_env}" is not set', "let it hold the DSN of the database")
        try:
            return dict(conninfo_to_dict(dsn))
        except psycopg.Error:
            raise SashError("the DSN cannot be understood", "write it as 'postgresql://user@host:5432/database'") from None


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@dataclass(frozen=True)
class PostgresTable:
    """A table, or what a query gives, with columns of these names."""

    server: Server
    schema: Schema
    table: str | None
    query: str | None

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, at one instant of the database; instants with a time zone are those of UTC, without it."""
        names = sql.SQL(", ").join(map(sql.Identifier, self.schema.names))
        with self.server.connect() as connection:
            try:
                connection.execute("SET TIME ZONE 'UTC'")
                found = connection.execute(sql.SQL("SELECT {} FROM {} AS rows").format(names, self._source())).fetchall()
            except psycopg.Error as error:
                way_out = "see that the columns of the table are those that were declared, and that the user may read it"
                raise SashError(f"{self.server}: {first_line(error)}", way_out) from None
        return [tuple(value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value for value in row) for row in found]

    def _source(self) -> sql.Composable:
        if self.table is not None:
            return sql.Identifier(*self.table.split("."))
        assert self.query is not None
        return sql.SQL("({})").format(sql.SQL(self.query))  # who declares the table writes SQL of both kinds
