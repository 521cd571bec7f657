"""The law of another number of shards: between any two batches the state is spread anew, and nobody can tell from the changelog.

Where a view cannot be spread, the test goes on with the shards that are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from playing import Streams, Way, planned, played, pushes
from queries import Job as RandomJob
from queries import jobs
from test_random_queries import examples, rows

import sash
from reopening import reopened
from sash.planner.job import Job
from sash.planner.placement import Expiry
from sash.runtime.packets import Cargo, Packet, facts_body
from sash.runtime.packing import NO_DEAD, pack_split, to_everyone
from sash.runtime.shard import Shard
from sash.runtime.spreading import comes_to_its_answer, spread, views_that_cannot
from sash.sources.convert import convert
from sash.stores.arena import Arena
from sash.testing.tables import from_arrow

Address = tuple[int, int]


@dataclass
class Spreading:
    """Shards of a job, whose number changes."""

    job: Job
    shards: dict[Address, Shard] = field(default_factory=dict)
    arenas: dict[Address, Arena] = field(default_factory=dict)
    changes: Counter[str] = field(default_factory=Counter)
    answers: dict[str, Counter[str]] = field(default_factory=dict)
    spreads: int = 0

    def __post_init__(self) -> None:
        for address in self.addresses:
            self.arenas[address] = Arena.anonymous()
            self.shards[address] = Shard(self.job, *address, self.arenas[address])

    @property
    def addresses(self) -> list[Address]:
        return [(level, shard) for level in range(1, self.job.levels + 1) for shard in range(self.job.shards)]

    def step(self, packets: Sequence[Packet]) -> None:
        waiting = list(packets)
        for address in self.addresses:
            out = self.shards[address].step([packet for packet in waiting if (packet.level, packet.shard) == address])
            waiting += [packet for packet in out if packet.level]
            for packet in out:
                if packet.cargo is Cargo.CHANGES:
                    for change in from_arrow(pa.Table.from_batches([packet.batch()])):
                        self.changes[repr((packet.name, change.ts, change.row))] += change.op
                        self.answers.setdefault(packet.name, Counter())[repr(change.row)] += change.op

    def spread(self, count: int) -> bool:
        """Go on with so many shards, if that can be."""
        levels = range(1, self.job.levels + 1)
        old = {level: [(self.shards[a], self.arenas[a]) for a in self.addresses if a[0] == level] for level in levels}
        if any([*views_that_cannot(self.job, level, [shard for shard, _ in old[level]])] for level in levels):
            return False
        self.job = replace(self.job, shards=count)
        held: dict[str, Counter[str]] = {}
        made = list(spread(self.job, old.__getitem__, lambda level, shard: Arena.anonymous()))
        for one in made:
            for name, batch in one.held:
                for row in batch.to_pylist():
                    held.setdefault(name, Counter())[repr(tuple(row[c] for c in batch.schema.names[:-1]))] += row["_weight"]
        self.arenas = {(one.level, one.shard): reopened(one.arena) for one in made}
        self.shards = {address: Shard(self.job, *address, self.arenas[address]) for address in self.addresses}
        for view in self.job.first_views:
            if comes_to_its_answer(view):
                found, known = held.get(view.name, Counter()), self.answers.get(view.name, Counter())
                assert sorted(found[one] for one in found if found[one]) == sorted(known[one] for one in known if known[one])
        self.spreads += 1
        return True


def spread_and_played(sql: str, given_rows: Streams, way: Way, counts: Sequence[int], view: str = "v") -> tuple[list[tuple[str, int]], int]:
    """The net changes of a view, and how often the job was spread anew."""
    db = sash.connect()
    db.execute(sql)
    running = Spreading(replace(planned(db, way), remembers=True))
    read = {stream.name: stream for stream in running.job.streams}
    for order, (name, part) in enumerate(pushes(db, given_rows, way)):
        running.spread(counts[order % len(counts)])
        if name in read:
            batch = convert(read[name], list(part)).batch
            running.step([*pack_split(running.job, read[name], order, batch, NO_DEAD, None)])
    running.spread(counts[-1])
    running.step([*to_everyone(running.job, Cargo.CONTROL, "", 0, facts_body({"end": 1, "until": None}))])
    prefix = f"({view!r}, "
    found = ((f"({change[len(prefix):]}", op) for change, op in running.changes.items() if op and change.startswith(prefix))
    return sorted(found), running.spreads


WAYS = {
    "2, 7, 3": (Way(size=2, seed=5, shards=2), (2, 7, 3)),
    "negative rows": (Way(size=3, seed=6, shards=3, expiry=Expiry.NEGATIVE), (1, 4)),
    "no optimizer": (Way(size=4, seed=7, shards=2, is_optimized=False), (5, 2)),
}


@pytest.mark.parametrize("way", WAYS)
@examples(10)
@given(job=jobs(most=16))
def test_the_number_of_shards_may_change_at_any_time(way: str, job: RandomJob) -> None:
    expected = played(job.sql, rows(job), Way())
    assume(expected)
    found, spreads = spread_and_played(job.sql, rows(job), *WAYS[way])
    event(f"spread anew: {spreads > 1}")
    assert found == expected


SHAPES = {
    "groups": "SELECT k, COUNT(*) AS n, SUM(v) AS v, MIN(v) AS least FROM s [RANGE 5 SECONDS] GROUP BY k",
    "all": "SELECT COUNT(*) AS n, MAX(v) AS v FROM s [RANGE 5 SECONDS]",
}
