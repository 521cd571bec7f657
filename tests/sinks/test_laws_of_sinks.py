"""The law of sinks: after every push the table holds what the view says, whatever the view is; at the end what the oracle says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import pytest
from tables import bag, check, check_changes, plain, table

import sash
from postgres_server import PostgresServer
from sash.plan.keys import key_of
from sash.testing.oracle import Oracle
from shapes import SHAPES, STREAMS, Shape, make_rows

pytestmark = pytest.mark.laws

VIEWS = {
    "grouped": "SELECT bidder, tag, COUNT(*) AS n, SUM(price) AS total, ARRAY_AGG(auction) AS auctions FROM bids [RANGE 6 SECONDS] GROUP BY bidder, tag",
    "whole": "SELECT COUNT(*) AS n, MAX(price) AS top FROM bids [RANGE 6 SECONDS]",
    "different": "SELECT DISTINCT auction, seller, amount, day, hot FROM asks [RANGE 9 SECONDS]",
    "last": "SELECT * FROM bids [PARTITION BY auction ROWS 1]",
    "without": "SELECT bidder FROM bids [RANGE 9 SECONDS] EXCEPT SELECT seller FROM asks [RANGE 9 SECONDS]",
    "joined": "SELECT b.bidder, n, m FROM (SELECT bidder, COUNT(*) AS n FROM bids [RANGE 6 SECONDS] GROUP BY bidder) b"
    " JOIN (SELECT seller, COUNT(*) AS m FROM asks [RANGE 9 SECONDS] GROUP BY seller) a ON b.bidder = a.seller",
    "ranked": "SELECT auction, bidder, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bids [ROWS 12] QUALIFY place <= 2",
    "emitted": "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 6 SECONDS] GROUP BY bidder EMIT EVERY 4 SECONDS",
    "united": "SELECT bidder AS name FROM bids [RANGE 6 SECONDS] UNION SELECT region FROM sellers",
}


def played(db: sash.Database, seed: int, count: int, size: int) -> Iterator[None]:
    rows = make_rows(seed, count)
    db.push("sellers", rows["sellers"])
    for start in range(0, count, size):
        for name in ("bids", "asks", "quiet"):
            db.push(name, rows[name][start : start + size])
            yield


@pytest.mark.parametrize(("seed", "size"), [(11, 1), (12, 20), (13, 200)])
def test_every_push_is_in_the_tables(server: PostgresServer, seed: int, size: int) -> None:
    job = STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in VIEWS.items())
    count = 8 if size == 1 else 60
    with sash.connect() as db:
        db.execute(job)
        for name in VIEWS:
            db.execute(f"CREATE SINK {name} FROM {name} TO POSTGRES WITH (dsn = '{server.dsn}', table = 'public.{name}')")
        for _ in played(db, seed, count, size):
            for name in VIEWS:
                check(server, db, name, name)
        db.end()
        db.execute("DELETE FROM sellers WHERE region = 'south'")
        for name in VIEWS:
            check(server, db, name, name)
        oracle = Oracle(job, make_rows(seed, count))
        for name in set(VIEWS) - {"united", "emitted"}:  # whose last changes are others: a statement, and an interval that is cut
            expected = Counter({tuple(map(plain, row)): n for row, n in oracle.answer(name).items()})
            assert table(server, name, list(oracle.schema(name).names)) == expected


@pytest.mark.parametrize("shape", SHAPES[::9], ids=lambda shape: shape.name)
def test_any_shape_is_written(server: PostgresServer, shape: Shape) -> None:
    """By its key, or, if nothing says that it has one, as changes."""
    with sash.connect() as db:
        db.execute(STREAMS + shape.sql)
        view = next(one for one in db.catalog.views.values() if one.name == shape.name)
        mode = "changes" if key_of(view.plan) is None else "upsert"
        db.execute(f"CREATE SINK s FROM {shape.name} TO POSTGRES WITH (dsn = '{server.dsn}', table = 't', mode = '{mode}')")
        for place, _ in enumerate(played(db, 5, 40, 10)):
            if place % 4 == 3:
                (check if mode == "upsert" else check_changes)(server, db, shape.name, "t")
        db.end()
        (check if mode == "upsert" else check_changes)(server, db, shape.name, "t")


def test_keys_of_plans_are_keys() -> None:
    """No two rows agree on the key that is found in a plan, at any instant of any of its changes."""
    with sash.connect() as db:
        db.execute(STREAMS + "".join(shape.sql for shape in SHAPES))
        for _ in played(db, 21, 80, 40):
            pass
        db.end()
        keyed = {shape.name: key for shape in SHAPES if (key := key_of(db.catalog.views[shape.name].plan)) is not None}
        assert len(keyed) > 40
        for name, key in keyed.items():
            held: Counter[object] = Counter()
            for instant, changes in groupby(db.changes(name).to_pylist(), key=lambda change: change["_ts"]):  # type: ignore[union-attr]
                touched = set()
                for op, _, *values in (change.values() for change in changes):
                    touched.add(one := tuple(plain(values[column]) for column in key))
                    held[one] += op
                assert all(held[one] in (0, 1) for one in touched), (name, key, instant)


def test_an_answer_is_a_bag_of_rows() -> None:
    """What the helpers of these tests compare is not always equal."""
    with sash.connect() as db:
        db.execute("CREATE TABLE t (a DOUBLE); CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
        db.push("t", [(1.0,), (1.0,), (float("nan"),)])
        answer = db.view("v").to_arrow()
        assert bag(answer) == {(1.0,): 2, ("nan",): 1} != bag(answer.slice(1))
