"""State follows the windows: when all rows have left nothing is held, and twenty windows' worth of rows need no more than one.

Every key, string and number of the input is new after a while, so that whatever forgets to forget grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

import sash
from sash.operators.expiry.expire import ExpireInOrder
from sash.operators.expiry.kernels.expire import COUNT
from sash.operators.group_by.groups import Groups
from sash.operators.group_by.operator import GroupBy
from sash.operators.operator import Operator
from sash.operators.shared_groups.parts import Parts
from sash.operators.shared_join.operator import SharedJoin
from sash.plan.nodes import Aggregate, Plan, Scan, Sequence, Window, inputs
from sash.runtime.graph import Graph
from sash.stores.ranking import Ranking
from sash.stores.row_log import RowLog
from shapes import EPOCH, SHAPES, STREAMS, Shape

ROWS_A_SECOND = 8
PIECE = 40  # rows in a push
HOUR = timedelta(hours=1)
STORES = ("sash.stores.", *(
    f"sash.operators.{name}" for name in (
        "windows.partitions", "windows.session", "expiry.calendar", "expiry.message_stores", "join.merging_log", "group_by.groups", "group_by.sliding_groups",
        "shared_groups.parts", "distinct.store", "sequence.waiting", "over.scratch",
    )
))  # fmt: skip


def leaves(plan: Plan) -> bool:
    """Whether time alone takes every row away."""
    if isinstance(plan, Window) and not plan.shape.goes_by_time:
        return False
    if (isinstance(plan, Scan) and plan.is_table) or (isinstance(plan, Sequence) and plan.within is None):
        return False
    return all(leaves(below) for below in inputs(plan))


def has_total(plan: Plan) -> bool:
    """Whether there is an aggregate whose one row is always there."""
    return (isinstance(plan, Aggregate) and not plan.keys) or any(has_total(below) for below in inputs(plan))


def connect(shape: Shape) -> sash.Database:
    db = sash.connect()
    db.execute(STREAMS + shape.sql)
    return db


TIMED = [shape for shape in SHAPES if leaves(connect(shape).catalog.views[shape.name].plan)]


def make_rows(first: int, last: int) -> dict[str, list[tuple[object, ...]]]:
    """Rows of all streams with these numbers; keys meet for a few seconds and never come again."""
    rows: dict[str, list[tuple[object, ...]]] = {"bids": [], "asks": [], "quiet": []}
    for n in range(first, last):
        at = EPOCH + timedelta(seconds=n / ROWS_A_SECOND)
        key, name, cents = n // 16, f"name {n // 4}", Decimal(n) / 100
        rows["bids"].append((at, key, name, n / 4, f"tag {n}" if n % 3 else "x"))
        if n % 5:
            rows["asks"].append((at, key, name, cents, at.date(), n % 2 == 0))
        if n % 32 == 0:
            rows["quiet"].append((at, key, n))
    return rows


def push(db: sash.Database, first: int, last: int) -> None:
    for start in range(first, last, PIECE):
        for name, rows in make_rows(start, min(start + PIECE, last)).items():
            db.push(name, rows)


def graph(db: sash.Database) -> Graph:
    return db._running()._shard.graph


def stores(operator: Operator) -> Iterator[object]:
    """Everything in an operator that keeps rows."""
    if isinstance(operator, SharedJoin):
        yield from (log for join in operator._apart.values() for log in join._logs)
        assert operator._together is None, "a log of many windows is asked in another way"
    for value in vars(operator).values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if type(part).__module__.startswith(STORES) and type(part).__name__ not in ("Interner", "KeyColumns", "Scope"):
                yield part


def held(store: object, now: int) -> int:
    """How many rows, keys and values a store holds."""
    if isinstance(store, RowLog):
        return store.alive(now)
    if isinstance(store, Groups):
        return store.live_groups + store.live_values
    if isinstance(store, Parts):
        return len(store) + store.live_groups
    if isinstance(store, Ranking):
        return len(store) + store.live_partitions
    return len(store)  # type: ignore[arg-type]


def all_held(db: sash.Database) -> dict[str, int]:
    """What every operator and every arc holds, if anything."""
    found, now = {}, db._running().now
    for spec, node in graph(db)._nodes.items():
        count = node.output.rows
        if node.operator is not None:
            count += sum(held(store, now) for store in stores(node.operator))
        if isinstance(node.operator, ExpireInOrder):
            count += int(node.operator._registers[COUNT])
        if isinstance(node.operator, GroupBy) and not node.operator.spec.keys:
            count -= 1  # the one row that is always there
        if count:
            found[type(spec).__name__] = count
    return found


@pytest.mark.parametrize("shape", TIMED, ids=lambda shape: shape.name)
def test_what_left_is_not_held(shape: Shape) -> None:
    db = connect(shape)
    was_held = False
    for start in range(0, 30 * ROWS_A_SECOND, PIECE):
        push(db, start, start + PIECE)
        was_held = was_held or bool(all_held(db))
    assert was_held or shape.name in ("just_now", "total_of_nothing")
    assert db.changes(shape.name).num_rows
    db.advance((EPOCH + HOUR).isoformat(" "))
    assert all_held(db) == {}
    assert len(db.view(shape.name)) == 0 or has_total(db.catalog.views[shape.name].plan)


def test_rows_that_nothing_can_change_any_more_are_not_held() -> None:
    """Without a window a stream is all kept, but not by a comparison with NOW() that is decided for good."""
    shape = next(shape for shape in SHAPES if shape.name == "now_recent")
    db = connect(shape)
    push(db, 0, 30 * ROWS_A_SECOND)
    assert all_held(db)
    db.advance((EPOCH + HOUR).isoformat(" "))
    assert all_held(db) == {} and len(db.view(shape.name)) == 0


BOUNDED = [shape for shape in TIMED if shape.name != "session"]  # rows come without a gap here, so one of all keys never ends


@pytest.mark.parametrize("shape", BOUNDED, ids=lambda shape: shape.name)
def test_state_is_bounded_by_the_windows(shape: Shape) -> None:
    """Arrays double, so a longer run may find one that was just not full; never more."""
    db = connect(shape)
    arena = db._arena
    push(db, 0, 40 * ROWS_A_SECOND)
    before = sizes(arena)
    push(db, 40 * ROWS_A_SECOND, 160 * ROWS_A_SECOND)
    after = sizes(arena)
    grown = {name: (before[name], size) for name, size in after.items() if size > 2 * before.get(name, 0)}
    assert grown == {}
    db._running()._shard.interner.sweep(at_once=True)
    push(db, 160 * ROWS_A_SECOND, 161 * ROWS_A_SECOND)
    assert db._running()._shard.interner.count < 80 * ROWS_A_SECOND


def sizes(arena: object) -> dict[str, int]:
    """The bytes of every array, without those of the strings, which are swept when they are many."""
    return {name: entry.used for name, entry in arena._entries.items() if not name.startswith("interner/")}  # type: ignore[attr-defined]


def test_strings_are_forgotten() -> None:
    """Far more strings than the interner keeps before it looks which are still needed."""
    shape = next(shape for shape in TIMED if shape.name == "join_strings")
    db = connect(shape)
    for start in range(0, 60_000, 2_000):
        push_names(db, start, start + 2_000)
    assert db._running()._shard.interner.count < 20_000


def push_names(db: sash.Database, first: int, last: int) -> None:
    stamps = [EPOCH + timedelta(milliseconds=10 * n) for n in range(first, last)]
    db.push("bids", [(at, n, f"bidder {n}", 1.0, f"tag {n}") for n, at in enumerate(stamps, first)])
    db.push("asks", [(at, n, f"bidder {n}", Decimal(1), None, None) for n, at in enumerate(stamps, first)])
