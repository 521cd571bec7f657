"""Operators with several outputs.

    rows ─▶ operator ─┬─▶ tap ─▶ …       a tap is a spec like any other: which output of what (`Spec.shared`). It is one place
                      ├─▶ tap ─▶ …       where rows come out, so it has a buffer and readers of its own, but no work to do
                      ╰─▶ tap ─▶ …

Taps are opened and closed while the operator runs; it has no output besides.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sash.deltas import Delta, Int64s
from sash.operators.operator import Operator, Timeless
from sash.operators.spec import Spec

TapSpec = TypeVar("TapSpec", bound=Spec)


@dataclass(frozen=True)
class Past:
    """What an operator remembers of its inputs: rows by side, as they came, and the instant up to which it has worked."""

    inputs: tuple[Delta, ...]
    reached: int

    def copy(self) -> Past:
        return Past(tuple(delta.copy() for delta in self.inputs), self.reached)


class ManyOutputs(Operator, Generic[TapSpec]):
    """Gives nothing itself; its taps do, whose specs are of one class."""

    most_waiting = 0  # rows that waited for a turn, at most
    most_held = 0  # numbers that were kept beside, of what was found and waited for other outputs, at most

    @abstractmethod
    def open(self, tap: TapSpec) -> None:
        """Give one more output from now on. If it has begun, `recall` tells what the tap needs of the past."""

    @abstractmethod
    def begin(self) -> None:
        """The taps that are open go on from what an earlier run left, or begin with nothing."""

    @abstractmethod
    def close(self, tap: TapSpec) -> None:
        """Nobody reads this output any more."""

    @abstractmethod
    def release(self) -> None:
        """Nobody reads any output any more: strings that it holds may go."""

    @abstractmethod
    def given(self) -> Sequence[tuple[TapSpec, Delta]]:
        """What taps gave when it last ran: those that gave something, and those that have got further than it has itself."""

    @property
    def given_until(self) -> int | None:
        """The instant before which that is all that these taps give; None: as far as it ran."""
        return self.through

    def schedule_taps(
        self, schedule: str, queries: Callable[[Spec], int], awaited: Callable[[], Container[Spec]]
    ) -> None:
        """Whose turn it is while more waits than is soon worked off, if taps take turns; how many queries read a tap, and which
        taps somebody waits for."""

    def pause_at(self, reached: int | None) -> None:
        """On its way: let the state be that of taps which have got to an instant, for one who looks; None: as it was."""

    @abstractmethod
    def past(self) -> Past:
        """All that its taps still need; good until it runs again."""

    @abstractmethod
    def recall(self, past: Past) -> None:
        """What taps need that were opened since it began: another one like it, which has them alone, got as far as this one."""

    def has_all_of(self, tap: TapSpec) -> bool:
        """Whether a tap that is to be opened could begin with what is here: nothing of the past need be recalled."""
        return False

    def begin_at(self, reached: int) -> None:
        """Taps that were opened go on from what is here; nothing happens up to this instant."""
        raise NotImplementedError("only where it has all of a tap")

    def shown_by(self, tap: TapSpec) -> Int64s:
        """The rows that a tap shows which has begun so."""
        raise NotImplementedError("only where it has all of a tap")

    @abstractmethod
    def kept_by(self, tap: TapSpec) -> int:
        """Rows that it remembers for a tap, and perhaps for others too."""


class Tap(Timeless):
    """An output of another operator, which puts rows down behind it."""

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        return self.nothing
