"""What a client that may define things may not say in CREATE and DROP.

    CREATE SINK, DROP SINK              never: a sink writes to files and other servers
    CREATE STREAM, CREATE TABLE         no options but those by which nothing outside of the database is read

It is told from the statements as Sash will carry them out, so that no spelling of an option gets past it.
"""

from __future__ import annotations

from sash.errors import choices
from sash.serve.postgres.failures import WireError
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import CreateAggregate, CreateIndex, CreateStream, CreateView, Drop, Statement

INSIDE = ("changes", "sign")  # options of tables whose changes are in a stream
OF_FILES = ("path", "schema_file", "descriptor_file")
OWN_FILES = "a client may not name files of the server"
OWN_SOURCES = "a client may not say what the server connects to"


def check_definition(sql: str) -> None:
    """An error, if a client says in it what only those may who start the server."""
    for statement in parse_statements(sql):
        _check(statement)


def _check(statement: Statement) -> None:
    match statement:
        case CreateStream():
            _check_options([key for key, _ in statement.spec.options if key not in INSIDE])
        case CreateView() | CreateAggregate() | CreateIndex():
            return
        case Drop() if statement.kind != "SINK":
            return
        case _:
            raise WireError("42501", OWN_SOURCES, "create and drop sinks where the server is started")


def _check_options(outside: list[str]) -> None:
    if outside:
        what = OWN_FILES if any(key in OF_FILES for key in outside) else OWN_SOURCES
        hint = f"declare it where the server is started; options for clients are: {choices(INSIDE)}"
        raise WireError("42501", f"{what}: option {choices(outside)}", hint)
