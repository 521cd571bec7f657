"""What a server gives to its clients at most."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sash.errors import SashError


@dataclass(frozen=True)
class Limits:
    connections: int = 100
    statement_seconds: float = 60.0  # from a statement's arrival until its last row is sent; 0: for ever
    login_seconds: float = 10.0  # from the connection until the client is let in
    send_seconds: float = 60.0  # for how long a client may read nothing while rows wait for it
    answer_bytes: int = 1 << 30  # of all answers that are being sent, over all clients
    question_bytes: int = 2 << 30  # that one question may make on its way, of pairs, elements and repeated texts
    message_bytes: int = 16 << 20  # of a message from a client
    kept_statements: int = 1000  # prepared statements and cursors of one connection

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if value < 0 or (value == 0 and name != "statement_seconds"):
                raise SashError(f"{name}={value!r} makes no sense", "give a number above 0")


class TooMuch(SashError):
    """An answer that does not fit into what is left for answers."""


class TooLong(SashError):
    """A question that took longer than it may."""


class QuestionBounds:
    """Of one question: whether it may go on, as somebody else says, and how much it may still make."""

    def __init__(self, check: Callable[[], None], most: int) -> None:
        self.check = check
        self._most = self._left = most

    def spend(self, count: int) -> None:
        self.check()
        self._left -= count
        if self._left < 0:
            raise TooMuch(
                f"the question makes more than {self._most:,} bytes on its way to the answer",
                "join on columns that narrow it, or keep a materialized view of it",
            )


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
