"""Arrow Flight: views and queries as Arrow batches, for pandas, polars and whatever else reads Arrow.

    list_flights                            every view that is kept
    get_flight_info, get_schema             of a view (path) or of a SELECT (command)
    do_get                                  the rows; a ticket is the name of a view or the text of a SELECT

Nothing can be put here and no action is known: clients read.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from sash.bounds import asked_within
from sash.errors import SashError
from sash.serve.access import Access
from sash.serve.limits import AnswerBytes, Limits, QuestionBounds, TooLong
from sash.serve.postgres.row_pieces import pieces
from sash.serve.postgres.scram import Verifier
from sash.serve.served import Served
from sash.sql.syntax.text_positions import quoted

TOKENS = 10_000  # logins that are remembered; the oldest go


class FlightDoor(flight.FlightServerBase):  # type: ignore[misc]
    """Serves from when it is made until `close`."""

    def __init__(self, served: Served, port: int, access: Access, limits: Limits) -> None:
        self._served = served
        self._budget, self._limits = AnswerBytes(limits.answer_bytes), limits
        options: dict[str, Any] = {}
        scheme = "grpc"
        if access.certificate is not None:
            scheme, options["tls_certificates"] = "grpc+tls", [access.certificate]
        if access.users is not None:
            options["middleware"] = {"login": Logins(access)}
            options["auth_handler"] = Handshake()
        host = f"[{access.host}]" if ":" in access.host else access.host
        self._location = f"{scheme}://{host}"
        try:
            super().__init__(f"{self._location}:{port}", **options)
        except (OSError, pa.ArrowException) as error:
            raise SashError(f"cannot listen on {host}:{port}: {error}", "choose another port") from None

    def close(self) -> None:
        """It serves since it was made. (`serve()` would wait here, and take the signals of the process for itself.)"""
        self.shutdown()

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[flight.FlightInfo]:
        names = [view.name for view in list(self._served.catalog.views.values()) if view.is_materialized]
        for name in names:
            if name.encode().startswith(criteria):
                yield self._info(flight.FlightDescriptor.for_path(name))

    def get_flight_info(self, context: Any, descriptor: flight.FlightDescriptor) -> flight.FlightInfo:
        return self._info(descriptor)

    def get_schema(self, context: Any, descriptor: flight.FlightDescriptor) -> flight.SchemaResult:
        return flight.SchemaResult(self._columns(self._query(_asked(descriptor))))

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.GeneratorStream:
        query = self._query(_text(ticket.ticket))
        try:
            with asked_within(QuestionBounds(self._timer(context), self._limits.question_bytes)):
                table = self._served.query(query).to_arrow()
            self._budget.take(table.nbytes)
        except SashError as error:
            raise _told(error) from None
        return flight.GeneratorStream(table.schema, self._batches(table))

    def _timer(self, context: Any) -> Callable[[], None]:
        """Whether a question that begins now may go on."""
        seconds, begun = self._limits.statement_seconds, time.monotonic()

        def check() -> None:
            if context.is_cancelled():
                raise TooLong("the client has gone")
            if seconds and time.monotonic() - begun > seconds:
                raise TooLong(f"the question took longer than {seconds:g} seconds")

        return check

    def _batches(self, table: pa.Table) -> Iterator[pa.Table]:
        try:
            yield from pieces(table)
        finally:
            self._budget.give_back(table.nbytes)

    def _info(self, descriptor: flight.FlightDescriptor) -> flight.FlightInfo:
        asked = _asked(descriptor)
        schema = self._columns(self._query(asked))
        return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(asked.encode(), [])], -1, -1)

    def _columns(self, query: str) -> pa.Schema:
        try:
            return self._served.columns(query)
        except SashError as error:
            raise _told(error) from None

    def _query(self, asked: str) -> str:
        """A name stands for all rows of what it names."""
        found = self._served.catalog.find(asked.strip())
        return f"SELECT * FROM {quoted(found.name)}" if found is not None else asked


class Logins(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Every call carries a name and a password, or the token that a call with them was given."""

    def __init__(self, access: Access) -> None:
        super().__init__()
        self._access = access
        self._tokens: dict[str, None] = {}
        self._lock = threading.Lock()

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> Login:
        value = next((values[0] for name, values in headers.items() if name.lower() == "authorization"), "")
        kind, _, secret = value.partition(" ")
        if kind.lower() == "bearer" and secret in self._tokens:
            return Login(secret)
        if kind.lower() == "basic" and self._is_known(secret):
            return Login(self._new_token())
        raise flight.FlightUnauthenticatedError("a name and a password are needed, and these are not known")

    def _is_known(self, encoded: str) -> bool:
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        verifier = self._access.verifier(user)
        assert verifier is not None
        given = Verifier.of_password(password, verifier.salt, verifier.rounds)
        return hmac.compare_digest(given.stored_key, verifier.stored_key) and self._access.is_known(user)

    def _new_token(self) -> str:
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = None
            while len(self._tokens) > TOKENS:
                self._tokens.pop(next(iter(self._tokens)))
        return token


class Handshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """Clients ask for a token by a handshake, whose headers `Logins` has looked at before."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        return

    def is_valid(self, token: bytes) -> bytes:
        return b""


class Login(flight.ServerMiddleware):  # type: ignore[misc]
    """Tells the client its token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def sending_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"}


def _asked(descriptor: flight.FlightDescriptor) -> str:
    if descriptor.descriptor_type == flight.DescriptorType.CMD:
        return _text(descriptor.command)
    if len(descriptor.path) != 1:
        raise flight.FlightServerError("the path of a view is its name")
    return _text(descriptor.path[0])


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise flight.FlightServerError("the text is not UTF-8") from None


def _told(error: SashError) -> flight.FlightServerError:
    return flight.FlightServerError(str(error))
