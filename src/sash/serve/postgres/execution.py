"""The statements of one session, carried out: what it has prepared and begun, its settings, its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from sash.bounds import asked_within
from sash.serve.limits import QuestionBounds
from sash.serve.postgres.answers import Answer, Done, Rows
from sash.serve.postgres.backend import Backend, Client, deadline
from sash.serve.postgres.commands import (
    ALL,
    Accepted,
    Ask,
    Change,
    CloseCursor,
    Command,
    Declare,
    Discard,
    Fetch,
    Read,
    Set,
    ShowSetting,
    Transaction,
)
from sash.serve.postgres.copy_syntax import CopyOut
from sash.serve.postgres.failures import WireError
from sash.serve.postgres.portals import Named, Portal, Prepared


class Execution:
    """`status` is that of the transaction: none (I), begun (T) or failed (E)."""

    def __init__(self, backend: Backend, client: Client) -> None:
        self._backend = backend
        self._client = client
        most = backend.limits.kept_statements
        self.prepared: Named[Prepared] = Named("prepared statement", "26000", most)
        self.portals: Named[Portal] = Named("portal", "34000", most)
        self.status = "I"
        self.is_cancelled = client.is_cancelled
        self._seconds: float | None = None
        self._end: float | None = None
        self._news: list[tuple[str, str]] = []

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A statement is at work: from now on it may be cancelled, and its time runs."""
        self.is_cancelled.clear()
        self._seconds = deadline(self._backend.limits, self._client.settings)
        self._end = None if self._seconds is None else time.monotonic() + self._seconds
        with asked_within(QuestionBounds(self.check, self._backend.limits.question_bytes)):
            yield

    def check(self) -> None:
        if self.is_cancelled.is_set():
            raise WireError("57014", "the statement was cancelled by its user")
        if self._end is not None and time.monotonic() > self._end:
            raise WireError("57014", f"the statement took longer than {self._seconds:g} seconds")

    def answer(self, portal: Portal) -> Answer:
        """Carry out the statement of a portal, which keeps the answer."""
        asked = portal.prepared.command
        assert asked is not None
        if self.status == "E" and not isinstance(asked, Transaction):
            raise WireError("25P02", "the transaction has failed, and nothing is done until it ends", "send ROLLBACK")
        answer = portal.keep(self._carried_out(asked, portal), self._backend.answer_bytes)
        if not isinstance(asked, CopyOut):
            self.check()
        else:
            self._end = None if asked.subscribes is not None else self._end
        return answer

    def columns(self, prepared: Prepared) -> pa.Schema | None:
        """The columns that a statement will give; None if it gives no rows."""
        asked = prepared.command
        if isinstance(asked, Read):
            return self._backend.columns(asked, prepared.oids, self._client)
        if isinstance(asked, Ask):
            return self._backend.ask(asked).table.schema
        if isinstance(asked, ShowSetting):
            return self._shown(asked).table.schema
        if isinstance(asked, Fetch) and not asked.is_move:
            return self._cursor(asked.name)[1].table.schema
        return None

    def taken_news(self) -> list[tuple[str, str]]:
        """Settings that have changed and that clients are told of."""
        taken, self._news = self._news, []
        return taken

    def failed(self) -> None:
        self.status = "E" if self.status == "T" else self.status

    def end_of_statement(self) -> None:
        """Outside of a transaction nothing lasts but cursors that were declared to."""
        if self.status == "I":
            self._end_portals(is_transaction=False)

    def close_portal(self, name: str) -> None:
        portal = self.portals.pop(name)
        if portal is not None:
            portal.let_go(self._backend.answer_bytes)

    def let_go_of_all(self) -> None:
        for name, _ in self.portals:
            self.close_portal(name)

    def _carried_out(self, asked: Command, portal: Portal) -> Answer:
        match asked:
            case Read():
                return self._backend.read(asked, portal.parameters, self._client, self._seconds)
            case Ask():
                return self._backend.ask(asked)
            case Change():
                return self._backend.change(asked, portal.parameters)
            case CopyOut():
                return self._backend.copied(asked, self._client, self._seconds)
            case Transaction():
                return self._transaction(asked)
            case Set():
                return self._set(asked)
            case ShowSetting():
                return self._shown(asked)
            case Accepted():
                return Done(asked.tag)
            case Discard():
                return self._discard(asked)
            case Declare():
                return self._declare(asked, portal)
            case Fetch():
                return self._fetch(asked)
            case CloseCursor():
                return self._close_cursors(asked)

    def _transaction(self, asked: Transaction) -> Done:
        if asked.word == "BEGIN":
            self.status = "T" if self.status == "I" else self.status
            return Done(asked.tag)
        if asked.word == "BACK":
            self.status = "T" if self.status == "E" else self.status
            return Done(asked.tag)
        has_failed, self.status = self.status == "E", "I"
        self._end_portals(is_transaction=True)
        return Done("ROLLBACK" if has_failed else asked.tag)

    def _end_portals(self, *, is_transaction: bool) -> None:
        for name, portal in self.portals:
            if not (portal.is_cursor and (portal.lasts or not is_transaction)):
                self.close_portal(name)

    def _set(self, asked: Set) -> Done:
        told = self._client.settings.set(asked.name, asked.value)
        if told is not None:
            self._news.append((told, self._client.settings.get(asked.name)))
        return Done("SET" if asked.value is not None else "RESET")

    def _shown(self, asked: ShowSetting) -> Rows:
        value = self._client.settings.get(asked.name)
        return Rows(pa.table({asked.name: pa.array([value], pa.string())}), "SHOW")

    def _discard(self, asked: Discard) -> Done:
        if asked.name is not None and self.prepared.pop(asked.name) is None:
            raise WireError("26000", f'there is no prepared statement "{asked.name}"')
        for name, _ in self.prepared if asked.name is None else ():
            self.prepared.pop(name)
        for name, portal in self.portals if asked.has_cursors else ():
            if portal.is_cursor:
                self.close_portal(name)
        return Done(asked.tag)

    def _declare(self, asked: Declare, portal: Portal) -> Done:
        rows = self._backend.read(Read(asked.query), portal.parameters, self._client, self._seconds)
        cursor = Portal(portal.prepared, [], [], is_cursor=True, lasts=asked.lasts or self.status == "I")
        self.portals.put(asked.name, cursor)
        try:
            cursor.keep(rows, self._backend.answer_bytes)
        except Exception:
            self.portals.pop(asked.name)
            raise
        return Done("DECLARE CURSOR")

    def _cursor(self, name: str) -> tuple[Portal, Rows]:
        portal = self.portals.get(name)
        if not portal.is_cursor or not isinstance(portal.answer, Rows):
            raise WireError("34000", f'there is no cursor "{name}"')
        return portal, portal.answer

    def _fetch(self, asked: Fetch) -> Answer:
        cursor, rows = self._cursor(asked.name)
        left = rows.table.num_rows - cursor.sent
        count = left if asked.count == ALL else min(asked.count, left)
        found = rows.table.slice(cursor.sent, count)
        cursor.sent += count
        return Done(f"MOVE {count}") if asked.is_move else Rows(found, "FETCH")

    def _close_cursors(self, asked: CloseCursor) -> Done:
        if asked.name is not None:
            self._cursor(asked.name)
            self.close_portal(asked.name)
            return Done("CLOSE CURSOR")
        for name, portal in self.portals:
            if portal.is_cursor:
                self.close_portal(name)
        return Done("CLOSE CURSOR ALL")
