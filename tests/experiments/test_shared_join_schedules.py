"""The schedules of seed 001, against queues that are walked tuple by tuple."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.shared_joins import kernels as kernel
from experiments.shared_joins.join import LWO, MQT, MQT_OLDEST, SCHEDULES, SWF, Clock, Schedule, run
from experiments.shared_joins.streams import SECOND, Arrivals, burst_sizes, draw, one_burst
from sash.errors import SashError
from sash.operators.shared_join.throughput import Windows

KEPT = 1 << 12


@dataclass
class Naive:
    """The paper's algorithm with real queues, lists of pairs, and a walk through all tuples after every turn."""

    arrivals: Arrivals
    windows: Windows
    schedule: Schedule
    buckets: int
    cost: int
    pairs: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)  # of a tuple: window, partner, when it was found
    released: list[list[tuple[int, int]]] = field(default_factory=list)
    waits: list[list[int]] = field(default_factory=list)
    orders: list[tuple[int, int]] = field(default_factory=list)  # turns: tuple and window

    def run(self) -> None:
        count, ts = len(self.windows.sizes), self.arrivals.ts.tolist()
        queues: list[deque[int]] = [deque() for _ in range(count)]
        through = dict[int, int]()
        self.released, self.waits = [[] for _ in range(count)], [[] for _ in range(count)]
        self.given = [set[tuple[int, int]]() for _ in range(count)]
        now, coming = ts[self.arrivals.first], deque(range(self.arrivals.first, len(ts)))
        while coming or any(queues):
            while coming and ts[coming[0]] <= now:
                t = coming.popleft()
                queues[0].append(t)
                through[t], self.pairs[t] = 0, []
            if not any(queues):
                now = max(now, ts[coming[0]])
                continue
            k = self.choose([bool(queue) for queue in queues])
            t = queues[k].popleft()
            begun = now
            for place, partner in enumerate(self.looked_at(t, k), 1):
                now = begun + place * self.cost
                if self.arrivals.key[partner] == self.arrivals.key[t]:
                    self.pairs[t].append((k, partner, now))
            through[t] = k + 1
            self.orders.append((t, k))
            if k + 1 < count:
                queues[k + 1].append(t)
            self.release(through, now)

    def looked_at(self, t: int, k: int) -> list[int]:
        ts, side, key = self.arrivals.ts, self.arrivals.side, self.arrivals.key
        before = self.windows.sizes[k - 1] if k else -1
        return [
            p for p in reversed(range(t))
            if side[p] != side[t] and key[p] % self.buckets == key[t] % self.buckets
            and before <= ts[t] - ts[p] < self.windows.sizes[k]
        ]  # fmt: skip

    def choose(self, has: list[bool]) -> int:
        filled = [k for k, is_so in enumerate(has) if is_so]
        if self.schedule.rule == kernel.LWO:
            return filled[-1]
        if self.schedule.rule == kernel.SWF:
            return filled[0]
        aheads = [*filled[1:], len(has)]
        values = {k: self.windows.max_throughput(k, ahead) for k, ahead in zip(filled, aheads, strict=True)}
        best = [k for k, value in values.items() if value == max(values.values())]
        return best[0] if self.schedule.rule == kernel.MQT else best[-1]

    def release(self, through: dict[int, int], now: int) -> None:
        for window in range(len(self.windows.sizes)):
            for t in sorted(through):
                is_through = through[t] > window
                if self.schedule.is_early or is_through:
                    for k, partner, found in self.pairs[t]:
                        if k <= window and (t, partner) not in self.given[window]:
                            self.given[window].add((t, partner))
                            self.released[window].append((t, partner))
                            is_now = not self.schedule.is_early or (self.held[window] is not None and t in self.held[window])
                            self.waits[window].append((now if is_now else found) - int(self.arrivals.ts[t]))
                if not is_through:
                    break
            # What was found while an older tuple was not through waits for it.
        self.held = [
            {t for t in through if any(through[older] <= window for older in through if older < t)}
            for window in range(len(self.windows.sizes))
        ]  # fmt: skip

    def __post_init__(self) -> None:
        self.held: list[set[int]] = [set() for _ in self.windows.sizes]
        self.given: list[set[tuple[int, int]]] = []


@st.composite
def inputs(draw: st.DrawFn) -> tuple[Arrivals, Windows]:
    rows = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=40))
    gaps, sides, keys = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    first = draw(st.integers(0, len(rows) - 1))
    sizes = tuple(sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=4))))
    queries = tuple(draw(st.integers(1, 5)) for _ in sizes)
    return Arrivals(np.cumsum(gaps), sides, keys, first), Windows(sizes, queries)


def isolated(arrivals: Arrivals, window: int) -> list[tuple[int, int]]:
    """The pairs of one window, in the order of a join that has no other: by tuple, the nearest partner first."""
    ts, side, key = arrivals.ts, arrivals.side, arrivals.key
    return [
        (t, p) for t in range(arrivals.first, len(ts)) for p in reversed(range(t))
        if side[p] != side[t] and key[p] == key[t] and ts[t] - ts[p] < window
    ]  # fmt: skip


@pytest.mark.parametrize("buckets", [1, 2, 512])
@pytest.mark.parametrize("name", SCHEDULES)
@given(inputs(), st.integers(0, 9))
def test_a_schedule_is_what_queues_give(name: str, buckets: int, made: tuple[Arrivals, Windows], cost: int) -> None:
    """The same pairs, released in the order of isolated execution, at the same instants."""
    arrivals, windows = made
    naive = Naive(arrivals, windows, SCHEDULES[name], buckets, cost)
    naive.run()
    done = run(arrivals, windows, SCHEDULES[name], buckets, Clock(cost=cost), kept=KEPT)
    for window, size in enumerate(windows.sizes):
        pairs = [(int(t), int(p)) for t, p in done.outputs[window]]
        assert pairs == isolated(arrivals, size) == naive.released[window]
        waits = naive.waits[window]
        assert done.told[window, : kernel.ROUTED].tolist() == [len(waits), sum(waits), max(waits, default=0)]
    assert done.register(kernel.TURNS) == len(naive.orders)


@given(inputs(), st.integers(0, 9), st.sampled_from(sorted(SCHEDULES)))
def test_an_older_tuple_is_never_behind_a_newer_one(made: tuple[Arrivals, Windows], cost: int, name: str) -> None:
    """What the frontiers of the kernel rest on, seen in the queues."""
    naive = Naive(*made, SCHEDULES[name], 1, cost)
    naive.run()
    for window in range(len(made[1].sizes)):
        order = [t for t, k in naive.orders if k == window]
        assert order == sorted(order)
    for t in naive.pairs:
        assert [k for other, k in naive.orders if other == t] == list(range(len(made[1].sizes)))


@given(inputs())
def test_the_real_clock_gives_the_same_pairs(made: tuple[Arrivals, Windows]) -> None:
    arrivals, windows = made
    for schedule in SCHEDULES.values():
        done = run(arrivals, windows, schedule, 2, Clock(speed=1000), kept=KEPT)
        for window, size in enumerate(windows.sizes):
            assert [tuple(pair) for pair in done.outputs[window].tolist()] == isolated(arrivals, size)


def test_the_matrix_of_the_example() -> None:
    """Windows 2, 3 and 6 with a query each."""
    windows = Windows((2, 3, 6), (1, 1, 1))
    wanted = {(0, 1): "1/2", (0, 2): "2/3", (0, 3): "2/3", (1, 2): "1", (1, 3): "1", (2, 3): "1/3"}
    assert {place: windows.max_throughput(*place) for place in wanted} == {place: Fraction(text) for place, text in wanted.items()}
    ranks = windows.matrix()
    ordered = sorted(wanted, key=lambda place: Fraction(wanted[place]))
    for one, other in pairwise(ordered):
        assert (ranks[one] < ranks[other]) == (Fraction(wanted[one]) < Fraction(wanted[other]))


def test_the_turns_of_the_example() -> None:
    """Figure 4: a goes on to the second window before b begins; then b catches up; then both scan the rest."""
    ts = np.array([0, 1, 2, 3, 4, 5, 6, 6], np.int64)
    arrivals = Arrivals(ts, np.array([1, 0, 1, 0, 1, 0, 0, 1]), np.zeros(8, np.int64), 6)
    naive = Naive(arrivals, Windows((2, 3, 6), (1, 1, 1)), MQT, 1, 1)
    naive.run()
    assert naive.orders == [(6, 0), (6, 1), (7, 0), (7, 1), (6, 2), (7, 2)]


def test_equal_throughput_goes_to_the_smaller_window_or_to_the_oldest() -> None:
    ts = np.array([0, 1, 2, 3, 3, 3], np.int64)
    arrivals, windows = Arrivals(ts, np.array([1, 1, 1, 0, 0, 0]), np.zeros(6, np.int64), 3), Windows((1, 2, 3), (1, 1, 1))
    orders = {}
    for schedule in (SWF, LWO, MQT, MQT_OLDEST):
        naive = Naive(arrivals, windows, schedule, 1, 1)
        naive.run()
        orders[schedule.name] = naive.orders
    assert orders["MQT"] == orders["SWF"] != orders["LWO"] == orders["MQT, oldest first"]


def test_windows_that_make_no_sense_are_refused() -> None:
    for sizes, queries in (((2, 1), (1, 1)), ((), ()), ((1, 1), (1, 1)), ((0, 1), (1, 1)), ((1, 2), (1,)), ((1, 2), (1, 0))):
        with pytest.raises(SashError):
            Windows(sizes, queries)


def test_a_burst_is_as_the_formulas_say() -> None:
    """Equation (1): half of t_p ((S + 1) + (m - 1) S of the largest)."""
    windows = Windows((SECOND, 3 * SECOND), (1, 1))
    done = run(one_burst(100, 3, 20), windows, LWO, 1, Clock(cost=1000))
    assert done.means == [500 * (100 + 1 + 19 * 300), 500 * (300 + 1 + 19 * 300)]
    done = run(one_burst(100, 3, 20), windows, SWF, 1, Clock(cost=1000))
    assert done.means == [1000 * 10.5 * 100, 1000 * (20 * 100 + 10.5 * 200)]


@pytest.mark.parametrize("burst", [1, 2, 5])
def test_streams_have_the_rate_that_was_asked_for(burst: float) -> None:
    made = draw(100, burst, 500, 600, 20_000, 3)
    assert len(made.ts) - made.first == 20_000 and (np.diff(made.ts) >= 0).all()
    assert made.first == pytest.approx(120_000, rel=0.15) and made.span == pytest.approx(100 * SECOND, rel=0.3)
    assert set(np.unique(made.key)) == set(range(500)) and made.buffer(600 * SECOND) <= 100_000


def test_bursts_have_the_size_that_was_asked_for() -> None:
    sizes = burst_sizes(2, 400_000, np.random.default_rng(1))
    assert sizes.min() >= 1 and sizes.mean() == pytest.approx(2, rel=0.05)
