"""Streams of partitioned sources: random ones, what they mean by the slowest way there is, and shards that take them in."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

import sash
from reopening import reopened
from sash.plan.streams import StreamSpec
from sash.planner.job import Job, plan_job
from sash.runtime.packets import Cargo, Packet, facts_body, told_body
from sash.runtime.packing import to_everyone
from sash.runtime.partitions import named
from sash.runtime.shard import Shard
from sash.schema import SECOND
from sash.spark.frames import pack_task
from sash.stores.arena import Arena
from sash.testing.tables import from_arrow

COLUMNS = "ts TIMESTAMP, k BIGINT, name STRING"
VIEWS = """
CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW latest AS SELECT ts, k, name FROM e [ROWS 3];
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n, MAX(name) AS name FROM e [RANGE 3 SECONDS];
"""
NAMES = ("counts", "latest", "total")


@dataclass(frozen=True)
class Row:
    """A row of stream e, in seconds, and where it was in its source."""

    partition: int | str
    position: int
    ts: float
    k: int
    name: str | None

    @property
    def values(self) -> tuple[float, int, str | None]:
        return self.ts, self.k, self.name


@dataclass(frozen=True)
class Advance:
    """Partitions, or without any the whole stream, move on to an instant."""

    to: float
    partitions: tuple[int | str, ...] = ()


@dataclass(frozen=True)
class Known:
    """The source has these partitions, with rows or without."""

    partitions: tuple[int | str, ...]


Batch = Sequence[Row] | Advance | Known


class SlowClocks:
    """What is late, by the words of the contract: row after row, all that came before looked at again."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._seen: dict[int | str, list[tuple[int, float]]] = {}
        self._given: dict[int | str, float] = {}
        self._advanced = float("-inf")

    def clock(self) -> float:
        return max(self._advanced, min((self._of(partition) for partition in self._given), default=float("-inf")))

    def _of(self, partition: int | str, before: int | None = None) -> float:
        earlier = [ts for position, ts in self._seen.get(partition, ()) if before is None or position < before]
        return max([self._advanced, self._given[partition], *(ts - self._delay for ts in earlier)])

    def take(self, batch: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """The rows that are in time, and those that are late."""
        start = self.clock()
        for row in batch:
            self._given.setdefault(row.partition, start)
        for row in batch:
            self._seen.setdefault(row.partition, []).append((row.position, row.ts))
        late = [row for row in batch if row.ts < self._of(row.partition, row.position)]
        return [row for row in batch if row not in late], late

    def know(self, event: Known) -> None:
        start = self.clock()
        for partition in event.partitions:
            self._given.setdefault(partition, start)

    def advance(self, event: Advance) -> None:
        if not event.partitions:
            self._advanced = max(self._advanced, event.to)
        for partition in event.partitions:
            self._given[partition] = max(self._given.get(partition, event.to), event.to)


def expected(batches: Sequence[Batch], delay: float) -> tuple[dict[str, Counter[str]], Counter[tuple[object, ...]]]:
    """The changelogs of the rows that are in time, in the order of (ts, partition, position), and the late rows."""
    clocks, kept, late = SlowClocks(delay), [], []
    for batch in batches:
        if isinstance(batch, Advance):
            clocks.advance(batch)
            continue
        if isinstance(batch, Known):
            clocks.know(batch)
            continue
        in_time, too_late = clocks.take(batch)
        kept, late = kept + in_time, late + too_late
    db = sash.connect()
    db.execute(f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts; {VIEWS}")
    db.push("e", [row.values for row in sorted(kept, key=lambda row: (row.ts, row.partition, row.position))])
    if clocks.clock() > float("-inf"):
        db.advance(int(clocks.clock() * SECOND))
    db.end()
    logs = {view: Counter(repr((c.ts, c.row, c.op)) for c in from_arrow(db.changes(view))) for view in NAMES}
    return logs, Counter((int(row.ts * SECOND), row.k, row.name) for row in late)


def source(chance: random.Random, partitions: Sequence[int | str], rows: int) -> list[Row]:
    """Partitions that run at different speeds, with rows out of order in each, several at one instant, some equal."""
    found = []
    for partition in partitions:
        begin, position = chance.randrange(0, 20) / 4, chance.randrange(-3, 1000)
        for place in range(chance.randrange(1, rows)):
            ts = max(0.0, begin + place * chance.choice([0, 0.25, 0.5]) + chance.randrange(-12, 4) / 4)
            found.append(Row(partition, position, ts, chance.randrange(3), chance.choice(["a", "b", None])))
            position += chance.choice([1, 1, 1, 5])
    return found


def in_batches(chance: random.Random, rows: Sequence[Row], count: int, together: bool) -> list[list[Row]]:
    """Every partition in its order, cut anywhere; `together`: all partitions are in the first batch."""
    batches: list[list[Row]] = [[] for _ in range(count)]
    for partition in dict.fromkeys(row.partition for row in rows):
        own = [row for row in rows if row.partition == partition]
        cuts = sorted(chance.randrange(len(own) + 1) for _ in range(count - 1))
        if together:
            cuts = [max(1, cut) for cut in cuts]
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(own)], strict=True)):
            batches[number] += own[start:stop]
    return [batch for batch in batches if batch]


def in_tasks(chance: random.Random, batch: Sequence[Row], is_whole: bool) -> list[list[Row]]:
    """Whole partitions in any task, or pieces of them, each between two positions; the rows of a task lie anyhow."""
    tasks: list[list[Row]] = [[] for _ in range(chance.randrange(1, 4))]
    for partition in dict.fromkeys(row.partition for row in batch):
        own = [row for row in batch if row.partition == partition]
        cuts = [] if is_whole else sorted(chance.randrange(len(own) + 1) for _ in range(2))
        free = chance.sample(range(len(tasks)), len(tasks))
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(own)], strict=True)):
            tasks[free[number % len(free)] if number < len(free) else free[-1]] += own[start:stop]
    return [chance.sample(task, len(task)) for task in tasks if task]


def table(rows: Sequence[Row]) -> pa.Table:
    """What a task reads of them."""
    ts = pa.array([int(row.ts * SECOND) for row in rows], pa.int64()).cast(pa.timestamp("us"))
    return pa.table(
        {
            "ts": ts, "k": pa.array([row.k for row in rows], pa.int64()), "name": pa.array([row.name for row in rows], pa.string()),
            "partition": pa.array([row.partition for row in rows]), "offset": pa.array([row.position for row in rows], pa.int64()),
        }
    )  # fmt: skip


class Shards:
    """All shards of a job over stream e; `is_restarted`: each is made anew, from its arena, before every step."""

    def __init__(self, delay: float, shards: int, *, is_restarted: bool = False) -> None:
        db = sash.connect()
        db.execute(f"CREATE STREAM e ({COLUMNS}) TIMESTAMP BY ts DELAY {int(delay * 1000)} MILLISECONDS; {VIEWS}")
        self.stream: StreamSpec = replace(db.catalog.streams["e"], partition=("partition",), position="offset")
        views = {view.name: view.plan for view in db.materialized().values()}
        self.job: Job = plan_job({"e": self.stream}, views, shards)
        self._is_restarted = is_restarted
        addresses = [(level, shard) for level in range(1, self.job.levels + 1) for shard in range(shards)]
        self._arenas = {address: Arena.anonymous() for address in addresses}
        self._shards = {address: Shard(self.job, *address, arena) for address, arena in self._arenas.items()}
        self.logs: dict[str, Counter[str]] = {view: Counter() for view in NAMES}
        self.late: Counter[tuple[object, ...]] = Counter()

    def take(self, tasks: Sequence[Sequence[Row]], known: Known | None = None) -> None:
        """What tasks read, and what is known of partitions, in one step."""
        packed = [packet for task, rows in enumerate(tasks) for packet in pack_task(self.job, self.stream, task, table(rows))]
        self.step([*packed, *([] if known is None else self._told(known))])

    def know(self, event: Known) -> None:
        self.step(list(self._told(event)))

    def _told(self, event: Known) -> Iterator[Packet]:
        names = named([pa.array(event.partitions)]).dictionary.to_pylist()
        body = told_body({"known": names, "delay": self.stream.delay})
        return to_everyone(self.job, Cargo.CONTROL, "e", 0, body)

    def advance(self, event: Advance) -> None:
        facts: dict[str, object] = {"advance": int(event.to * SECOND)}
        if event.partitions:
            facts["partitions"] = named([pa.array(event.partitions)]).dictionary.to_pylist()
        self.step(list(to_everyone(self.job, Cargo.CONTROL, "e", 0, told_body(facts))))

    def end(self) -> None:
        self.step(list(to_everyone(self.job, Cargo.CONTROL, "", 0, facts_body({"end": 1, "until": None}))))
        for arena in self._arenas.values():
            arena.close()

    @property
    def clocks(self) -> set[int]:
        return {shard.clocks["e"].clock for shard in self._shards.values()}

    @property
    def arenas(self) -> Mapping[tuple[int, int], Arena]:
        return self._arenas

    def step(self, packets: Sequence[Packet]) -> None:
        if self._is_restarted:
            self._arenas = {address: reopened(arena) for address, arena in self._arenas.items()}
            self._shards = {address: Shard(self.job, *address, arena) for address, arena in self._arenas.items()}
        waiting = list(packets)
        for address, shard in self._shards.items():
            out = shard.step([packet for packet in waiting if (packet.level, packet.shard) == address])
            waiting += [packet for packet in out if packet.level]
            for packet in out:
                self._hear(packet)

    def _hear(self, packet: Packet) -> None:
        if packet.cargo is Cargo.CHANGES:
            for change in from_arrow(pa.Table.from_batches([packet.batch()])):
                self.logs[packet.name][repr((change.ts, change.row, change.op))] += 1
        elif packet.cargo is Cargo.LATE:
            ts, k, name = packet.batch().columns
            self.late.update(zip(ts.cast(pa.int64()).to_pylist(), k.to_pylist(), name.to_pylist(), strict=True))


def played(batches: Iterator[Sequence[Sequence[Row]] | Advance | Known], shards: Shards) -> Shards:
    for batch in batches:
        if isinstance(batch, Advance):
            shards.advance(batch)
        elif isinstance(batch, Known):
            shards.know(batch)
        else:
            shards.take(batch)
    shards.end()
    return shards
