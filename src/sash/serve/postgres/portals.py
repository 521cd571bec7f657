"""Prepared statements, and portals: statements with their values, and how far their rows are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sash.serve.limits import AnswerBytes
from sash.serve.postgres.answers import Answer, Rows
from sash.serve.postgres.commands import Command
from sash.serve.postgres.failures import WireError

SMALL = 1 << 20  # bytes that are not counted closely, which takes longer than to find most answers

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Prepared:
    """`command` is None for an empty text; `oids` are the types of its parameters as far as the client has said them."""

    command: Command | None
    oids: tuple[int, ...]


@dataclass
class Portal:
    prepared: Prepared
    parameters: list[Any]
    formats: list[int]
    answer: Answer | None = None
    sent: int = 0
    held: int = 0  # bytes of the answer that are counted
    is_cursor: bool = False
    lasts: bool = False  # beyond the end of a transaction

    def keep(self, answer: Answer, budget: AnswerBytes) -> Answer:
        if isinstance(answer, Rows):
            count = answer.table.get_total_buffer_size()  # of whole buffers, of which it may be a slice
            if count > SMALL:
                count = answer.table.nbytes
            budget.take(count)
            self.held = count
        self.answer = answer
        return answer

    def let_go(self, budget: AnswerBytes) -> None:
        budget.give_back(self.held)
        self.held, self.answer = 0, None


@dataclass
class Named(Generic[Kept]):
    """Things of a session by their names; that without a name is replaced, others are not."""

    what: str
    code: str  # of the error that there is none
    most: int
    _held: dict[str, Kept] = field(default_factory=dict)

    def put(self, name: str, thing: Kept) -> None:
        if name and name in self._held:
            raise WireError("42P05" if self.what == "prepared statement" else "42P03", f'there is a {self.what} "{name}" already')
        if len(self._held) >= self.most:
            raise WireError("53400", f"a connection has at most {self.most} of a kind: {self.what}", "close some")
        self._held[name] = thing

    def get(self, name: str) -> Kept:
        if name not in self._held:
            raise WireError(self.code, f'there is no {self.what} "{name}"')
        return self._held[name]

    def pop(self, name: str) -> Kept | None:
        return self._held.pop(name, None)

    def __iter__(self) -> Iterator[tuple[str, Kept]]:
        return iter(list(self._held.items()))
