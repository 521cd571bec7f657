"""The queries of `sash demo` over made-up traffic, one by one and all at once, in one process on one core.

The limit is what it takes to bring the rows in: the same rows into an engine whose only query lets none of them through.
"""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import asdict, dataclass

import pyarrow as pa

from benchmarks.report import Options, Report, span
from sash.database.embedded import EmbeddedDatabase
from sash.generate import TRAFFIC, TRAFFIC_VIEWS, traffic

ROWS, QUICK_ROWS = 1_000_000, 200_000
BATCH = 50_000
NOTHING = "CREATE MATERIALIZED VIEW nothing AS SELECT src FROM traffic [RANGE 10 SECONDS] WHERE bytes < 0;"


@dataclass(frozen=True)
class Measured:
    """CPU seconds of each run."""

    query: str
    rows: int
    seconds: list[float]
    reading: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.reading) / statistics.median(self.seconds)


def run(options: Options) -> list[Report]:
    rows, repeat = options.rows or (QUICK_ROWS if options.quick else ROWS), options.repeat or (2 if options.quick else 3)
    table = traffic(rows, 1)["traffic"]
    jobs = {**views(), "all three": TRAFFIC_VIEWS}
    runs: dict[str, list[float]] = {name: [] for name in (*jobs, "reading")}
    seconds(table.slice(0, BATCH), TRAFFIC_VIEWS)  # kernels are compiled
    for _ in range(repeat):
        for name, statements in {**jobs, "reading": NOTHING}.items():
            options.say(name)
            runs[name].append(seconds(table, statements))
    measured = [Measured(name, rows, runs[name], runs["reading"]) for name in jobs]
    lines = [
        [one.query, f"{one.ratio:.2f}", span([rows / value for value in one.seconds]), span([rows / v for v in one.reading])]
        for one in measured
    ]
    title = f"Queries of the demo over {rows:,} connections, {repeat} runs each, in turns, CPU time"
    columns = ("query", "of reading alone", "rows/s", "reading alone rows/s")
    return [Report(title, columns, lines, [{**asdict(one), "ratio": one.ratio} for one in measured])]


def views() -> dict[str, str]:
    """The statements of the demo by the names of their views."""
    return {name: f"{text};" for text in TRAFFIC_VIEWS.split(";") for name in re.findall(r"VIEW (\w+) AS", text)}


def seconds(table: pa.Table, statements: str) -> float:
    """CPU time from the first row to the last change."""
    db = EmbeddedDatabase()
    db.execute(f"CREATE STREAM traffic ({TRAFFIC}) TIMESTAMP BY ts;" + statements)
    started = time.process_time()
    for start in range(0, len(table), BATCH):
        db.push("traffic", table.slice(start, BATCH))
    return time.process_time() - started
