"""Queries that are added one by one while two streams bring 10,000 rows a second: what each costs, in time and memory.

    equal       the same query under another name: it should cost next to nothing
    different   every query has a condition of its own, so each has its own operators, and only the stream is shared

Rows come in real time. What a query costs while it runs is the CPU time of a batch with all queries, less that with the first
one, divided by their number. A batch is late when it is not worked off before the next one is due; a CREATE that falls between
two batches is part of that. What the batch after a CREATE takes beside others is told too: one that comes may make work for those
that are there. Resident memory has the changelogs in it, which nobody takes here.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import sash
from benchmarks.report import Options, Report
from sash.database.embedded import EmbeddedDatabase

QUERIES, QUICK_QUERIES = 1000, 100
RATE = 10_000  # rows a second, both streams together
BATCH_SECONDS = 0.5
BATCHES = 5  # whose cost is measured
KEYS = 100
STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts;
"""


@dataclass(frozen=True)
class Measured:
    """Seconds and bytes of the first query, and of every further one."""

    kind: str
    queries: int
    first_create: float
    create: float
    last_create: float
    first_batch: float  # CPU seconds of a batch
    batch: float
    first_bytes: int
    bytes: float
    resident: float
    batches: int
    late_batches: int  # that were not worked off before the next one was due
    late_at_the_end: int  # of the last ones, with all queries there
    after_create: float  # CPU seconds that the batch after a CREATE takes beside others, with all queries there

    @property
    def capacity(self) -> int:
        """How many such queries one core carries."""
        return int((BATCH_SECONDS - self.first_batch) / self.batch) if self.batch else 0

    @property
    def create_ratio(self) -> float:
        return self.create / self.first_create

    @property
    def run_ratio(self) -> float:
        return self.batch / self.first_batch

    @property
    def bytes_ratio(self) -> float:
        return self.bytes / self.first_bytes


class Load:
    """Rows of both streams, as fast as the clock goes."""

    def __init__(self, db: EmbeddedDatabase) -> None:
        self._db = db
        self.batches = 0
        self._due = time.monotonic()
        self.late = 0

    def batch(self) -> float:
        """Wait for the next batch and take it in; the CPU seconds that it took."""
        time.sleep(max(0.0, self._due - time.monotonic()))
        self._due += BATCH_SECONDS
        rows = [_rows(self.batches) for _ in "ab"]
        started = time.process_time()
        for name, part in zip("ab", rows, strict=True):
            self._db.push(name, part)
        spent = time.process_time() - started
        self.batches += 1
        if time.monotonic() > self._due:
            self.late, self._due = self.late + 1, time.monotonic()
        return spent

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due


def run(options: Options) -> list[Report]:
    count = QUICK_QUERIES if options.quick else options.rows or QUERIES
    kinds: dict[str, Callable[[int], str]] = {"equal": lambda _: _query("a", 10, 5), "different": _different}
    found = []
    for kind, query in kinds.items():
        options.say(f"{count} {kind} queries")
        found.append(measure(kind, count, query))
    columns = ("each further query", "CREATE", "running", "state", "CREATE us", "CPU us/batch", "state KB", "resident KB")
    lines = [
        (
            f"{one.queries:,} {one.kind}", f"{one.create_ratio:.2%}", f"{one.run_ratio:.2%}", f"{one.bytes_ratio:.2%}",
            f"{1e6 * one.create:,.0f}", f"{1e6 * one.batch:,.1f}", f"{one.bytes / 1024:,.1f}", f"{one.resident / 1024:,.1f}",
        )
        for one in found
    ]
    ratios = ("create_ratio", "run_ratio", "bytes_ratio")
    numbers = [{**asdict(one), **{name: getattr(one, name) for name in ratios}} for one in found]
    notes = [
        f"{one.kind}: the first query took {1e3 * one.first_create:.1f} ms to create, {1e3 * one.first_batch:.1f} ms of CPU "
        f"a batch and {one.first_bytes / 1024:,.0f} KB, the last ones {1e3 * one.last_create:.1f} ms to create, "
        f"and the batch after one {1e3 * one.after_create:.1f} ms more than others; "
        f"{one.late_batches} of {one.batches} batches came late, of the last {BATCHES}, with all queries, {one.late_at_the_end}; "
        f"a core carries {f'{one.capacity:,}' if one.capacity else 'any number of'} such queries" for one in found
    ]
    title = f"Queries added one by one while {RATE:,} rows/s come, in batches of {BATCH_SECONDS} s (per cent: of the first one)"
    return [Report(title, columns, lines, numbers, notes)]


def measure(kind: str, count: int, query: Callable[[int], str]) -> Measured:
    """Add queries while rows come."""
    db = sash.connect()
    db.execute(STREAMS)
    load, empty = Load(db), db.state_bytes
    first = _create(db, 0, query)
    for _ in range(3):
        load.batch()  # the window fills
    one, first_bytes, resident = _batches(load), db.state_bytes - empty, _resident()
    times = []
    for number in range(1, count + 1):
        times.append(_create(db, number, query))
        if load.is_due:
            load.batch()
    for _ in range(3):
        load.batch()
    late = load.late
    all_ = _batches(load)
    late = load.late - late
    after = statistics.median(_after_create(db, load, count + more, query) for more in range(1, BATCHES + 1)) - all_
    tail = times[-max(1, count // 10) :]
    return Measured(
        kind, count, first, statistics.median(times), statistics.median(tail), one, max(0.0, all_ - one) / count, first_bytes,
        (db.state_bytes - empty - first_bytes) / count, (_resident() - resident) / count, load.batches, load.late, late,
        max(0.0, after),
    )


def _after_create(db: EmbeddedDatabase, load: Load, number: int, query: Callable[[int], str]) -> float:
    """CPU seconds of the batch after a CREATE."""
    _create(db, number, query)
    return load.batch()


def _batches(load: Load) -> float:
    return statistics.median(load.batch() for _ in range(BATCHES))


def _create(db: EmbeddedDatabase, number: int, query: Callable[[int], str]) -> float:
    started = time.perf_counter()
    db.execute(f"CREATE MATERIALIZED VIEW q{number} AS {query(number)}")
    return time.perf_counter() - started


def _query(stream: str, key: int, least: int) -> str:
    return f"SELECT COUNT(*) AS n, SUM(v) AS s FROM {stream} [RANGE 1 SECOND] WHERE k = {key} AND v > {least}"


def _different(number: int) -> str:
    return _query("ab"[number % 2], number // 2 % KEYS, number // (2 * KEYS))


def _rows(number: int) -> pa.Table:
    count = int(RATE * BATCH_SECONDS / 2)
    places = np.arange(number * count, (number + 1) * count)
    instants = (places * (BATCH_SECONDS * 1e6 / count)).astype(np.int64)
    columns = {
        "ts": pa.array(instants).view(pa.timestamp("us")), "k": pa.array(places % KEYS, pa.int32()),
        "v": pa.array((places * 7919 % 4000) / 4.0),
    }
    return pa.table(columns)


def _resident() -> int:
    """Bytes of this process that are in memory and its own."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
