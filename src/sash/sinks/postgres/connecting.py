"""Where a sink connects to, and what of that may be shown.

A password never stands in SQL: libpq has better places for it, or the whole DSN comes from an environment variable, by its name.
"""

from __future__ import annotations

import os
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from sash.errors import SashError
from sash.sinks.options import SinkSpec

PASSWORD_PLACES = "dsn_env = 'NAME' (an environment variable with the whole DSN), PGPASSWORD, ~/.pgpass or a service file"
SECRETS = ("password", "sslpassword")
DEFAULTS = {"client_encoding": "utf8", "connect_timeout": 10, "tcp_user_timeout": 30_000, "keepalives_idle": 30}


def connect(spec: SinkSpec) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of one's own; an error names the place, and no secret."""
    known: dict[str, Any] = {**DEFAULTS, "application_name": f"sash sink {spec.name}"[:63], **_parameters(spec)}
    try:
        return psycopg.connect(**known)
    except psycopg.Error as error:
        why = f"{shown(spec)} cannot be reached: {first_line(error)}"
        raise SashError(why, "see that it runs and lets this user in") from None


def check_dsn(spec: SinkSpec) -> None:
    """Exactly one place is named, and no secret stands in the SQL."""
    if (spec.option("dsn") is None) == (spec.option("dsn_env") is None):
        raise SashError("a sink in PostgreSQL needs dsn or dsn_env", "add dsn = 'postgresql://user@host:5432/database'")
    if spec.option("dsn") is not None and any(_parameters(spec).get(secret) for secret in SECRETS):
        raise SashError("the dsn has a password in it, which would be seen by all who see the SQL", f"use {PASSWORD_PLACES}")


def shown(spec: SinkSpec) -> str:
    """The database, for people."""
    known = _parameters(spec)
    host = known.get("host") or known.get("hostaddr") or (f"service {known['service']}" if known.get("service") else "local")
    port = f":{known['port']}" if known.get("port") else ""
    return f"PostgreSQL {host}{port}/{known.get('dbname') or known.get('user') or ''}"


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _parameters(spec: SinkSpec) -> dict[str, Any]:
    variable = spec.option("dsn_env")
    dsn = spec.option("dsn") if variable is None else os.environ.get(variable)
    if dsn is None:
        raise SashError(f'the environment variable "{variable}" is not set', "let it hold the DSN of the database")
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        raise SashError("the DSN cannot be understood", "write it as 'postgresql://user@host:5432/database'") from None
