"""The law of change while running: views that are created and dropped at any moment change nothing for the others, and are right
from the instant on that they name, as if they had always been there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import pytest

import sash
from sash.schema import BEGINNING
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change, from_arrow
from shapes import BASIC, NOW, OPERATORS, STREAMS, TICKS, Shape, make_rows

ROWS = 40
SHAPES = BASIC + OPERATORS + NOW + TICKS
EPOCH = datetime(1970, 1, 1)


@cache
def rows_of(seed: int) -> dict[str, list[tuple[object, ...]]]:
    return make_rows(seed, ROWS)


def expected(shape: Shape, seed: int, end: int) -> list[Change]:
    return Oracle(STREAMS + shape.sql, rows_of(seed), until=end).changelog(shape.name)


def seen_from(changes: Sequence[Change], at: int) -> list[Change]:
    """The answer at an instant as its first changes, then the later ones."""
    net: Counter[tuple[object, ...]] = Counter()
    for change in changes:
        if change.ts <= at:
            net[change.row] += change.op
    first = [Change(1 if count > 0 else -1, at, row) for row, count in net.items() for _ in range(abs(count))]
    return first + [change for change in changes if change.ts > at]


class Run:
    """A database in which views come and go between pushes."""

    def __init__(self, seed: int, shapes: Sequence[Shape]) -> None:
        self.chance = random.Random(seed)
        self.seed = seed
        self.db = sash.connect()
        self.db.execute(STREAMS)
        self.running: dict[str, Shape] = {}
        self.waiting = list(shapes)

    def play(self) -> None:
        self.db.push("sellers", rows_of(self.seed)["sellers"])
        pieces = {name: list(rows_of(self.seed)[name]) for name in ("bids", "asks", "quiet")}
        while left := [name for name, rows in pieces.items() if rows]:
            if self.chance.random() < 0.4:
                self.change()
            name, size = self.chance.choice(left), self.chance.randint(1, 9)
            self.db.push(name, pieces[name][:size])
            del pieces[name][:size]
        while self.waiting:
            self.create()
        self.db.end()

    def change(self) -> None:
        if self.running and self.chance.random() < 0.3:
            shape = self.running.pop(self.chance.choice(list(self.running)))
            for statement in reversed(shape.sql.splitlines()):
                self.db.execute(f"DROP VIEW {statement.split()[3]}")
            self.waiting.append(shape)
        elif self.waiting:
            self.create()

    def create(self) -> None:
        shape = self.waiting.pop(self.chance.randrange(len(self.waiting)))
        self.db.execute(shape.sql)
        self.running[shape.name] = shape

    def check(self) -> int:
        """How many views were checked: those that are complete before the end."""
        checked = 0
        for name, shape in self.running.items():
            since = self.db.complete_since(name)
            if since is None:
                continue
            shown = self.db._running().views[name]
            at = max(shown.began, (since - EPOCH) // timedelta(microseconds=1), BEGINNING)
            end = self.db._running().now_of(name)
            if at > end:
                continue
            actual = from_arrow(self.db.changes(name))
            assert_same(seen_from(expected(shape, self.seed, end), at), seen_from(actual, at))
            checked += 1
        return checked


@pytest.mark.parametrize("seed", range(20, 26))
def test_views_come_and_go(seed: int) -> None:
    shapes = random.Random(seed).sample(SHAPES, 8)
    run = Run(seed, shapes)
    run.play()
    assert run.check() > 0


@pytest.mark.parametrize("shape", SHAPES[1::2], ids=lambda shape: shape.name)
def test_a_view_in_the_middle_shows_what_the_first_one_shows(shape: Shape) -> None:
    """All is in memory that it needs, or it is the same query."""
    db = sash.connect()
    db.execute(STREAMS + shape.sql)
    db.push("sellers", rows_of(3)["sellers"])
    inner, later = f"{shape.name}_inner", f"{shape.name}_later"
    for place in range(0, ROWS, 5):
        if place == 20:
            db.execute(shape.sql.replace(inner, f"{inner}_later").replace(f"VIEW {shape.name} ", f"VIEW {later} "))
        for name in ("bids", "asks", "quiet"):
            db.push(name, rows_of(3)[name][place : place + 5])
    db.end()
    began = db._running().views[later].began
    assert_same(seen_from(from_arrow(db.changes(shape.name)), began), seen_from(from_arrow(db.changes(later)), began))


NOT_AT_ONCE = ("unbounded", "tick_stream")  # how time changed what enters a stream is not in memory
OTHERS = [s for s in SHAPES if "ROWS" not in s.sql and "CHRONICLE" not in s.sql and s.name not in NOT_AT_ONCE]


@pytest.mark.parametrize("shape", OTHERS[::2], ids=lambda shape: shape.name)
def test_a_view_of_other_operators_over_the_same_windows_is_complete_at_once(shape: Shape) -> None:
    """Another view keeps the rows in memory; the later one makes its own operators of them."""
    db, reference = sash.connect(), sash.connect()
    reference.execute(STREAMS + shape.sql)
    db.execute(STREAMS)
    for name in ("bids", "asks", "quiet"):
        db.execute(f"CREATE MATERIALIZED VIEW keeps_{name} AS SELECT COUNT(*) AS n FROM {name} [RANGE 40 SECONDS]")
        reference.execute(f"CREATE MATERIALIZED VIEW keeps_{name} AS SELECT COUNT(*) AS n FROM {name} [RANGE 40 SECONDS]")
    for run in (db, reference):
        run.push("sellers", rows_of(4)["sellers"])
        for place in range(0, ROWS, 5):
            if place == 20 and run is db:
                db.execute(shape.sql)
            for name in ("bids", "asks", "quiet"):
                run.push(name, rows_of(4)[name][place : place + 5])
        run.end()
    began = db._running().views[shape.name].began
    since = db.complete_since(shape.name)
    assert since is not None and (since - EPOCH) // timedelta(microseconds=1) <= began
    assert_same(
        seen_from(from_arrow(reference.changes(shape.name)), began), seen_from(from_arrow(db.changes(shape.name)), began)
    )
