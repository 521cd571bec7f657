"""Micro-benchmarks of kernels and state structures: `pytest benchmarks --benchmark-compare` shows a regression.

Needs pytest-benchmark. Each works off 100,000 rows over state that is as large as it gets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks import engine, windows
from sash.deltas import Delta, Int64s, Layout
from sash.kernels.hashing import insert_entry
from sash.operators.net_changes import NetChanges
from sash.schema import BIGINT, FOREVER, schema
from sash.stores.arena import Arena
from sash.stores.bag import RowBag
from sash.stores.interner import Interner

pytest.importorskip("pytest_benchmark")

ROWS = 100_000
LAYOUT = Layout(schema(("k", BIGINT), ("v", BIGINT)))
Measure = Callable[..., object]


def random_rows(keys: int) -> Int64s:
    chance = np.random.default_rng(1)
    rows = np.zeros((ROWS, LAYOUT.width), np.int64)
    rows[:, 0], rows[:, 1] = chance.integers(0, keys, ROWS), chance.integers(0, 1000, ROWS)
    return rows


@pytest.mark.parametrize("query", engine.WORKLOADS, ids=lambda query: query.name)
def test_operators(benchmark: Measure, query: windows.Query) -> None:
    """From rows to net changes, windows of a minute being full."""
    input_ = windows.make_input(query, engine.MINUTE, 4 * engine.MINUTE)
    steps = list(input_.steps())

    def filled() -> tuple[tuple[windows.EngineRunner, list[tuple[int, list[Int64s]]]], dict[str, object]]:
        runner = windows.EngineRunner(input_)
        for now, rows in steps[: len(steps) // 2]:
            runner.step(rows, now)
        return (runner, steps[len(steps) // 2 :]), {}

    def play(runner: windows.EngineRunner, rest: list[tuple[int, list[Int64s]]]) -> None:
        for now, rows in rest:
            runner.step(rows, now)

    benchmark.pedantic(play, setup=filled, rounds=5)  # type: ignore[attr-defined]


@pytest.mark.parametrize("keys", [100, 1_000_000])
def test_bag(benchmark: Measure, keys: int) -> None:
    arena, rows, ones = Arena.anonymous(), random_rows(keys), np.ones(ROWS, np.int64)
    bag = RowBag(LAYOUT, arena.scope("bag"), Interner(arena))

    def come_and_go() -> None:
        bag.add(rows, ones)
        bag.add(rows, -ones)

    benchmark(come_and_go)
    assert len(bag) == 0


@pytest.mark.parametrize("rows_an_instant", [1, 4, 1000])
def test_net_changes(benchmark: Measure, rows_an_instant: int) -> None:
    rows, ts = random_rows(1000), np.arange(ROWS) // rows_an_instant
    weight = np.where(np.arange(ROWS) % 2, 1, -1)
    delta, net = Delta(rows, ts, np.full(ROWS, FOREVER), weight), NetChanges(LAYOUT, Interner(Arena.anonymous()))
    benchmark(net.per_instant, delta)


def test_hash_table(benchmark: Measure) -> None:
    """One entry at a time into a table that is half full in the end: what a call from Python costs is in it."""
    tags = np.random.default_rng(1).integers(0, 2**31, 1000)

    def fill() -> None:
        table = np.zeros(2048, np.int64)
        for number, tag in enumerate(tags):
            insert_entry(table, tag, number + 1)

    benchmark(fill)
