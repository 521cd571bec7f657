"""What a server gives to its clients at most."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sash.errors import SashError


@dataclass(frozen=True)
class Limits:
    connections: int = 100
    statement_seconds: float = 60.0  # from a statement's arrival until its last row is sent; 0: for ever
    login_seconds: float = 10.0  # from the connection until the client is let in
    send_seconds: float = 60.0  # for how long a client may read nothing while rows wait for it
    answer_bytes: int = 1 << 30  # of all answers that are being sent, over all clients
    message_bytes: int = 16 << 20  # of a message from a client
    kept_statements: int = 1000  # prepared statements and cursors of one connection

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if value < 0 or (value == 0 and name != "statement_seconds"):
                raise SashError(f"{name}={value!r} makes no sense", "give a number above 0")


class TooMuch(SashError):
    """An answer that does not fit into what is left for answers."""


class AnswerBytes:
    """The bytes of all answers that are being sent. One that would be too much is refused, so that those on their way can end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        return self._held

    def take(self, count: int) -> None:
        with self._lock:
            if self._held + count > self._most:
                raise TooMuch(
                    f"the answer has {count:,} bytes, and {self._most - self._held:,} are left for answers",
                    "ask for fewer rows, or for some at a time with LIMIT",
                )
            self._held += count

    def give_back(self, count: int) -> None:
        with self._lock:
            self._held -= count
