"""Every candidate of a query has the answers of the query: by the oracle, and against the plan as it was written."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.plan.explain import explain
from sash.plan.nodes import Plan
from sash.plan.rules.candidates import candidates
from sash.planner.choose import Choice, offers
from sash.planner.job import plan_job
from sash.planner.placement import Expiry
from sash.runtime.embedded import EmbeddedHost
from sash.sources.convert import convert
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.tables import Change, from_arrow
from shapes import STREAMS, Shape, make_rows

BIDS, ASKS, QUIET = "bids [RANGE 6 SECONDS] b", "asks [RANGE 5 SECONDS] a", "quiet [RANGE 20 SECONDS] q"

# What must be among the candidates, by the line of a plan that no other candidate has.
QUERIES = {
    "SELECT b.price, q.n FROM bids [RANGE 6 SECONDS] b LEFT ANTI JOIN asks [RANGE 5 SECONDS] a ON b.auction = a.auction "
    "JOIN quiet [RANGE 20 SECONDS] q ON b.auction = q.auction": 2,
    f"SELECT b.price, q.n FROM {BIDS} JOIN {QUIET} ON b.auction = q.auction "
    "WHERE NOT EXISTS (SELECT 1 FROM asks [RANGE 5 SECONDS] a WHERE a.auction = b.auction AND a.amount > b.price)": 2,
    f"SELECT b.price, q.n FROM {BIDS} JOIN {QUIET} ON b.auction = q.auction "
    "WHERE q.n IN (SELECT auction FROM asks [ROWS 4])": 2,
    f"SELECT DISTINCT b.auction FROM {BIDS} JOIN {ASKS} ON b.auction = a.auction": 2,
    f"SELECT DISTINCT b.bidder, a.hot FROM {BIDS} JOIN {ASKS} ON b.auction = a.auction AND b.price < a.amount": 2,
    f"SELECT b.bidder, a.seller, q.n FROM {BIDS} JOIN {ASKS} ON b.auction = a.auction JOIN {QUIET} ON q.auction = a.auction": 3,
    f"SELECT b.price, s.region, q.n FROM {BIDS} JOIN {ASKS} ON b.auction = a.auction JOIN sellers s ON s.seller = a.seller "
    "JOIN quiet [ROWS 3] q ON q.auction = b.auction AND q.n + 9 > b.auction": 5,
}  # fmt: skip


def bound(sql: str) -> tuple[EmbeddedDatabase, Plan]:
    db = EmbeddedDatabase()
    db.execute(f"{STREAMS} CREATE VIEW v AS {sql}")
    return db, db.catalog.views["v"].plan


def run(db: EmbeddedDatabase, choice: Choice, expiry: Expiry, rows: dict[str, list[tuple[object, ...]]]) -> list[Change]:
    job = plan_job(db.catalog.streams, {"v": choice}, 1, expiry)
    host = EmbeddedHost(job)
    for stream in sorted(job.streams, key=lambda stream: not stream.is_table):
        result = convert(stream, rows[stream.name])
        host.take(stream.name, result.batch, result.dead)
    host.end()
    return from_arrow(pa.Table.from_batches(host.changes("v")))


@pytest.mark.parametrize("sql", QUERIES)
def test_all_candidates_have_the_same_answers(sql: str) -> None:
    db, plan = bound(sql)
    found = candidates(plan)
    assert len(found) >= QUERIES[sql], "\n\n".join(map(explain, found))
    assert all(other.schema == plan.schema for other in found)
    rows = make_rows(5, 60)
    expected = Oracle(Shape("v", f"{STREAMS} CREATE MATERIALIZED VIEW v AS {sql};").sql, rows).changelog("v")
    assert expected
    for offer in offers(plan, 1, Expiry.AUTO):
        assert_same(expected, run(db, offer.choice, Expiry.AUTO, rows))
