"""The doors of a database: PostgreSQL's protocol, and Arrow Flight if it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sash.serve.access import Access
from sash.serve.limits import Limits
from sash.serve.postgres.server import PostgresServer
from sash.serve.served import Served

if TYPE_CHECKING:
    from sash.serve.flight import FlightDoor


@dataclass(frozen=True)
class Door:
    """What `db.serve()` gives: where to connect, and `close()`. The database stays when its doors close."""

    host: str
    postgres: PostgresServer
    flight: FlightDoor | None

    @property
    def port(self) -> int:
        return self.postgres.port

    @property
    def flight_port(self) -> int | None:
        return None if self.flight is None else int(self.flight.port)

    @property
    def url(self) -> str:
        """As clients of PostgreSQL take it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{host}:{self.port}/sash"

    def close(self) -> None:
        """Let nobody in any more, and send those away who are in. It may be called again."""
        self.postgres.close()
        if self.flight is not None:
            self.flight.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Door {self.url}, {self.postgres.connections} connections>"


def open_door(served: Served, port: int, flight_port: int | None, access: Access, limits: Limits) -> Door:
    postgres = PostgresServer(served, port, access, limits)
    if flight_port is None:
        return Door(access.host, postgres, None)
    from sash.serve.flight import FlightDoor

    try:
        return Door(access.host, postgres, FlightDoor(served, flight_port, access, limits))
    except BaseException:
        postgres.close()
        raise
