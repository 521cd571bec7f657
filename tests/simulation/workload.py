"""A random job and what is done with it: files come, statements are given, runs end and begin again.

Whoever plays it takes in all there is before and after every statement, so that a statement has one place in the input.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts DELAY 2 SECONDS WITH (format = 'csv', path = '{base}/in/s/*');
CREATE STREAM r (ts TIMESTAMP, k STRING, w DOUBLE) TIMESTAMP BY ts WITH (format = 'json', path = '{base}/in/r/*');
CREATE TABLE t (k STRING, name STRING);
"""

# Every kind of operator that keeps state, alone and on others.
QUERIES = (
    "SELECT k, v * 2 AS twice FROM s [RANGE 5 SECONDS] WHERE v > 1",
    "SELECT k, COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 9 SECONDS] GROUP BY k",
    "SELECT COUNT(*) AS n, AVG(w) AS w, MIN(k) AS k FROM r [RANGE 7 SECONDS]",
    "SELECT s.v, r.w FROM s [RANGE 6 SECONDS] s JOIN r [RANGE 9 SECONDS] r ON s.k = r.k",
    "SELECT s.k, s.v, r.w FROM s [RANGE 4 SECONDS] s LEFT JOIN r [RANGE 5 SECONDS] r ON s.k = r.k",
    "SELECT DISTINCT k, v FROM s [RANGE 6 SECONDS]",
    "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT SELECT k FROM r [RANGE 4 SECONDS]",
    "SELECT k, v FROM s [RANGE 9 SECONDS] ORDER BY v DESC, k LIMIT 3",
    "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS total FROM s [RANGE 8 SECONDS]",
    "SELECT * FROM r [PARTITION BY k ROWS 2]",
    "SELECT k, v FROM s [ROWS 4]",
    "SELECT t.name, COUNT(*) AS n FROM s [RANGE 9 SECONDS] s JOIN t ON s.k = t.k GROUP BY t.name",
    "SELECT s.v, t.name FROM s [RANGE 9 SECONDS] s JOIN t ON s.k = t.k",
    "SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 8 SECONDS] GROUP BY k) GROUP BY n",
    "SELECT v, COUNT(*) AS n FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY v",
    "SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k EMIT EVERY 3 SECONDS",
)

# The same of a DataFrame, whose batches are units, or whose rows have partitions and positions.
FRAME = "CREATE STREAM e (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts DELAY 1 SECONDS;\n"
FRAME_QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS v FROM e [RANGE 8 SECONDS] GROUP BY k",
    "SELECT k, v FROM e [ROWS 4]",
    "SELECT DISTINCT k FROM e [RANGE 5 SECONDS]",
    "SELECT e.v, r.w FROM e [RANGE 6 SECONDS] e JOIN r [RANGE 9 SECONDS] r ON e.k = r.k",
    "SELECT e.k, t.name FROM e [RANGE 9 SECONDS] e JOIN t ON e.k = t.k",
    "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT SELECT k FROM e [RANGE 4 SECONDS]",
)
ON_VIEWS = ("SELECT COUNT(*) AS rows FROM {view}", "SELECT * FROM {view} [ROWS 3]")
ON_DISK = 0.4  # of the workloads
WITH_FRAME = 0.3  # of them
KEYS = ("ann", "bob", "cid", "", None)


class Do(Enum):
    FILES = "files come"
    EXECUTE = "a statement"
    READ = "a view is read"
    RESTART = "the process ends, and another goes on"
    RUN = "what is there is read to its end"


class Frame(Enum):
    """What a DataFrame tells of the order of its rows."""

    UNITS = "nothing: a batch is a unit"
    PLACED = "partitions and positions"


FrameRow = tuple[int, str | None, int | None, int, int]  # microseconds, key, value, partition, position


@dataclass(frozen=True)
class Action:
    """One thing that is done."""

    do: Do
    text: str = ""
    files: tuple[tuple[str, str], ...] = ()
    frame: tuple[tuple[FrameRow, ...], ...] = ()  # batches of the DataFrame


@dataclass(frozen=True)
class Workload:
    """A job, how it runs, and what is done with it."""

    sql: str
    shards: int
    batch_rows: int
    snapshot_every: int
    machines: int
    actions: tuple[Action, ...]
    is_on_disk: bool  # else in an object store
    frame: Frame | None  # whether the job reads one


def make_workload(seed: int) -> Workload:
    chance = random.Random(f"workload {seed}")
    return _Maker(chance).make()


class _Maker:
    """Draws a workload; knows which views there are."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._views: list[str] = []
        self._queries = chance.sample(QUERIES, 6)
        self._frame = chance.choice((Frame.UNITS, Frame.PLACED)) if chance.random() < WITH_FRAME else None
        if self._frame is not None:  # the first view must read it
            self._queries[3:] = chance.sample(FRAME_QUERIES, 3)
        self._positions = [0, 0]  # in partitions of the DataFrame
        self._count = 0
        self._second = 0.0
        self._rows: list[str] = []  # the keys in the table

    def make(self) -> Workload:
        chance = self._chance
        first = ";\n".join(self._create() for _ in range(chance.choice((1, 1, 1, 2))))
        early = "INSERT INTO t VALUES ('ann', 'Ann'), ('bob', NULL);" if chance.random() < 0.5 else ""
        actions: list[Action] = []
        for _ in range(chance.randint(2, 3)):
            actions.append(self._files())
            actions += [self._another() for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        if chance.random() < 0.7:
            actions.append(Action(Do.RUN))
        return Workload(
            STREAMS + (FRAME if self._frame is not None else "") + early + first + ";", chance.choice((1, 1, 2, 2, 3)), chance.choice((4, 1000, 1000)),
            chance.choice((1, 2, 3, 20)), chance.choice((1, 2)), tuple(actions), chance.random() < ON_DISK,
            self._frame,
        )  # fmt: skip

    def _another(self) -> Action:
        draw = self._chance.random()
        if draw < 0.2:
            return Action(Do.RESTART)
        if draw < 0.3:
            return Action(Do.READ, self._chance.choice(self._views))
        return Action(Do.EXECUTE, self._statement())

    def _statement(self) -> str:
        draw = self._chance.random()
        if draw < 0.3:
            return self._create()
        if draw < 0.4 and len(self._views) > 1:
            return self._drop()
        if draw < 0.5 and self._queries:
            return f"CREATE OR REPLACE MATERIALIZED VIEW {self._replaceable()} AS {self._queries.pop()}"
        if draw < 0.6:
            return f"ADVANCE TO '{_instant(self._second + self._chance.randint(0, 3))}'"
        return self._change_of_table()

    def _create(self) -> str:
        self._count += 1
        name = f"v{self._count}"
        is_on_view = self._views and (not self._queries or self._chance.random() < 0.25)
        query = self._chance.choice(ON_VIEWS).format(view=self._chance.choice(self._views)) if is_on_view else self._queries.pop()
        self._views.append(name)
        return f"CREATE MATERIALIZED VIEW {name} AS {query}"

    def _drop(self) -> str:
        return f"DROP VIEW {self._views.pop()}"

    def _replaceable(self) -> str:
        return self._views[-1]  # nobody reads it

    def _change_of_table(self) -> str:
        name = self._chance.choice(("Ann", "Bob", "Cid"))
        key = self._chance.choice(("ann", "bob", "cid"))
        return self._chance.choice((
            f"INSERT INTO t VALUES ('{key}', '{name}')",
            f"UPDATE t SET name = '{name}' WHERE k = '{key}'",
            f"DELETE FROM t WHERE k = '{key}'",
        ))  # fmt: skip

    def _files(self) -> Action:
        self._count += 1
        files = []
        for stream in "sr":
            if self._chance.random() < 0.8:
                rows = [self._row(stream) for _ in range(self._chance.randint(1, 7))]
                files.append((f"in/{stream}/{self._count:04d}.{'csv' if stream == 's' else 'json'}", "".join(rows)))
        batches = self._chance.randint(0, 3) if self._frame is not None else 0
        frame = tuple(tuple(self._frame_rows(self._chance.randint(1, 5))) for _ in range(batches))
        self._second += self._chance.choice((0, 1, 5))
        return Action(Do.FILES, files=tuple(files), frame=frame)

    def _frame_rows(self, count: int) -> Iterator[FrameRow]:
        """Every partition is there from the beginning: one that comes later begins with the clock of the batch that it comes in."""
        partitions = range(len(self._positions))
        yield from (self._frame_row(partition) for partition in partitions if not all(self._positions))
        yield from (self._frame_row(self._chance.choice(partitions)) for _ in range(count))

    def _frame_row(self, partition: int) -> FrameRow:
        chance = self._chance
        self._second += chance.choice((0, 0, 0.5, 1))
        ts = self._second - chance.choice((0, 0, 0, 1, 2, 4))
        self._positions[partition] += 1
        return int(ts * 1_000_000), chance.choice(KEYS), chance.choice((0, 1, 2, None)), partition, self._positions[partition]

    def _row(self, stream: str) -> str:
        chance = self._chance
        self._second += chance.choice((0, 0.5, 1, 1, 2))
        ts, key = self._second - chance.choice((0, 0, 0, 1, 2, 4)), chance.choice(KEYS)
        if chance.random() < 0.03:
            return "nonsense\n"
        if stream == "s":
            return f"{ts},{'' if key is None else key},{chance.choice((0, 1, 2, 3, ''))}\n"
        key = "null" if key is None else f'"{key}"'
        return f'{{"ts": {ts}, "k": {key}, "w": {chance.choice((0.25, 1, 2.5, "null"))}}}\n'


def _instant(second: float) -> str:
    return f"1970-01-01 00:{int(second) // 60:02d}:{int(second) % 60:02d}"
