"""What an operator is.

An operator sees changes and time, and nothing of SQL, Spark or scheduling. Each call brings all that happened to its inputs in
the interval [previous now, now), in the order of time, and gives what happens to its output in the same interval. How an interval
is cut into calls never shows in the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from sash.deltas import Delta, Int64s, Layout
from sash.operators.delays import Delays
from sash.plan.times import Time
from sash.scalar.evaluate import Failures
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.interner import Interner


@dataclass(frozen=True)
class OperatorContext:
    """What an operator is given to live in."""

    scope: Scope
    interner: Interner
    failures: Failures


class Operator(ABC):
    """Deltas in, delta out."""

    probes = 0  # rows for which a join looked at its other side, since the operator was built
    delays: Delays | None = None  # how late it gave what it gave; None for those that hold nothing back
    is_told_its_instant = False  # whether what `due` says may come earlier though it has not run
    through: int | None = None  # while it has given only a part of what its last rows make: that is all before this instant

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.nothing = Delta.empty(layout.width)

    @abstractmethod
    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        """`begin` is the instant of the first row of any stream below, None while there is none."""

    def go_on(self) -> Delta:
        """The next part of what its last rows make (`piecewise.py`)."""
        raise AssertionError("it has given everything")

    def due(self) -> int:
        """Before this instant it gives nothing unless a change comes in. One that cannot tell sees every move of time."""
        return BEGINNING

    def cut(self, now: int, first: int, waiting: int, begin: int | None) -> int:
        """How far to work at once, where time alone brings many changes: to an instant up to `now`.

        The first of so many changes that wait for it is at `first`; `begin` is as in `run`.
        """
        return now

    def rest(self, ts: int) -> Delta:
        """What it holds back until time has gone on, as changes of one instant; it holds nothing then. So the input ends."""
        return self.nothing

    def shown(self) -> Int64s | None:
        """The rows that all its changes so far come to, each of them once; None if it does not remember them."""
        return None

    @property
    def kept(self) -> int:
        """Rows, or groups, that it remembers."""
        return 0


class AwaitsEnd(Operator):
    """Lets rows go when others come, and, after the last one, when it is told where time ends."""

    time: Time  # the streams that tell how late it is
    end: int | None = None  # the last instant of their time, once that is known


class Timeless(Operator):
    """Gives nothing by time alone."""

    def due(self) -> int:
        return FOREVER
