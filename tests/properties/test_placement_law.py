"""The law for plans built by hand: shards, batch size, expiry strategy and optimizer change nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod, Period
from sash.plan.nodes import (
    Combination,
    Combine,
    Deletions,
    Emit,
    Filter,
    Insertions,
    Join,
    Minus,
    Order,
    Pairing,
    Plan,
    Project,
    Scan,
    Sequence,
    Snapshots,
    Top,
    Window,
)
from sash.plan.over import Frame, Over, OverCall, Unit, WindowFunction
from sash.plan.rules.prune_columns import prune_columns
from sash.plan.streams import Stamp, StreamSpec
from sash.plan.time_predicate import TimePredicate
from sash.plan.windows import NowWindow, RangeWindow, RowsWindow
from sash.planner.explain import explain_view
from sash.planner.job import Job, plan_job
from sash.planner.placement import Expiry
from sash.runtime.packets import Cargo, Packet, facts_body
from sash.runtime.packing import NO_DEAD, pack_split, to_everyone
from sash.runtime.shard import Shard
from sash.scalar.nodes import Call, Column, Literal
from sash.schema import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, schema
from sash.stores.arena import Arena

COLUMNS = schema(("ts", TIMESTAMP), ("k", STRING), ("v", INT))
STREAMS = {name: StreamSpec(name, COLUMNS, Stamp.EXTERNAL, 0) for name in ("a", "b")}
A, B = (Scan(name, COLUMNS) for name in STREAMS)


def project(plan: Plan, *places: int) -> Project:
    fields = [plan.schema.fields[place] for place in places]
    columns = tuple(Column(p, f.type, f.name) for p, f in zip(places, fields, strict=True))
    return Project(plan, columns, tuple(field.name for field in fields))


def padded(plan: Plan, before: int, after: int) -> Project:
    """NULLs on both sides, as outer joins have them."""
    columns = [Column(p, f.type, f.name) for p, f in enumerate(plan.schema.fields)]
    nulls = [Literal(None, type_) for type_ in (STRING, INT)]
    expressions = (*nulls[:before], *columns, *nulls[:after])
    return Project(plan, expressions, tuple(f"c{place}" for place in range(len(expressions))))


def last(size: int, stream: Scan | Insertions | Deletions | Snapshots | Sequence) -> Window:
    return Window(stream, RangeWindow(size))


def rows(count: int, stream: Scan | Insertions | Deletions | Snapshots | Sequence, *partition: int) -> Window:
    return Window(stream, RowsWindow(count, partition=partition))


def over(plan: Plan, partition: tuple[int, ...]) -> Over:
    """A running sum, a moving maximum, and the value before."""
    total, greatest = (AggregateCall(function, 1, INT) for function in (Function.SUM, Function.MAX))
    calls = (
        OverCall(total, Frame(Unit.RANGE, None, 0)),
        OverCall(greatest, Frame(Unit.ROWS, -1, 1)),
        OverCall(WindowFunction.LAG, Frame(Unit.RANGE, None, 0), 1, INT),
    )
    return Over(plan, partition, (Order(1),), calls, ("total", "greatest", "before"))


def instants(plan: Plan) -> Project:
    """Two instants for every row: 2 after it came, and v after that."""
    came = Call("unix_micros", (Column(0, TIMESTAMP, "ts"),), BIGINT)
    first = Call("add", (came, Literal(2, BIGINT)), BIGINT)
    second = Call("add", (first, Call("cast", (Column(2, INT, "v"),), BIGINT)), BIGINT)
    columns = tuple(Column(p, f.type, f.name) for p, f in enumerate(plan.schema.fields))
    return Project(plan, (*columns, first, second), (*plan.schema.names, "first", "second"))


LEFT, RIGHT = project(last(6, A), 1, 2), project(last(9, B), 1, 2)
PAIRS = Join(LEFT, RIGHT, (0,), (0,), Call("less", (Column(1, INT, "v"), Column(3, INT, "v")), BOOLEAN))
LEFT_OUTER = Combine(PAIRS, padded(Combine(LEFT, project(PAIRS, 0, 1), Combination.ANTI), 0, 2), Combination.UNION_ALL)
RIGHT_ONLY = padded(Combine(RIGHT, project(PAIRS, 2, 3), Combination.ANTI), 2, 0)
BEST = Top(LEFT, (), (Order(1, is_descending=True, nulls_first=False),), 3)
CHRONICLE = Sequence(A, B, (1,), (1,), Pairing.CHRONICLE, 20)
RECENT = Sequence(A, B, (1,), (1,), Pairing.RECENT, None, Call("less", (Column(2, INT, "v"), Column(5, INT, "v")), BOOLEAN))

PLANS: dict[str, Plan] = {
    **{how.value: Combine(LEFT, RIGHT, how) for how in Combination},
    "union of windows": project(Combine(last(4, A), last(7, B), Combination.UNION_ALL), 1),
    "except of keys": Combine(project(LEFT, 0), project(RIGHT, 0), Combination.EXCEPT),
    "semi": Combine(LEFT, project(PAIRS, 0, 1), Combination.SEMI),
    "left outer": LEFT_OUTER,
    "full outer": Combine(LEFT_OUTER, RIGHT_ONLY, Combination.UNION_ALL),
    "one column of full outer": project(Combine(LEFT_OUTER, RIGHT_ONLY, Combination.UNION_ALL), 3),
    "nested": Combine(
        Combine(LEFT, RIGHT, Combination.EXCEPT_ALL), Combine(RIGHT, LEFT, Combination.EXCEPT), Combination.UNION_ALL
    ),
    "intersect of rows windows": Combine(project(rows(4, A), 1), project(rows(6, B, 1), 1), Combination.INTERSECT_ALL),
    "minus": Minus(last(7, A), last(7, B), (1,), (1,)),
    "minus, one column": project(Minus(last(7, A), last(7, B), (1, 2), (1, 2)), 2),
    "minus without keys": Minus(LEFT, RIGHT, (), ()),
    "top": BEST,
    "top of a part": Top(project(last(9, A), 2), (), (Order(0),), 2, 1),
    "numbered top": Top(LEFT, (), (Order(0),), 3, 1, "place"),
    "top of every key": Top(LEFT, (0,), (Order(1),), 2),
    "numbers of every key": project(Top(LEFT, (0,), (), 2, 0, "place"), 1, 2),
    "top of pairs": Top(project(PAIRS, 1, 3), (0,), (Order(1, is_descending=True),), 1),
    "as of": project(AsOf(last(6, A), last(9, B), (1,), (1,), 0, 0), 1, 2, 5),
    "next of every value": AsOf(LEFT, RIGHT, (0,), (0,), 1, 1, is_forward=True, is_strict=True, is_outer=True),
    "as of without keys": AsOf(LEFT, project(rows(4, B), 1, 2), (), (), 1, 1, is_outer=True),
    "reached": project(TimePredicate(instants(last(9, A)), (3, 4)), 1, 2, 5, 6),
    "reached ones": project(Filter(TimePredicate(instants(rows(5, A)), (4,)), Column(5, BOOLEAN, "told")), 1, 2),
    "ticks": CurrentPeriod(LEFT, (Period(3), Period(5, 1))),
    "ticks of pairs": project(CurrentPeriod(LEFT_OUTER, (Period(4, 3),)), 1, 2, 4),
    "ticks of a few": rows(4, Insertions(CurrentPeriod(BEST, (Period(6),))), 2),
    "reached with ticks": project(CurrentPeriod(TimePredicate(instants(rows(5, A)), (3,)), (Period(7),)), 1, 5, 6),
    "over every key": project(over(LEFT, (0,)), 2, 3, 4),
    "over everything": over(LEFT, ()),
    "over and over": over(over(LEFT, (0,)), (1,)),
    "what leaves the best": last(5, Deletions(BEST)),
    "last of what leaves": rows(3, Deletions(LEFT)),
    "snapshots": Window(Snapshots(BEST), NowWindow()),
    "last of snapshots": rows(4, Snapshots(Top(LEFT, (0,), (), 1)), 0),
    "recent": last(10, RECENT),
    "chronicle": Filter(last(8, CHRONICLE), Call("less", (Column(5, INT, "v"), Literal(4, INT)), BOOLEAN)),
    "last pairs": rows(3, CHRONICLE),
    "last pairs of every value": rows(2, RECENT, 5),
    "sequence of sequences": last(9, Sequence(Insertions(BEST), CHRONICLE, (1,), (2,), Pairing.RECENT, 12)),
    "emit": Emit(LEFT_OUTER, 4),
}


def make_rows(seed: int, count: int) -> dict[str, list[tuple[object, ...]]]:
    chance = random.Random(seed)
    result: dict[str, list[tuple[object, ...]]] = {"a": [], "b": []}
    for stream in result.values():
        now = 0
        for _ in range(count):
            now += chance.choice([0, 0, 1, 1, 3])
            stream.append((now, chance.choice([None, "x", "y", "z"]), chance.choice([None, 1, 2, 3, 4])))
    return result


def played(job: Job, streams: dict[str, list[tuple[object, ...]]], size: int) -> list[tuple[object, ...]]:
    """The changes of the view `v`, net over all shards."""
    addresses = [(level, shard) for level in range(1, job.levels + 1) for shard in range(job.shards)]
    shards = {address: Shard(job, *address, Arena.anonymous()) for address in addresses}
    total: Counter[tuple[object, ...]] = Counter()
    for packets in batches(job, streams, size):
        waiting = list(packets)
        for address, shard in shards.items():
            out = shard.step([packet for packet in waiting if (packet.level, packet.shard) == address])
            waiting += [packet for packet in out if packet.level]
            for packet in out:
                if packet.cargo is Cargo.CHANGES:
                    for op, ts, *row in zip(*packet.batch().to_pydict().values(), strict=True):
                        total[ts, *row] += op
    return sorted(((*key, op) for key, op in total.items() if op), key=repr)


def batches(job: Job, streams: dict[str, list[tuple[object, ...]]], size: int) -> Iterable[Iterable[Packet]]:
    read = [stream.name for stream in job.streams]
    for start in range(0, max(len(streams[name]) for name in read), size):
        for name in read:
            part = streams[name][start : start + size]
            arrays = [pa.array(column, t.arrow) for column, t in zip(zip(*part, strict=True), COLUMNS.types, strict=True)]
            batch = pa.RecordBatch.from_arrays(arrays, schema=COLUMNS.arrow)
            yield pack_split(job, STREAMS[name], start // size, batch, NO_DEAD, None)
    yield to_everyone(job, Cargo.CONTROL, "", 0, facts_body({"end": 1, "until": None}))


@pytest.mark.parametrize("name", PLANS)
def test_nothing_but_the_plan_shows(name: str) -> None:
    plan = PLANS[name]
    assert prune_columns(plan).schema.types == plan.schema.types
    for streams in (make_rows(1, 50), make_rows(2, 1)):
        expected = played(plan_job(STREAMS, {"v": plan}, 1), streams, 1)
        assert expected or len(streams["a"]) == 1
        ways = [
            (1, 1000, Expiry.NEGATIVE, plan), (3, 1000, Expiry.AUTO, plan), (2, 7, Expiry.AUTO, prune_columns(plan)),
            (3, 5, Expiry.TIME_MESSAGE, plan), (2, 1000, Expiry.PIGGYBACK, plan), (1, 3, Expiry.DIRECT, plan),
        ]
        for shards, size, expiry, way in ways:
            assert played(plan_job(STREAMS, {"v": way}, shards, expiry), streams, size) == expected


def levels(name: str) -> int:
    return plan_job(STREAMS, {"v": PLANS[name]}, 3).levels


@pytest.mark.parametrize(
    ("name", "expected"),
    [("EXCEPT", 1), ("UNION ALL", 1), ("semi", 1), ("left outer", 1), ("minus", 1), ("chronicle", 1), ("top of every key", 1),
     ("emit", 1), ("full outer", 2), ("top", 2), ("snapshots", 2)],
)
def test_rows_travel_no_more_than_they_must(name: str, expected: int) -> None:
    assert levels(name) == expected


def test_the_first_rows_are_found_before_they_travel() -> None:
    lines = explain_view(PLANS["top"], Expiry.AUTO).splitlines()[1:]
    assert [line.strip(" └─").split("  ")[0] for line in lines[:3]] == ["Top", "Port", "Top"]
    assert "exchange to one shard, level 2" in lines[1] and "tree of rows in order" in lines[2]


def test_columns_nobody_reads_are_not_kept() -> None:
    pruned = prune_columns(project(Combine(last(4, A), last(7, B), Combination.UNION_ALL), 1))
    assert isinstance(pruned, Project) and pruned.input.schema.names == ("k",)
    minus = prune_columns(Minus(last(7, A), last(7, B), (1,), (1,)))
    assert isinstance(minus, Minus) and minus.right.schema.names == ("k",) and len(minus.left.schema) == 3
    assert minus.right_keys == (0,)
