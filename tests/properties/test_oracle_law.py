"""The law: the changelog equals recomputation by DuckDB at every instant, whatever the size of the batches."""

from __future__ import annotations

from datetime import datetime

import pytest

import sash
from lengths import share
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change, from_arrow
from shapes import EPOCH, INPUTS, SHAPES, STREAMS, Shape, in_one_process, make_rows, recomputed

ORDER = ("sellers", "bids", "asks", "quiet")


def embedded_changelog(shape: Shape, rows: dict[str, list[tuple[object, ...]]], size: int) -> list[Change]:
    db = sash.connect()
    db.execute(STREAMS + shape.sql)
    db.push("sellers", rows["sellers"])
    longest = max(len(part) for part in rows.values())
    for start in range(0, longest, size):
        for name in ORDER[1:]:
            if rows[name][start : start + size]:
                db.push(name, rows[name][start : start + size])
    db.end()
    return from_arrow(db.changes(shape.name))


@in_one_process(SHAPES)
def test_changelog_is_the_recomputed_one(shape: Shape) -> None:
    for given, rows in INPUTS.items():
        expected = recomputed(shape, given).changelog(shape.name)
        for size in (1, 7, 1000):
            assert_same(expected, embedded_changelog(shape, rows, size))


@pytest.mark.parametrize("seed", range(3, 8))
def test_other_rows(seed: int) -> None:
    rows = make_rows(seed, 30)
    for shape in share(SHAPES, seed, 5):
        expected = Oracle(STREAMS + shape.sql, rows).changelog(shape.name)
        assert_same(expected, embedded_changelog(shape, rows, 5))


def test_rows_before_and_after_the_epoch() -> None:
    earlier = EPOCH - datetime(1969, 12, 31, 23, 59, 40)
    rows = make_rows(9, 30)
    rows |= {name: [(row[0] - earlier, *row[1:]) for row in rows[name]] for name in ORDER[1:]}  # type: ignore[operator]
    for shape in SHAPES:
        expected = Oracle(STREAMS + shape.sql, rows).changelog(shape.name)
        assert_same(expected, embedded_changelog(shape, rows, 5))
