"""Statements, answered. One backend serves all sessions of a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sash.errors import SashError
from sash.serve.access import Access
from sash.serve.limits import AnswerBytes, Limits
from sash.serve.postgres import wire_types as wire
from sash.serve.postgres.answers import Copied, Done, Rows
from sash.serve.postgres.catalog.database import CatalogDatabase
from sash.serve.postgres.commands import Ask, Change, Read
from sash.serve.postgres.copy_syntax import CopyOut
from sash.serve.postgres.copying import CopyFormat
from sash.serve.postgres.definitions import check_definition
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.lexer import Statement
from sash.serve.postgres.routing import is_about_catalog
from sash.serve.postgres.settings import VERSION, Settings
from sash.serve.postgres.translate import DATABASE, SCHEMA, Translated, translate
from sash.serve.served import Served

LOOK = 0.5  # seconds after which a copy of changes looks whether its client is still there
# What stands in for a value that is not known yet, when only the columns of an answer are asked for.
_STAND_INS: Mapping[int, Any] = {
    wire.INT2: 0, wire.INT4: 0, wire.INT8: 0, wire.FLOAT4: 0.0, wire.FLOAT8: 0.0, wire.BOOL: False,
    wire.TIMESTAMP: datetime(2000, 1, 1), wire.TIMESTAMPTZ: datetime(2000, 1, 1),
    **{array: list[Any]() for array in wire.ELEMENTS},
}


@dataclass(frozen=True)
class Client:
    """Who asks."""

    user: str
    number: int
    settings: Settings
    is_cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass
class Backend:
    served: Served
    access: Access
    limits: Limits
    catalog: CatalogDatabase = field(init=False)
    answer_bytes: AnswerBytes = field(init=False)
    started: datetime = field(default_factory=lambda: datetime.now(UTC).replace(tzinfo=None))

    def __post_init__(self) -> None:
        self.catalog = CatalogDatabase(self.served.catalog)
        self.answer_bytes = AnswerBytes(self.limits.answer_bytes)

    def read(self, command: Read, parameters: Sequence[Any], client: Client, seconds: float | None) -> Rows:
        statement = command.spelled_out
        if command.may_be_about_catalog and is_about_catalog(statement, self.served.catalog):
            return Rows(self._from_catalog(statement, parameters, client, seconds))
        sql = command.written.sql(parameters)
        if sql is None:
            return Rows(self._asked(translate(statement, parameters), self.served.query))
        try:
            return Rows(self.served.query(sql).to_arrow())
        except SashError as error:
            raise translate(statement, parameters).error(error) from None

    def columns(self, command: Read, oids: Sequence[int], client: Client) -> pa.Schema:
        """The columns of an answer before its values are known."""
        statement = command.spelled_out
        stand_ins = [_STAND_INS.get(oid) for oid in oids]
        if is_about_catalog(statement, self.served.catalog):
            return self._from_catalog(statement, stand_ins, client, self.limits.statement_seconds).schema
        translated = translate(statement, stand_ins)
        with _told(translated):
            return self.served.columns(translated.sql)

    def ask(self, command: Ask) -> Rows:
        return Rows(self._asked(translate(command.statement), self.served.execute))

    def change(self, command: Change, parameters: Sequence[Any]) -> Done:
        """INSERT, CREATE and so on, by a client that may."""
        if command.grant not in self.access.grants:
            raise WireError("25006", "this server is read-only", f'it was not started with the grant "{command.grant}"')
        words = list(command.statement.words())
        translated = translate(command.statement, parameters)
        with _told(translated):
            if command.grant == "define":
                check_definition(translated.sql)
            self.served.execute(translated.sql)
        return Done("INSERT 0 0" if words[0] == "INSERT" else f"{words[0]} 0" if words[0] in ("UPDATE", "DELETE") else words[0])

    def copied(self, command: CopyOut, client: Client, seconds: float | None) -> Copied:
        CopyFormat.of(command.options)
        if command.query is not None:
            table = self.read(Read(command.query), (), client, seconds).table
            return Copied(table.schema, iter([table]), command.options)
        assert command.subscribes is not None
        return self._subscribed(command.subscribes, command.options)

    def _subscribed(self, view: str, options: dict[str, str]) -> Copied:
        try:
            schema = self.served.change_columns(view)
            changes = self.served.subscribe(view, LOOK)
        except SashError as error:
            raise Translated().error(error) from None

        def batches() -> Iterator[pa.Table | None]:
            try:
                while True:
                    for batch in changes:
                        yield pa.Table.from_batches([batch])
                    if changes.is_over:
                        return
                    yield None
            except SashError as error:
                raise Translated().error(error) from None
            finally:
                changes.close()

        return Copied(schema, batches(), options)

    def _asked(self, translated: Translated, ask: Callable[[str], Any]) -> pa.Table:
        with _told(translated):
            found = ask(translated.sql)
        if found is None:
            raise WireError("42601", "this statement gives no rows")
        return found.to_arrow()

    def _from_catalog(self, statement: Statement, parameters: Sequence[Any], client: Client, seconds: float | None) -> pa.Table:
        session = {
            "version": f"PostgreSQL {VERSION} (Sash)", "database": DATABASE, "schema": SCHEMA, "user": client.user,
            "process": client.number, "nothing": None, "started": self.started,
        }
        try:
            return self.catalog.query(statement.sql, parameters, session, client.settings, seconds or None, client.is_cancelled)
        except SashError as error:
            raise Translated().error(error) from None

    def close(self) -> None:
        self.catalog.close()


class _told:
    """Errors of Sash in the words of the protocol, at their place in the text of the client."""

    def __init__(self, translated: Translated) -> None:
        self._translated = translated

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SashError):
            raise self._translated.error(error) from None


def deadline(limits: Limits, settings: Settings) -> float | None:
    """The seconds that a statement may take: those of the server, or fewer if the client says so."""
    asked, given = settings.seconds(), limits.statement_seconds or None
    return min(filter(None, (asked, given)), default=None)


def moment() -> float:
    return time.monotonic()
