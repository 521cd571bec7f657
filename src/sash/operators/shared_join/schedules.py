"""Schedules of a shared join: whose turn it is while more rows wait than are worked off at once. (Seed 001.)

    lwo     the oldest rows go on to the end: all windows together
    swf     the shortest window for which rows wait
    mqt     the window that serves most queries for the work, by the matrix of `throughput.py`
    auto    all windows in one pass, as long as that is soon done; after a burst mqt, where the mix of windows makes it worth it

    rows        0 … 2,000 … 4,000 … 6,000 … 8,000        `through`: so many runs of rows are through with a window. Older rows are
    1 s         ━━━━━━━━━━━━━━━━━━━━━━━┥                 never behind newer ones, so the queues of the paper are these numbers.
    60 s        ━━━━━━━━━━━┥
    600 s       ━━━━┥

No answer depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sash.deltas import Int64s
from sash.errors import SashError
from sash.operators.shared_join.throughput import Windows

LWO, SWF, MQT, AUTO = "lwo", "swf", "mqt", "auto"
SCHEDULES = (AUTO, LWO, SWF, MQT)
ONE_PASS = "one pass"  # what `auto` is where nobody sees an answer before the end of a step

RUN = 1 << 11  # rows of a side that have a turn together
BACKLOG = 8 * RUN  # rows that are soon worked off, in one pass
MOST_WINDOWS = 64  # of more, turns are many and the matrix is large, so it is only made where somebody asks for it
BURST = 2  # a step is one if it brings so many times the rows of those before
LEARNT = 1 / 8  # how much a step tells of how many rows are usual
TURNS_COST = 1.3  # work in turns, of the same in one pass
WORTH = 0.7  # the mean response that turns must promise, of that in one pass


def parse_join_schedule(text: str) -> str:
    """What a user writes."""
    name = text.strip().lower()
    if name not in SCHEDULES:
        raise SashError(f'"{text}" is not a schedule of shared joins', f"these are: {', '.join(SCHEDULES)}")
    return name


class Load:
    """How many rows come in a step, and whether that is a burst."""

    def __init__(self) -> None:
        self._usual = 0.0

    def is_burst(self, came: int) -> bool:
        """Whether so many rows are too many for one pass, and more than usual. It is to be told of every step."""
        is_burst = came >= BACKLOG and came >= BURST * self._usual
        self._usual += (came - self._usual) * LEARNT
        return is_burst


def pays(work: Sequence[int], queries: Sequence[int]) -> bool:
    """Whether turns give answers sooner on the whole: work and queries of all windows, the shortest first. A query has its answer
    after its window and all before it; in one pass all have theirs at the end.
    """
    done, waited = 0, 0
    for of_window, count in zip(work, queries, strict=True):
        done += of_window
        waited += count * done
    return waited * TURNS_COST < WORTH * done * sum(queries)


class Turns:
    """Runs of rows, and windows through which each of them goes."""

    def __init__(self, windows: int, runs: int, matrix: Int64s | None) -> None:
        """`matrix` ranks the throughputs; without it the shortest window is first."""
        self.through, self._runs, self._matrix = [0] * windows, runs, matrix

    @property
    def are_over(self) -> bool:
        return self.through[-1] == self._runs

    def next(self, first: int | None = None) -> int | None:
        """The window that has the next turn, the shortest being 0; None when all rows are through with all. If all rows are to be
        through with one as soon as can be, longer ones wait.
        """
        waiting = [k for k, through in enumerate(self.through) if through < (self.through[k - 1] if k else self._runs)]
        if not waiting:
            return None
        if first is not None and waiting[0] <= first:
            return waiting[0]
        if self._matrix is None:
            return waiting[0]
        ahead = [*waiting[1:], len(self.through)]
        ranks = self._matrix[waiting, ahead]
        return waiting[int(ranks.argmax())]  # the first of the greatest


@cache
def matrix_of(lengths: tuple[int, ...], queries: tuple[int, ...]) -> Int64s:
    """The ranks of all throughputs of windows of growing length; made once, until queries come or go."""
    return Windows(lengths, queries).matrix()
