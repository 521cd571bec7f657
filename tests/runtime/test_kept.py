"""Changes that nobody has read stay lanes, and nobody can tell: neither from them, nor from the answer, nor from the memory."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta, forever
from sash.runtime.kept import Kept
from sash.runtime.lane_changes import LaneChanges, owned

START = datetime(2024, 1, 1)
SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW sums AS SELECT k, SUM(n) AS n, MAX(k) AS last FROM s [RANGE 10 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW rows_of AS SELECT k, n FROM s [RANGE 5 SECONDS];
    CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM s [RANGE 5 SECONDS];
"""
VIEWS = ("sums", "rows_of", "total")


def connected(**options: Any) -> EmbeddedDatabase:
    db: EmbeddedDatabase = sash.connect(**options)
    db.execute(SQL)
    return db


def push(db: EmbeddedDatabase, second: int, count: int = 6) -> None:
    """Strings are new all the time; some rows are there twice, and some columns are NULL."""
    at = START + timedelta(seconds=second)
    keys = [None if n == 5 else f"key {second // 4} {n % 3}" for n in range(count)]
    db.push("s", [(at, key, n // 2 if n % 4 else None) for n, key in enumerate(keys)])


def kept(db: EmbeddedDatabase, view: str) -> Kept:
    return db._running().views[view].kept


def lanes(db: EmbeddedDatabase, view: str) -> int:
    return sum(isinstance(piece.batch, LaneChanges) for piece in kept(db, view).changes._pieces)


def test_what_nobody_reads_stays_lanes_and_is_in_no_answer_yet() -> None:
    db = connected()
    for second in range(5):
        push(db, second)
    for view in VIEWS:
        assert lanes(db, view) == len(kept(db, view).changes._pieces) > 0
        assert len(kept(db, view)._live._bag) == 0
        assert db.changes(view).num_rows and lanes(db, view) == 0
        kept(db, view).settle()
        assert len(kept(db, view)._live._bag) == len({*map(str, db.final(view).to_pylist())})


@pytest.mark.parametrize("history", ["all", "64 MB", "3 KB", "4 SECONDS", "none"])
@pytest.mark.parametrize("seed", range(2))
def test_whoever_reads_when_sees_the_same(history: str, seed: int) -> None:
    chance, quiet, read = random.Random(seed), connected(history=history), connected(history=history)
    subscriptions = {view: read.subscribe(view, timeout=0) for view in VIEWS}
    told: dict[str, list[Any]] = {view: [] for view in VIEWS}
    for second in range(60):
        push(quiet, second)
        push(read, second)
        for view in chance.sample(VIEWS, chance.randrange(3)):
            look = chance.choice([read.changes, read.view, read.final, read.changes_since])
            look(view)
            told[view] += [row for batch in subscriptions[view] for row in batch.to_pylist()]
        if chance.random() < 0.2:
            read._running()._shard.interner.sweep(at_once=True)
    for view in VIEWS:
        assert read.final(view).to_arrow() == quiet.final(view).to_arrow()
        assert read.view(view).to_arrow() == quiet.view(view).to_arrow()
        since = quiet.changes_since(view)
        assert read.changes_since(view) <= since  # what a subscriber has not read is kept longer
        assert [row for row in read.changes(view).to_pylist() if row["_ts"] >= since] == quiet.changes(view).to_pylist()
    whole = connected(history="all")
    for second in range(60):
        push(whole, second)
    for view in VIEWS:
        told[view] += [row for batch in subscriptions[view] for row in batch.to_pylist()]
        assert told[view] == whole.changes(view).to_pylist()


def test_strings_of_changes_that_nobody_read_outlive_the_interner() -> None:
    db, whole = connected(history="all"), connected(history="all")
    for second in range(40):
        push(db, second)
        push(whole, second)
        whole.changes("sums")
    interner = db._running()._shard.interner
    interner.sweep(at_once=True)
    assert interner.count < 20, "changes hold no strings"
    for view in VIEWS:
        assert db.changes(view) == whole.changes(view) and db.final(view).to_arrow() == whole.final(view).to_arrow()


def test_a_view_that_goes_takes_its_hold_on_strings_along() -> None:
    db = connected()
    push(db, 0)
    before = len(db._running()._shard.interner.holders)
    db.execute("CREATE MATERIALIZED VIEW more AS SELECT k FROM s [RANGE 3 SECONDS] WHERE n > 0")
    push(db, 1)
    assert len(db._running()._shard.interner.holders) > before
    db.execute("DROP VIEW more")
    assert len(db._running()._shard.interner.holders) == before


def test_lanes_count_for_at_least_what_their_columns_have() -> None:
    db = connected()
    for second in range(20):
        push(db, second, 200)
    for view in VIEWS:
        for piece in kept(db, view).changes._pieces:
            assert isinstance(piece.batch, LaneChanges)
            assert piece.batch.nbytes >= piece.batch.columns().nbytes


def test_a_long_text_counts_each_time_that_it_is_in_a_change() -> None:
    db = connected(history="1 MB")
    text = "x" * 10_000
    for second in range(200):
        db.push("s", [(START + timedelta(seconds=second), text, n) for n in range(10)])
    log = kept(db, "rows_of").changes
    assert log.bytes <= 1 << 20
    assert db.changes("rows_of").nbytes <= 1 << 20
    assert 0 < db.changes("rows_of").num_rows < 200


def test_what_is_kept_is_no_small_part_of_something_large() -> None:
    room = Delta.room(1000, 3)
    small, large = room.slice(0, 10), room.slice(0, 900)
    for delta, is_copied in ((small, True), (large, False)):
        mine = owned(Delta(delta.rows, delta.ts, forever(len(delta)), delta.weight))
        assert np.shares_memory(mine.rows, room.rows) is not is_copied
        assert np.array_equal(mine.rows, delta.rows)
