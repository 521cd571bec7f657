"""Aggregates by the same key over many windows of two streams that jump: all together, and each by itself, in the same run.

Each aggregate has a window of its own, with a slide of 1 to 60 s, and counts, sums, averages or extremes of 100 groups. Both
engines read the same rows, 10,000 a second in pushes of 5,000, and nobody looks at the answers. By itself, an aggregate holds its
rows back until its slide is over and keeps a ring of them, as it would alone in an engine; only the stream is read once for all.
A turn is ten seconds of the streams, in CPU time of the process. At the end all changes of all aggregates must be the same.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report, span
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.operators.windows.spec import JumpingWindowSpec

AGGREGATES, QUICK_AGGREGATES = 1000, 60
KEYS = 100
RATE, BATCH = 10_000, 5_000  # rows of both streams, a second and in a push to each of them
TURN = 20  # batches: ten seconds
TURNS, QUICK_TURNS = 3, 1
SLIDES = (1, 2, 3, 5, 10, 15, 20, 30, 60)  # seconds
CALLS = ("COUNT(*) AS n, SUM(v) AS s", "COUNT(*) AS n, MAX(v) AS m", "AVG(v) AS a, MIN(v) AS m", "SUM(v) AS s")
TOGETHER, APART = "ab", "cd"  # the names of the streams: plans are remembered by them


def query(number: int, streams: str) -> str:
    """Windows of 2 to 61 slides."""
    of_stream = number // 2
    slide = SLIDES[of_stream % len(SLIDES)]
    size = slide * (2 + of_stream // len(SLIDES) % 60)
    calls = CALLS[of_stream % len(CALLS)]
    return f"SELECT k, {calls} FROM {streams[number % 2]} [RANGE {size} SECONDS SLIDE {slide} SECONDS] GROUP BY k"


def database(count: int, streams: str) -> tuple[EmbeddedDatabase, float]:
    """So many aggregates, and the milliseconds that the last ones took to create."""
    db, spent = sash.connect(), list[float]()
    for name in streams:
        db.execute(f"CREATE STREAM {name} (ts TIMESTAMP, k INT, v BIGINT) TIMESTAMP BY ts")
    for number in range(count):
        started = time.process_time()
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS {query(number, streams)}")
        spent.append(1e3 * (time.process_time() - started))
    return db, statistics.median(spent[-max(1, count // 10) :])


@contextmanager
def without_slices() -> Iterator[None]:
    """Plans that are made meanwhile keep rows, each by itself."""
    known = JumpingWindowSpec.without_slides
    JumpingWindowSpec.without_slides = None  # type: ignore[assignment,method-assign]
    try:
        yield
    finally:
        JumpingWindowSpec.without_slides = known  # type: ignore[method-assign]


def rows(number: int) -> pa.Table:
    """Those of a stream in a push."""
    count = BATCH // 2
    places = np.arange(number * count, (number + 1) * count)
    instants = (places * (2e6 / RATE)).astype(np.int64)
    return pa.table(
        {
            "ts": pa.array(instants).view(pa.timestamp("us")), "k": pa.array(places * 7919 % KEYS, pa.int32()),
            "v": pa.array(places * 104729 % 1000),
        }
    )  # fmt: skip


def push(db: EmbeddedDatabase, streams: str, first: int) -> float:
    """A turn; the milliseconds of a batch."""
    batches = [rows(number) for number in range(first, first + TURN)]
    started = time.process_time()
    for batch in batches:
        for name in streams:
            db.push(name, batch)
    return 1e3 * (time.process_time() - started) / TURN


def run(options: Options) -> list[Report]:
    count = QUICK_AGGREGATES if options.quick else options.rows or AGGREGATES
    turns = options.repeat or (QUICK_TURNS if options.quick else TURNS)
    options.say(f"{count} aggregates together and apart")
    together, created = database(count, TOGETHER)
    with without_slices():
        apart, _ = database(count, APART)
    spent: dict[str, list[float]] = {TOGETHER: [], APART: []}
    for turn in range(turns + 1):
        for db, streams in ((together, TOGETHER), (apart, APART)):
            spent[streams].append(push(db, streams, turn * TURN))
    check(together, apart, count)
    mine, theirs = spent[TOGETHER][1:], spent[APART][1:]  # in the first turn kernels are compiled, and memory is found
    ratios = [one / other for one, other in zip(theirs, mine, strict=True)]
    state = [db.state_bytes / 1e6 for db in (together, apart)]
    numbers = {"aggregates": count, "together": mine, "apart": theirs, "create": created, "state_mb": state}
    line = [
        f"{count:,}", span(ratios, ".0f"), span(mine, ".1f"), span(theirs, ".1f"), f"{created:.1f}", f"{state[0]:.1f}",
        f"{state[1]:.1f}",
    ]
    columns = ("aggregates", "times as fast", "together ms", "apart ms", "CREATE ms", "together MB", "apart MB")
    title = f"Aggregates over windows that slide by 1 to 60 s, {KEYS} groups, {BATCH:,} rows a batch, {turns} turns, CPU time"
    return [Report(title, columns, [line], [numbers])]


def check(together: EmbeddedDatabase, apart: EmbeddedDatabase, count: int) -> None:
    for number in range(count):
        if not together.changes(f"q{number}").equals(apart.changes(f"q{number}")):
            raise SashError(f"aggregate number {number} changes otherwise together than apart")
