"""What a sink is: a place outside to which the changes of a view are written, each batch of them once.

    feed ─▶ runner ─▶ sink          a feed knows what comes after a position, a sink which position it has

The position is kept by the sink itself, in the same transaction as the rows. So whatever dies, and whenever: who goes on asks the
sink for the position and the feed for what comes after it, and neither repeats a batch nor leaves one out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from sash.errors import SashError


class SinkRefused(SashError):
    """What will not be better when it is tried again: somebody has to do something about it first."""


def dropped_changes(view: str, way_out: str) -> SinkRefused:
    """A sink that needs every change was away for too long."""
    return SinkRefused(
        f'changes of view "{view}" were dropped before they were written', f"keep more of them, connect(history=…); {way_out}"
    )


class SinkMoved(Exception):
    """What was to be written is there already, or another batch is next."""

    def __init__(self, position: int | None) -> None:
        super().__init__(position)
        self.position = position


@dataclass(frozen=True)
class Taken:
    """Changes that are written together: those after one position, up to another."""

    after: int | None  # None: nothing was written before
    position: int
    changes: pa.Table  # _op, _ts, and the columns of the view
    is_answer: bool = False  # they begin with the whole answer: what was written before does not count any more
    complete_before: int | None = None  # with them all changes before this instant are written


class Feed(Protocol):
    """The changes of a view, for one who remembers how far he is."""

    def take(self, after: int | None, timeout: float) -> Taken | None:
        """What comes after a position; None if nothing has come for so many seconds. Asked again, it says the same or more."""

    def waiting(self, after: int | None) -> int:
        """How much comes after a position: changes, or batches of them; 0 if nothing does."""

    def close(self) -> None:
        """Nobody asks any more; a thread that waits is let go."""


class Sink(Protocol):
    """The place. It may be asked to begin again after any failure."""

    def check(self) -> None:
        """Refuse at once what would be refused later: nobody is there, or other things are."""

    def begin(self) -> int | None:
        """Take it over for this run: how far the run is there; None if it has written nothing."""

    def write(self, taken: Taken) -> int:
        """Write everything, or nothing; how many rows that were. SinkMoved if the sink is somewhere else."""

    def release(self) -> None:
        """The run is over: who begins next begins anew."""

    def close(self) -> None: ...
