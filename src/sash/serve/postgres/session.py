"""One connection, from its first message to its last. It runs in a thread of its own.

    simple      Query                                                one text, any number of statements
    extended    Parse, Bind, Describe, Execute, Close, Sync          prepared statements, values, rows in pieces; after an error
                                                                     all is skipped until the next Sync
"""

from __future__ import annotations

from collections.abc import Callable

from sash.errors import SashError
from sash.serve.limits import TooMuch
from sash.serve.postgres.answers import Answer, Copied, Done, Rows, row_description
from sash.serve.postgres.backend import Backend, Client
from sash.serve.postgres.body import Body
from sash.serve.postgres.channel import Channel, Vanished
from sash.serve.postgres.commands import Command, Fetch, Read, command
from sash.serve.postgres.copying import CopyFormat
from sash.serve.postgres.execution import Execution
from sash.serve.postgres.failures import WireError, bad_protocol
from sash.serve.postgres.lexer import Statement, statements
from sash.serve.postgres.parameters import read_parameters, spread
from sash.serve.postgres.portals import Portal, Prepared
from sash.serve.postgres.row_pieces import row_messages
from sash.serve.postgres.translate import parameter_types
from sash.sql.literals import NoLiteral


class Session:
    """What one client has prepared and begun, and the state of its transaction: none (I), begun (T) or failed (E)."""

    def __init__(self, channel: Channel, backend: Backend, client: Client) -> None:
        self._channel = channel
        self._backend = backend
        self._run = Execution(backend, client)
        self._skips = False
        self._handlers: dict[bytes, Callable[[Body], None]] = {
            b"Q": self._query, b"P": self._parse, b"B": self._bind, b"D": self._describe, b"E": self._execute, b"C": self._close,
            b"S": self._sync, b"H": lambda _: self._channel.flush(),
        }

    def cancel(self) -> None:
        """From another thread: the statement that is being answered ends with an error, if there is one."""
        self._run.is_cancelled.set()

    def serve(self) -> None:
        self._ready()
        try:
            while self._one_message():
                pass
        finally:
            self._run.let_go_of_all()

    def _one_message(self) -> bool:
        tag, body = self._channel.read(self._backend.limits.message_bytes)
        if tag == b"X":
            return False
        if tag in (b"d", b"c", b"f") or (self._skips and tag not in (b"S", b"Q")):
            return True  # what is left of a copy, or of what failed
        handler = self._handlers.get(tag)
        if handler is None:
            raise bad_protocol(f"a message of the kind {tag!r} is not known")
        if tag == b"Q":
            handler(Body(body))
            return True
        try:
            handler(Body(body))
        except Vanished:
            raise
        except Exception as error:
            self._fail(error)
            self._skips = True
        return True

    # Simple

    def _query(self, body: Body) -> None:
        self._skips = False
        try:
            found = statements(body.text())
            if not found:
                self._channel.put(b"I")
            for statement in found:
                self._run_simple(statement)
        except Vanished:
            raise
        except Exception as error:
            self._fail(error)
        self._run.end_of_statement()
        self._ready()

    def _run_simple(self, statement: Statement) -> None:
        portal = Portal(Prepared(command(statement), ()), [], [])
        with self._run.timed():
            answer = self._run.answer(portal)
            try:
                if isinstance(answer, Rows):
                    self._channel.put(b"T", row_description(answer.table.schema, [0] * answer.table.num_columns))
                self._send(portal, answer, 0)
            finally:
                portal.let_go(self._backend.answer_bytes)

    # Extended

    def _parse(self, body: Body) -> None:
        name, text = body.text(), body.text()
        oids = [body.uint32() for _ in range(body.uint16())]
        found = statements(text)
        if len(found) > 1:
            raise WireError("42601", "a prepared statement is one statement")
        types = parameter_types(found[0], oids) if found else tuple(oids)
        if not name:
            self._run.prepared.pop("")
        self._run.prepared.put(name, Prepared(command(found[0]) if found else None, types))
        self._channel.put(b"1")

    def _bind(self, body: Body) -> None:
        name, statement = body.text(), body.text()
        prepared = self._run.prepared.get(statement)
        parameters = read_parameters(body, prepared.oids)
        formats = body.int16s()
        if any(format_ not in (0, 1) for format_ in formats):
            raise bad_protocol("a column is text (0) or binary (1)")
        if not name:
            self._run.close_portal("")
        self._run.portals.put(name, Portal(prepared, parameters, formats))
        self._channel.put(b"2")

    def _describe(self, body: Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            self._describe_statement(self._run.prepared.get(name))
        elif kind == b"P":
            self._describe_portal(self._run.portals.get(name))
        else:
            raise bad_protocol("a statement (S) or a portal (P) is described")

    def _describe_statement(self, prepared: Prepared) -> None:
        types = [oid or 25 for oid in prepared.oids]
        self._channel.put(b"t", len(types).to_bytes(2, "big") + b"".join(oid.to_bytes(4, "big") for oid in types))
        schema = self._run.columns(prepared)
        if schema is None:
            self._channel.put(b"n")
        else:
            self._channel.put(b"T", row_description(schema, [0] * len(schema)))

    def _describe_portal(self, portal: Portal) -> None:
        """A query is answered here already: its columns come with its rows."""
        if portal.answer is None and _is_query(portal.prepared.command):
            with self._run.timed():
                self._run.answer(portal)
        if isinstance(portal.answer, Rows):
            table = portal.answer.table
            self._channel.put(b"T", row_description(table.schema, spread(portal.formats, table.num_columns)))
        else:
            self._channel.put(b"n")

    def _execute(self, body: Body) -> None:
        name, most = body.text(), body.int32()
        portal = self._run.portals.get(name)
        if portal.prepared.command is None:
            self._channel.put(b"I")
            return
        with self._run.timed():
            answer = portal.answer if portal.answer is not None else self._run.answer(portal)
            self._send(portal, answer, max(0, most))

    def _close(self, body: Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            self._run.prepared.pop(name)
        else:
            self._run.close_portal(name)
        self._channel.put(b"3")

    def _sync(self, _: Body) -> None:
        self._skips = False
        self._run.end_of_statement()
        self._ready()

    # What is sent

    def _send(self, portal: Portal, answer: Answer, most: int) -> None:
        for name, value in self._run.taken_news():
            self._channel.put(b"S", name.encode() + b"\0" + value.encode() + b"\0")
        if isinstance(answer, Done):
            self._complete(answer.tag)
        elif isinstance(answer, Copied):
            self._copy(answer)
        else:
            self._send_rows(portal, answer, most)

    def _send_rows(self, portal: Portal, answer: Rows, most: int) -> None:
        left = answer.table.num_rows - portal.sent
        count = min(left, most) if most else left
        rows = answer.table if count == answer.table.num_rows else answer.table.slice(portal.sent, count)
        for messages in row_messages(rows, answer.types, spread(portal.formats, answer.table.num_columns)):
            self._run.check()
            self._channel.put_messages(messages)
        portal.sent += count
        if most and count == most and left > count:
            self._channel.put(b"s")
        else:
            self._complete(f"{answer.tag} {count}")

    def _copy(self, answer: Copied) -> None:
        format_, count = CopyFormat.of(answer.options), 0
        self._channel.put(b"H", format_.start(len(answer.schema)))
        for message in format_.head(answer.schema):
            self._channel.put_messages(message)
        self._channel.flush()
        for table in answer.batches:
            if table is None:
                self._look_up()
                continue
            for messages in format_.rows(table, is_first=count == 0):
                self._run.check()
                self._channel.put_messages(messages)
            count += table.num_rows
            self._channel.flush()
        for message in format_.foot(is_empty=count == 0):
            self._channel.put_messages(message)
        self._channel.put(b"c")
        self._complete(f"COPY {count}")

    def _look_up(self) -> None:
        """While nothing comes: was it cancelled, is anybody there?"""
        self._run.check()
        if self._channel.is_gone():
            raise Vanished

    def _complete(self, tag: str) -> None:
        self._channel.put(b"C", tag.encode() + b"\0")

    def _ready(self) -> None:
        self._channel.put(b"Z", self._run.status.encode())
        self._channel.flush()

    def _fail(self, error: Exception) -> None:
        self._run.failed()
        self._channel.put_error(in_protocol(error))
        if isinstance(error, WireError) and error.is_fatal:
            self._channel.flush()
            raise Vanished


def in_protocol(error: Exception) -> WireError:
    """Any error, for the client. What nobody thought of is told by its kind alone: it may hold what is no business of clients."""
    if isinstance(error, WireError):
        return error
    if isinstance(error, TooMuch):
        return WireError("53200", error.message, error.hint)
    if isinstance(error, NoLiteral):
        return WireError(error.code, error.message, error.hint)
    if isinstance(error, SashError):
        return WireError("XX000", error.message, error.hint)
    if isinstance(error, RecursionError):
        return WireError("54001", "the statement is nested too deeply")
    return WireError("XX000", f"an error inside of the server: {type(error).__name__}")


def _is_query(asked: Command | None) -> bool:
    return isinstance(asked, Read | Fetch) or (asked is not None and type(asked).__name__ in ("Ask", "ShowSetting"))
