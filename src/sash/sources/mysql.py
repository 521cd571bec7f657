"""MySQL and MariaDB: where the database is, what of that may be shown, and the rows of a table of it.

    mysql://user@host:3306/database?ssl_ca=/path    or mariadb://…; `unix_socket`, `ssl_ca`, `ssl_cert`, `ssl_key` may be said

A password never stands in SQL: it is in MYSQL_PWD, or the whole DSN comes from an environment variable, by its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import CLIENT

from sash.errors import SashError, choices
from sash.schema import Kind, Schema
from sash.sources.databases import MYSQL_SCHEMES

PASSWORD_PLACES = "dsn_env = 'NAME' (an environment variable with the whole DSN), or MYSQL_PWD"
FILES = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key")  # what may stand behind the question mark
EXAMPLE = "write it as 'mysql://user@host:3306/database'"
# NULL for a wrong value, a cut text or a day that is none is not what anybody wants; UTC is the time zone of all that is stored.
SESSION = "SET SESSION sql_mode = 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'"
LEAST = {True: (10, 6, 0), False: (8, 0, 17)}  # of MariaDB, since JSON_TABLE; of MySQL, since utf8mb4_0900_bin
CONNECTING = 10  # seconds
# Seconds for which a server may say nothing, or take nothing. One whose machine is gone says nothing for ever, and who closes the
# database would wait for it; a lock is waited for 50 s, after which the server itself gives up.
READING = WRITING = 120


class Connection(Protocol):
    """What is used of PyMySQL's, which has no types."""

    def cursor(self) -> Any: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...

    def get_server_info(self) -> object: ...


@dataclass(frozen=True)
class MySqlServer:
    """The database that options name, for who is called so: `sink top`."""

    who: str
    dsn: str | None
    dsn_env: str | None

    @staticmethod
    def of(who: str, options: Mapping[str, str]) -> MySqlServer:
        """Exactly one place is named, and no secret stands in the SQL."""
        server = MySqlServer(who, options.get("dsn"), options.get("dsn_env"))
        if (server.dsn is None) == (server.dsn_env is None):
            raise SashError(f"{who} in MySQL needs dsn or dsn_env", "add dsn = 'mysql://user@host:3306/database'")
        if server.dsn is not None and "password" in server._parameters:
            raise SashError("the dsn has a password in it, which would be seen by all who see the SQL", f"use {PASSWORD_PLACES}")
        return server

    def connect(self) -> Connection:
        """A connection of one's own; an error names the place, and no secret."""
        known = {"password": os.environ.get("MYSQL_PWD", ""), **self._parameters}
        if "ssl_ca" in known:  # for PyMySQL it says whom to trust, and not that anything is to be checked
            known |= {"ssl_verify_cert": True, "ssl_verify_identity": True}
        try:
            connection: Connection = pymysql.connect(
                **known, charset="utf8mb4", connect_timeout=CONNECTING, read_timeout=READING, write_timeout=WRITING,
                init_command=SESSION, client_flag=CLIENT.FOUND_ROWS, program_name=f"sash {self.who}"[:63],
            )  # fmt: skip
            return connection
        except (pymysql.MySQLError, OSError, RuntimeError) as error:
            why = f"{self} cannot be reached: {first_line(error)}"
            raise SashError(why, "see that it runs and lets this user in") from None

    def __str__(self) -> str:
        known = self._parameters
        return f"MySQL {known.get('unix_socket') or known['host']}:{known['port']}/{known['database']}"

    @property
    def database(self) -> str:
        return str(self._parameters["database"])

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        """What PyMySQL calls them."""
        dsn = self.dsn if self.dsn_env is None else os.environ.get(self.dsn_env)
        if dsn is None:
            raise SashError(f'the environment variable "{self.dsn_env}" is not set', "let it hold the DSN of the database")
        try:
            parts = urlsplit(dsn)
            host, port, more = parts.hostname, parts.port, dict(parse_qsl(parts.query, True, bool(parts.query)))
        except ValueError:
            raise SashError("the DSN cannot be understood", EXAMPLE) from None
        database = unquote(parts.path[1:])
        if parts.scheme not in MYSQL_SCHEMES or not host or not database or not parts.username:
            raise SashError("the DSN cannot be understood: it wants a user, a host and a database", EXAMPLE)
        if unknown := sorted(more.keys() - set(FILES)):
            raise SashError(f'the DSN has no parameter "{unknown[0]}"', f"those that it may have: {choices(FILES)}")
        known = {"host": host, "port": port or 3306, "user": unquote(parts.username), "database": database, **more}
        return known if parts.password is None else known | {"password": unquote(parts.password)}


def first_line(error: Exception) -> str:
    """What the server says, without its number."""
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return next(iter(text.strip().splitlines()), type(error).__name__)


def named(*parts: str) -> str:
    """An identifier, whatever is in it; a percent sign would be one of a parameter."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts).replace("%", "%%")


def run(connection: Connection, text: str, values: Sequence[object] = ()) -> tuple[int, Sequence[tuple[Any, ...]]]:
    """A statement: how many rows it found, and what it gives."""
    with connection.cursor() as cursor:
        count = cursor.execute(text, tuple(values))
        return count, cursor.fetchall()


def check_version(connection: Connection) -> bool:
    """Whether it is MariaDB; an error if it is too old."""
    told = str(connection.get_server_info())
    is_mariadb = "mariadb" in told.lower()
    numbers = re.findall(r"\d+", told.removeprefix("5.5.5-") if is_mariadb else told)
    if tuple(map(int, numbers[:3])) < LEAST[is_mariadb]:
        raise SashError(f"the server is {told}, which is too old", "it takes MySQL 8.0.17 or MariaDB 10.6, or newer")
    return is_mariadb


@dataclass(frozen=True)
class MySqlTable:
    """A table, or what a query gives, with columns of these names."""

    server: MySqlServer
    schema: Schema
    table: str | None
    query: str | None

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows, at one instant of the database."""
        names = ", ".join(map(named, self.schema.names))
        connection = self.server.connect()
        try:
            _, found = run(connection, f"SELECT {names} FROM {self._source()} AS sash_rows")
        except pymysql.MySQLError as error:
            way_out = "see that the columns of the table are those that were declared, and that the user may read it"
            raise SashError(f"{self.server}: {first_line(error)}", way_out) from None
        finally:
            connection.close()
        truths = [place for place, type_ in enumerate(self.schema.types) if type_.kind is Kind.BOOLEAN]
        return [_with_truths(row, truths) for row in found] if truths else list(found)

    def _source(self) -> str:
        if self.table is not None:
            return named(*self.table.split("."))
        assert self.query is not None
        return f"({self.query.replace('%', '%%')})"  # who declares the table writes SQL of both kinds


def _with_truths(row: Sequence[Any], places: Iterable[int]) -> tuple[Any, ...]:
    """MySQL has numbers and bits for them."""
    values = list(row)
    for place in places:
        value = values[place]
        values[place] = None if value is None else any(value) if isinstance(value, bytes) else bool(value)
    return tuple(values)
