"""Joins of the same streams over many windows: all together, each apart, and the largest alone, through the public interface.

Eight windows of 1 to 600 s over 100 rows a second and stream. All of them go on in turns over full windows, in CPU time of the
process; a ratio is that of one turn. Beside them a bare loop that shares likewise: one walk for all windows, nothing around it.
Its changes are counted, and must be as many.

    nobody    changes come and nobody looks
    largest   the answer over the largest window is read after every push, the others never
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.bare import loops as bare
from benchmarks.bare.shared_windows import bare_shared_join
from benchmarks.engine import JOIN, SECONDS
from benchmarks.public import FILLING, Public, Step, Workload, steps, strict_input
from benchmarks.report import Options, Report, span
from benchmarks.windows import GAP
from sash.errors import SashError
from sash.operators.shared_join.operator import SharedJoin

RATE = 100  # rows a second and stream
LONGEST = SECONDS[-1] * RATE  # rows of a stream in the largest window
KEYS = 15_000
BATCH = 5_000  # rows of a stream in a push
TURNS, QUICK_TURNS = 40, 5
READERS = ("nobody", "largest")
SYSTEMS = ("together", "apart", "largest alone", "bare loop")
COLUMNS = (
    "reader", *(f"{name} of largest alone" for name in SYSTEMS[:2]), "together of bare loop", *(f"{name} ms" for name in SYSTEMS)
)


def workload(seconds: Sequence[int]) -> Workload:
    """A row a millisecond of its time stands for one a hundredth of a second: only how many rows a window has counts."""
    views = tuple(JOIN.replace("[]", f"[RANGE {one * RATE * GAP} MICROSECONDS]") for one in seconds)
    return Workload("joins", views, 2, KEYS, LONGEST)


class Joins(Public):
    """Views over some windows; `apart`: each has a join of its own."""

    def __init__(self, seconds: Sequence[int], reader: str, *, apart: bool = False) -> None:
        super().__init__(workload(seconds))
        self._last, self._reader, self._is_apart = f"answer{len(seconds) - 1}", reader, apart

    def step(self, step: Step) -> None:
        super().step(step)
        if self._is_apart and self.join._together is not None:
            self.join._part()
        if self._reader == "largest":
            self.db.view(self._last).to_arrow()

    @property
    def join(self) -> SharedJoin:
        (found,) = [node.operator for node in self.db._running().graph.nodes if isinstance(node.operator, SharedJoin)]
        return found

    @property
    def changes_of_taps(self) -> int:
        return sum(one.out.rows for one in self.db._running().graph.metrics() if one.name == "LeavingJoin")

    @property
    def state(self) -> int:
        """Bytes that the operators keep."""
        return sum(one.state_bytes for one in self.db._running().graph.metrics())


class BareJoins:
    """The loop, with its arrays."""

    def __init__(self, seconds: Sequence[int]) -> None:
        self._sizes = np.array([one * RATE * GAP for one in seconds], np.int64)
        ring, room = 1 << (LONGEST + 2 * FILLING).bit_length(), 24 * FILLING
        self._heads, self._tails = np.zeros((len(seconds), 2), np.int64), np.zeros(2, np.int64)
        self._known, self._newest = np.zeros((1 + (2 << KEYS.bit_length()), 2), np.int64), np.zeros((KEYS, 2), np.int64)
        self._rings, self._numbers = np.zeros((2 * ring, bare.RING_LANES), np.int64), np.zeros((2, FILLING), np.int64)
        self._out = np.zeros((len(seconds), room, 4), np.int64), *np.zeros((2, len(seconds), room), np.int64)
        self.counts = np.zeros(len(seconds), np.int64)

    def step(self, step: Step) -> None:
        """All changes before the last instant that both streams have come to, and at it."""
        numbers = [self._numbers[side, : len(lines)] for side, lines in enumerate(step.lanes)]
        for lines, of_lines in zip(step.lanes, numbers, strict=True):
            bare.number_keys(lines, self._known, of_lines)
        now = int(max(lines[-1, 0] for lines in step.lanes)) + 1
        self.counts[:] = 0
        bare_shared_join(
            *step.lanes, *numbers, self._sizes, now, self._heads, self._tails, self._newest, self._rings, *self._out, self.counts
        )


@dataclass
class Measured:
    """Milliseconds of every turn, by system."""

    reader: str
    spent: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SYSTEMS})
    state: dict[str, int] = field(default_factory=dict)
    changes: int = 0

    def ratios(self, mine: str, theirs: str) -> list[float]:
        return [one / other for one, other in zip(self.spent[mine], self.spent[theirs], strict=True)]

    @property
    def line(self) -> list[str]:
        of_alone = [span(self.ratios(name, "largest alone"), ".2f") for name in SYSTEMS[:2]]
        of_bare = span(self.ratios("bare loop", "together"), ".2f")
        return [self.reader, *of_alone, of_bare, *(f"{statistics.median(self.spent[name]):.1f}" for name in SYSTEMS)]

    @property
    def numbers(self) -> dict[str, object]:
        return {"reader": self.reader, **self.spent, "state": self.state, "changes": self.changes}


def run(options: Options) -> Iterator[Report]:
    turns = options.repeat or (QUICK_TURNS if options.quick else TURNS)
    measured = []
    for reader in READERS:
        options.say(f"8 joins, read by {reader}")
        measured.append(measure(reader, turns))
    title = f"Joins over {len(SECONDS)} windows of 1 to 600 s, {KEYS:,} keys, {2 * BATCH:,} rows a push, {turns} turns, CPU time"
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in measured[0].state.items())
    yield Report(title, COLUMNS, [one.line for one in measured], [one.numbers for one in measured], [f"State: {sizes}."])


def measure(reader: str, turns: int) -> Measured:
    joins = {
        "together": Joins(SECONDS, reader), "apart": Joins(SECONDS, reader, apart=True),
        "largest alone": Joins(SECONDS[-1:], reader),
    }  # fmt: skip
    loop, found, warm = BareJoins(SECONDS), Measured(reader), LONGEST + 2 * FILLING
    input_ = strict_input(workload(SECONDS), warm + turns * BATCH)
    for step in steps(input_, 0, warm, FILLING):
        for one in joins.values():
            one.step(step)
        loop.step(step)
        found.changes += int(loop.counts.sum())
    for step in steps(input_, warm, len(input_.rows[0]), BATCH):
        for name, one in joins.items():
            found.spent[name].append(milliseconds(one.step, step))
        found.spent["bare loop"].append(milliseconds(loop.step, step))
        found.changes += int(loop.counts.sum())
    check(joins["together"], joins["apart"], found.changes)
    found.state = {name: one.state for name, one in joins.items()}
    return found


def check(together: Joins, apart: Joins, changes: int) -> None:
    """All views hold the same; the loop gave as many changes, but for rows of the last instants, that wait for others."""
    for number in range(len(SECONDS)):
        mine, theirs = (one.db.view(f"answer{number}").to_arrow() for one in (together, apart))
        if not mine.equals(theirs):
            raise SashError(f"join number {number} holds other rows together than apart")
    if abs(together.changes_of_taps - changes) > changes // 1000:
        raise SashError(f"the loop gave {changes:,} changes, the joins {together.changes_of_taps:,}")


def milliseconds(step: Callable[[Step], None], work: Step) -> float:
    started = time.process_time()
    step(work)
    return 1e3 * (time.process_time() - started)
