"""The law of isolation where joins share their rows: random mixes of joins that differ in windows, columns and what is above them
come and go between batches of any size, on any number of shards, over restarts; each changes as if it were alone.

Rows of long windows are in memory in both runs, so a view that comes later begins with the same rows alone and in company.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples

import sash
from reopening import reopened
from sash.database.queries import Queries
from sash.operators.operator import Operator
from sash.operators.shared_groups.operator import SharedGroups
from sash.operators.shared_join.operator import SharedJoin
from sash.operators.shared_order.operator import SharedOrder
from sash.plan.statistics import NOTHING_KNOWN
from sash.planner.job import Job
from sash.planner.placement import Expiry
from sash.runtime.packets import Cargo, Packet, facts_body
from sash.runtime.packing import NO_DEAD, pack_split, to_everyone
from sash.runtime.shard import Shard
from sash.sources.convert import convert
from sash.stores.arena import Arena
from sash.testing.tables import from_arrow

COLUMNS = "(ts TIMESTAMP, k BIGINT, v BIGINT, x STRING) TIMESTAMP BY ts;"
STREAMS = f"CREATE STREAM s {COLUMNS} CREATE STREAM r {COLUMNS}"
LONGEST = 60
KEEPERS = {
    f"keeps_{stream}_{number}": f"SELECT {keys}, COUNT(*) AS n FROM {stream} [RANGE {LONGEST} SECONDS] GROUP BY {keys}"
    for number, (stream, keys) in enumerate([("s", "k"), ("r", "k"), ("s", "x"), ("s", "x, k")])
}  # shards remember rows by each of the keys that views want them by
KEEPERS["keeps_s"] = f"SELECT COUNT(*) AS n FROM s [RANGE {LONGEST} SECONDS]"  # and all of them on one
WINDOWS = (1, 2, 3, 10, 11, LONGEST)
SELECTS = (
    "a.k, a.v, b.v AS w", "a.k, b.x", "a.x, b.x AS y, b.k", "a.k, a.ts, b.ts AS u", "a.k, a.v + b.v AS t", "DISTINCT a.k, b.x",
    "a.k, COUNT(*) AS n, SUM(b.v) AS t, MAX(a.x) AS m",
)  # fmt: skip
CONDITIONS = ("", "", "", " AND a.v < b.v")
FILTERS = ("", "", "", " WHERE a.v > 1", " WHERE b.x = 'x1' AND a.v IS NOT NULL")


@dataclass(frozen=True)
class Event:
    """Rows of a stream, or a view that comes or goes, or another schedule."""

    stream: str = ""
    rows: tuple[tuple[object, ...], ...] = ()
    comes: str = ""
    goes: str = ""
    schedule: str = ""


@dataclass(frozen=True)
class Story:
    views: dict[str, str]
    events: tuple[Event, ...]
    shards: int
    restarts: bool

    def of(self, name: str) -> Story:
        """The same for one view alone."""
        mine = tuple(event for event in self.events if event.stream or name in (event.comes, event.goes))
        return Story({name: self.views[name]}, mine, self.shards, self.restarts)

    def in_pieces(self, chance: random.Random) -> Story:
        """The same rows in other batches."""
        return replace(self, events=tuple(piece for event in self.events for piece in _pieces(event, chance)))

    def __repr__(self) -> str:
        views = "\n".join(f"{name}: {sql}" for name, sql in self.views.items())
        return f"\n{self.shards} shards, restarts: {self.restarts}\n{views}\n" + "\n".join(map(repr, self.events)) + "\n"


def _pieces(event: Event, chance: random.Random) -> list[Event]:
    rows, found = list(event.rows), list[Event]()
    while rows:
        size = chance.choice([1, 2, 5, len(rows)])
        found.append(replace(event, rows=tuple(rows[:size])))
        del rows[:size]
    return found or [event]


@st.composite
def stories(draw: st.DrawFn, most: int) -> Story:
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    return told(draw, chance, {f"q{number}": a_join(chance) for number in range(draw(st.integers(2, most)))})


def told(draw: st.DrawFn, chance: random.Random, views: dict[str, str]) -> Story:
    """Views that come and go at any moment, among rows."""
    events = list(_rows(chance, draw(st.integers(0, 60))))
    for name in views:
        comes = 0 if chance.random() < 0.3 else chance.randrange(len(events) + 1)
        events.insert(comes, Event(comes=name))
        if chance.random() < 0.4:
            events.insert(chance.randrange(comes + 1, len(events) + 1), Event(goes=name))
    return Story(views, tuple(events), draw(st.sampled_from([1, 1, 2, 3])), draw(st.booleans()))


def a_join(chance: random.Random) -> str:
    left, right = chance.choice(WINDOWS), chance.choice(WINDOWS)
    select, other = chance.choice(SELECTS), chance.choice(["r", "r", "r", "s"])
    windows = (left, left) if chance.random() < 0.6 else (left, right)
    where = chance.choice(CONDITIONS) + chance.choice(FILTERS)
    group = " GROUP BY a.k" if "COUNT" in select else ""
    return (
        f"SELECT {select} FROM s [RANGE {windows[0]} SECONDS] a JOIN {other} [RANGE {windows[1]} SECONDS] b "
        f"ON a.k = b.k{where}{group}"
    )


def _rows(chance: random.Random, count: int) -> list[Event]:
    """Rows of both streams in pieces; some at one instant, some after a long time, few values or many."""
    steps, values = chance.choice([(0,), (0, 0, 1), (0, 1, 3, 40), (5,)]), chance.choice([2, 5, 1000])
    keys, found, ts = chance.choice([1, 3, 20]), list[Event](), {"s": 0.0, "r": 0.0}
    while count > 0:
        name, size = chance.choice(["s", "r"]), chance.choice([1, 1, 2, 7, 30])
        rows = []
        for _ in range(min(size, count)):
            ts[name] += chance.choice(steps) / 2
            key = None if chance.random() < 0.1 else chance.randrange(keys)
            value = chance.randrange(values)
            rows.append((ts[name], key, None if value == 1 else value, None if value == 0 else f"x{value % 3}"))
        found.append(Event(name, tuple(rows)))
        count -= size
    return found


@dataclass
class Running:
    """All shards of a job, whose views come and go."""

    shards: int
    restarts: bool
    expiry: Expiry = Expiry.AUTO
    changes: dict[str, Counter[str]] = field(default_factory=dict)
    shared: int = 0  # the most windows that were run together

    def __post_init__(self) -> None:
        self.db, self.queries = sash.connect(), Queries()
        self.db.execute(STREAMS)
        self.job = Job((), (), (), 1, self.shards, remembers=True)
        self.arenas = [Arena.anonymous() for _ in range(self.shards)]
        self.running = [Shard(self.job, 1, number, arena) for number, arena in enumerate(self.arenas)]
        self.moment, self.order = 0, 0

    def play(self, story: Story) -> Running:
        for name, sql in KEEPERS.items():
            self.create(name, sql)
        for event in story.events:
            if event.comes:
                self.create(event.comes, story.views[event.comes])
            elif event.goes:
                self.queries.remove(event.goes)
                self.take_up(self.job.without_view(event.goes))
                del self.changes[event.goes]
            elif event.schedule:
                self.reschedule(event.schedule)
            else:
                self.moment = self.order = self.order + 1
                stream = self.job.stream(event.stream)
                self.step(list(pack_split(self.job, stream, self.order, convert(stream, list(event.rows)).batch, NO_DEAD, None)))
        self.step(list(to_everyone(self.job, Cargo.CONTROL, "", 0, facts_body({"end": 1, "until": None}))))
        for arena in self.arenas:
            arena.close()
        return self

    def create(self, name: str, sql: str) -> None:
        self.db.execute(f"CREATE MATERIALIZED VIEW {name} AS {sql}")
        view = self.queries.place(
            self.db.catalog.views[name], self.shards, self.expiry, NOTHING_KNOWN, self.moment, remembers=True
        )
        assert view.level == 1
        self.queries.add(view, self.db.catalog.views[name].plan)
        self.changes[name] = Counter()
        self.take_up(self.job.with_view(view, self.db.catalog.streams.values()))

    def reschedule(self, schedule: str) -> None:
        self.job = replace(self.job, schedules=(("", schedule),))
        for shard in self.running:
            shard.reschedule(self.job.schedules)

    def take_up(self, job: Job) -> None:
        self.job = job
        for shard in self.running:
            self.hear(shard.change(job))

    def step(self, packets: list[Packet]) -> None:
        if self.restarts:
            self.arenas = [reopened(arena) for arena in self.arenas]
            self.running = [Shard(self.job, 1, number, arena) for number, arena in enumerate(self.arenas)]
        for number, shard in enumerate(self.running):
            self.hear(shard.step([packet for packet in packets if (packet.level, packet.shard) == (1, number)]))
            self.shared = max([self.shared, *(windows_of(node.operator) for node in shard.graph.nodes)])

    def hear(self, packets: list[Packet]) -> None:
        for packet in packets:
            if packet.cargo is Cargo.CHANGES:
                for change in from_arrow(pa.Table.from_batches([packet.batch()])):
                    for name in self.job.names_like(packet.name):
                        self.changes[name][repr((change.ts, change.row))] += change.op


def windows_of(operator: Operator | None) -> int:
    """How many windows, or sets of figures, an operator runs together."""
    if isinstance(operator, SharedJoin):
        return len(operator._taps) if operator._together is not None else 0
    return len(operator._taps) if isinstance(operator, SharedGroups | SharedOrder) else 0


def check(story: Story, alone_by: Expiry = Expiry.AUTO, *, most: int = 100, pieces: int | None = None) -> int:
    """How many windows ran together at most. So many of the views are run alone at most; in other batches, given a seed of these."""
    whole, chance = Running(story.shards, story.restarts).play(story), random.Random(pieces)
    names = sorted(whole.changes.keys() - KEEPERS.keys())
    for name in chance.sample(names, min(most, len(names))):
        mine = story.of(name) if pieces is None else story.of(name).in_pieces(chance)
        alone = Running(story.shards, story.restarts, alone_by).play(mine)
        for changes in (whole.changes[name], alone.changes[name]):
            for change in [change for change, op in changes.items() if not op]:
                del changes[change]
        assert alone.changes[name] == whole.changes[name], name
    return whole.shared


@examples(25)
@given(stories(most=8))
def test_every_join_of_a_mix_is_as_if_alone(story: Story) -> None:
    check(story)
