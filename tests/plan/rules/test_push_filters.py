"""Filters sink exactly as far as the answer allows: where they end up, and that they change nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.plan.explain import explain
from sash.plan.nodes import Plan
from sash.plan.rules.push_filters import push_filters
from sash.planner.job import plan_job
from sash.runtime.embedded import EmbeddedHost
from sash.sources.convert import convert
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change, from_arrow
from shapes import STREAMS, make_rows

# Queries, the windows that take the filter in, and what stays above.
FILTERS: dict[str, tuple[list[str], list[str]]] = {
    "SELECT bidder FROM bids [RANGE 5 SECONDS] WHERE price > 2 AND auction = 1": (
        ["[RANGE 5 SECONDS] of price > 2.0 AND auction = 1"], []),
    "SELECT bidder FROM bids [RANGE 8 SECONDS SLIDE 4 SECONDS] WHERE price > 2": (["of price > 2.0"], []),
    "SELECT bidder FROM bids [ROWS 5] WHERE price > 2": ([], ["price > 2.0"]),
    "SELECT bidder FROM bids [PARTITION BY auction ROWS 2] WHERE price > 2 AND auction < 3": (["of auction < 3"], ["price > 2.0"]),
    "SELECT * FROM (SELECT bidder AS who, auction FROM bids [RANGE 5 SECONDS]) WHERE who = 'ann'": (["of bidder = 'ann'"], []),
    "SELECT * FROM (SELECT auction, COUNT(*) AS n FROM bids [RANGE 5 SECONDS] GROUP BY auction) WHERE auction = 1 AND n > 1": (
        ["of auction = 1"], ["n > 1"]),
    "SELECT * FROM (SELECT COUNT(*) AS n FROM bids [RANGE 5 SECONDS]) WHERE n > 1": ([], ["n > 1"]),
    "SELECT b.bidder, a.seller FROM bids [RANGE 5 SECONDS] b JOIN asks [RANGE 5 SECONDS] a ON b.auction = a.auction "
    "WHERE b.auction > 1 AND a.hot": (["of auction > 1", "of hot AND auction > 1"], []),
    "SELECT b.bidder, a.seller FROM bids [RANGE 5 SECONDS] b LEFT JOIN asks [RANGE 5 SECONDS] a ON b.auction = a.auction "
    "WHERE a.hot": (["of hot"], []),
    "SELECT b.bidder, a.hot FROM bids [RANGE 5 SECONDS] b LEFT JOIN asks [RANGE 5 SECONDS] a ON b.auction = a.auction "
    "WHERE b.price > 2 AND (a.hot OR a.hot IS NULL)": (["of price > 2.0"], []),
    "SELECT * FROM (SELECT auction FROM bids [RANGE 9 SECONDS] EXCEPT ALL SELECT auction FROM asks [RANGE 5 SECONDS]) "
    "WHERE auction < 3": (["of auction < 3", "of auction < 3"], []),
    "SELECT * FROM (SELECT bidder AS who FROM bids [RANGE 5 SECONDS] UNION ALL SELECT seller FROM asks [RANGE 3 SECONDS]) "
    "WHERE who > 'b'": (["of bidder > 'b'", "of seller > 'b'"], []),
    "SELECT * FROM (SELECT b.auction, b.price FROM bids [RANGE 9 SECONDS] b MINUS asks [RANGE 5 SECONDS] a "
    "ON b.auction = a.auction) WHERE auction = 2 AND price > 1": (["of auction = 2", "of auction = 2"], ["price > 1.0"]),
    "SELECT * FROM (SELECT auction, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price, bidder) AS n "
    "FROM bids [RANGE 8 SECONDS]) WHERE n <= 2 AND auction = 2 AND price > 1": (["of auction = 2"], ["price > 1.0"]),
    "SELECT * FROM ISTREAM(SELECT auction, price FROM bids [RANGE 5 SECONDS]) [RANGE 3 SECONDS] WHERE price > 2": (
        ["of price > 2.0"], []),
    "SELECT * FROM RSTREAM(SELECT auction, price FROM bids [RANGE 2 SECONDS]) [NOW] WHERE price > 2": (
        ["[NOW] of price > 2.0"], []),
    "SELECT b.bidder, a.seller FROM bids b FOLLOWED BY asks a USING CHRONICLE ON b.auction = a.auction [RANGE 5 SECONDS] "
    "WHERE b.price > 2": (["[RANGE 5 SECONDS] of bids.price > 2.0"], []),
}  # fmt: skip


def bound(sql: str) -> tuple[EmbeddedDatabase, Plan]:
    db = EmbeddedDatabase()
    db.execute(f"{STREAMS} CREATE VIEW v AS {sql}")
    return db, db.catalog.views["v"].plan


def run(db: EmbeddedDatabase, plan: Plan, rows: dict[str, list[tuple[object, ...]]]) -> list[Change]:
    job = plan_job(db.catalog.streams, {"v": plan}, 1)
    host = EmbeddedHost(job)
    for stream in job.streams:
        result = convert(stream, rows[stream.name])
        host.take(stream.name, result.batch, result.dead)
    host.end()
    return from_arrow(pa.Table.from_batches(host.changes("v"), host.changes("v")[0].schema))


@pytest.mark.parametrize("sql", FILTERS)
def test_a_filter_sinks_as_far_as_it_may(sql: str) -> None:
    _, plan = bound(sql)
    lines = [line.lstrip("│├└─ ") for line in explain(push_filters(plan)).splitlines()]
    windows, above = FILTERS[sql]
    found = [line for line in lines if line.startswith("Window") and " of " in line]
    assert sorted({w for w in windows if any(line.endswith(w) for line in found)}) == sorted(set(windows)), "\n".join(lines)
    assert len(windows) > 0 or not found
    assert [line.removeprefix("Filter").strip() for line in lines if line.startswith("Filter")] == above


@pytest.mark.parametrize("sql", FILTERS)
def test_a_filter_that_sank_changes_nothing(sql: str) -> None:
    db, plan = bound(sql)
    rows = make_rows(4, 50)
    expected = Oracle(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {sql};", rows).changelog("v")
    assert_same(expected, run(db, push_filters(plan), rows))
    assert_same(expected, run(db, plan, rows))
