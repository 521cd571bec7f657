"""Compile all kernels once, so that the first job does not wait for them: `python -m sash.warm`.

Compiled kernels are kept in a cache beside their source. The way to have every kernel compiled for just the types that it is
called with is to call it: small queries that together use every operator, as many at once as there are cores. What one process
has compiled the others find in the cache. `tests/properties/test_warm.py` sees to it that no operator is missing, and that no
query of the other tests calls a kernel in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash.database.options import ExpiryName
from sash.plan.streams import StreamSpec
from sash.planner.job import Job, plan_job
from sash.runtime.packets import Packet
from sash.runtime.packing import NO_DEAD, pack_split
from sash.runtime.partitions import PARTITION, POSITION, named
from sash.runtime.shard import Shard
from sash.sources.convert import convert
from sash.stores.arena import Arena

INPUTS = """
CREATE STREAM a (ts TIMESTAMP, k STRING, v BIGINT, x DOUBLE, d DECIMAL(30, 2)) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE TABLE t (k STRING, name STRING) NON RETROACTIVE;
INSERT INTO t VALUES ('ann', 'Ann');
"""
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS s, AVG(x) AS m, MIN(k) AS lo, MAX(d) AS hi "
    "FROM a [RANGE 2 SECONDS] GROUP BY k",
    "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 2 SECONDS] GROUP BY k",
    "SELECT k, v FROM a [RANGE 2 SECONDS] WHERE k = 'ann' AND v > 1 AND x < v",
    "SELECT COUNT(*) AS n FROM a [ROWS 2]",
    "SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] JOIN b [RANGE 3 SECONDS] ON a.k = b.k",
    "SELECT a.v, b.v AS w FROM a [PARTITION BY k ROWS 1] JOIN b [RANGE 3 SECONDS] ON a.k = b.k",
    "SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] JOIN b [RANGE 3 SECONDS] ON a.k = b.k "
    "JOIN b [RANGE 4 SECONDS] AS c ON a.k = c.k",
    "SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] JOIN b [RANGE 3 SECONDS] ON a.k = b.k "  # one join with two windows
    "EXCEPT ALL SELECT a.v, b.v AS w FROM a [RANGE 1 SECONDS] JOIN b [RANGE 1 SECONDS] ON a.k = b.k",
    "SELECT DISTINCT k, v FROM a [RANGE 2 SECONDS]",
    "SELECT a.v, t.name FROM a [RANGE 2 SECONDS] JOIN t ON a.k = t.k",
    "SELECT a.v, t.name FROM a [ROWS 2] JOIN t ON a.k = t.k",
    "SELECT a.k, a.v FROM a [RANGE 2 SECONDS] MINUS b [RANGE 3 SECONDS] ON a.k = b.k",
    "SELECT * FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS]",
    "SELECT k, v FROM a [PARTITION BY k SESSION GAP 2 SECONDS]",
    "SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] "
    "ASOF JOIN b [RANGE 3 SECONDS] ON a.k = b.k AND a.ts >= b.ts",
    "SELECT k, v FROM a WHERE ts > NOW() - INTERVAL 2 SECONDS",
    "SELECT k, v, SECOND(NOW()) AS s FROM a [RANGE 2 SECONDS]",
    "SELECT k, v, SUM(x) OVER w AS s, COUNT(*) OVER (ORDER BY v RANGE 1 PRECEDING) AS n "
    "FROM a [RANGE 2 SECONDS] WINDOW w AS (PARTITION BY k ORDER BY v)",
    "SELECT k, v FROM a [RANGE 2 SECONDS] EXCEPT ALL SELECT k, v FROM b [RANGE 3 SECONDS]",
    "SELECT k FROM a [RANGE 2 SECONDS] UNION SELECT k FROM b [RANGE 3 SECONDS]",
    "SELECT k, v FROM a [RANGE 2 SECONDS] WHERE k IN (SELECT k FROM b [ROWS 3])",
    "SELECT k, v FROM a [RANGE 2 SECONDS] ORDER BY v LIMIT 2",
    "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a [RANGE 2 SECONDS]) WHERE n <= 2",
    "SELECT k, n FROM RSTREAM(SELECT k, COUNT(*) AS n FROM a [RANGE 2 SECONDS] GROUP BY k) [RANGE 1 SECONDS]",
    "SELECT k, n FROM ISTREAM(SELECT k, COUNT(*) AS n FROM a [RANGE 2 SECONDS] GROUP BY k) [RANGE 1 SECONDS]",
    "SELECT k, n FROM DSTREAM(SELECT k, COUNT(*) AS n FROM a [RANGE 2 SECONDS] GROUP BY k) [RANGE 1 SECONDS]",
    "SELECT a.v, b.v AS w FROM a FOLLOWED BY b USING RECENT ON a.k = b.k AND a.v <= b.v WITHIN 2 SECONDS",
    "SELECT a.v, b.v AS w FROM a FOLLOWED BY b USING RECENT ON a.k = b.k WITHIN 2 SECONDS",
    "SELECT a.v, b.v AS w FROM a FOLLOWED BY b USING CHRONICLE ON a.k = b.k WITHIN 2 SECONDS",
    "SELECT a.v, b.v AS w FROM a FOLLOWED BY b USING CHRONICLE ON a.k = b.k AND a.v <= b.v WITHIN 2 SECONDS",
    "SELECT k, MEDIAN(x) AS m, STRING_AGG(k, ',') AS t, STDDEV(x) AS d FROM a [RANGE 2 SECONDS] GROUP BY k EMIT EVERY 1 SECONDS",
    "SELECT e FROM (SELECT ARRAY_AGG(v) AS l FROM a [RANGE 2 SECONDS]), UNNEST(l) AS u(e)",
    "SELECT x FROM a [RANGE 2 SECONDS] WHERE x > 0.25",
    "SELECT k, COUNT(*) AS n, AVG(v) AS s, MIN(v) AS lo, SUM(x) AS t FROM a [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "SELECT k, COUNT(*) AS n, MEDIAN(x) AS m, MIN(x) AS lo FROM a [RANGE 2 SECONDS] GROUP BY k",
    "SELECT k, SUM(v) AS s FROM a [RANGE 2 SECONDS] GROUP BY k",
    "SELECT k, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS hi FROM a [RANGE 2 SECONDS] GROUP BY k",
)
OTHER_WAYS: tuple[ExpiryName, ...] = ("time-message", "piggyback", "input-triggered", "negative", "direct")  # to let rows leave
MANY = 3_000  # rows of one push: kernels that nobody needs for a few


def play(query: str, expiry: ExpiryName = "auto") -> None:
    db = sash.connect(expiry=expiry)
    db.execute(f"{INPUTS} CREATE MATERIALIZED VIEW answer AS {query}")
    changes = db.subscribe("answer", timeout=0)
    for second in range(8):
        db.push("a", [(second, "ann", second, 0.5, "1.25"), (second, "bob", 1, None, None)])
        db.push("b", [(second, "ann", second)])
        list(changes)
    db.push("a", [(9 + number // 1_000, f"name {number % 7}", number, 0.5, "1.25") for number in range(MANY)])
    db.push("b", [(9 + number // 1_000, f"name {number}", number) for number in range(MANY)])
    db.view("answer").to_arrow()
    db.end()
    db.view("answer").to_arrow()


def play_other_ways(expiry: ExpiryName) -> None:
    """The queries over which the ways to let rows leave differ most: a window, a join, a table, an aggregate."""
    for query in (QUERIES[0], QUERIES[2], QUERIES[4], QUERIES[6], QUERIES[9]):
        play(query, expiry)


def play_questions() -> None:
    """Look-ups by the indexes of a view, and by its key."""
    db = sash.connect()
    db.execute(f"{INPUTS} CREATE MATERIALIZED VIEW answer AS {QUERIES[1]}")
    db.execute("CREATE INDEX h ON answer (n, k); CREATE INDEX o ON answer (s) USING TREE")
    db.push("a", [(number // 10, f"name {number}", number, 0.5, "1.25") for number in range(80)])
    for asked in ("k = 'name 7'", "k IN ('name 8', 'name 9') AND n = 1", "s > 1", "s = 5 ORDER BY s", "n > 0 ORDER BY s LIMIT 1"):
        db.query(f"SELECT * FROM answer WHERE {asked}")
    for figures in ("MEDIAN(s)", "COUNT(DISTINCT s)"):
        db.query(f"SELECT {figures} FROM answer WHERE s > 1")
    for order in ("s", "s DESC"):
        db.query(f"SELECT * FROM answer ORDER BY {order} LIMIT 1")


def play_shards() -> None:
    """Rows on their way to two shards, in packets; one stream has partitions, with rows out of order and late ones."""
    db = sash.connect()
    db.execute(INPUTS + "".join(f"CREATE MATERIALIZED VIEW v{place} AS {query};" for place, query in enumerate(QUERIES[:5])))
    streams = dict(db.catalog.streams)
    streams["a"] = replace(streams["a"], partition=("p",), position="o")
    job = plan_job(streams, {view.name: view.plan for view in db.materialized().values()}, 2)
    places = [(level, shard) for level in range(1, job.levels + 1) for shard in range(job.shards)]
    shards = {place: Shard(job, *place, Arena.anonymous()) for place in places}
    for start in range(0, 3 * MANY, MANY):
        numbers = range(start, start + MANY)
        of_a = [(number // 100 + number % 7, f"name {number % 70}", number, 0.5, "1.25") for number in numbers]
        of_b = [(number // 100, f"name {number:0200d}", number) for number in numbers]  # so long that they are swept
        waiting = [*_packets(job, streams["a"], of_a), *_packets(job, streams["b"], of_b)]
        for (level, shard), one in shards.items():
            out = one.step([packet for packet in waiting if (packet.level, packet.shard) == (level, shard)])
            waiting += [packet for packet in out if packet.level]


def _packets(job: Job, stream: StreamSpec, rows: Sequence[tuple[object, ...]]) -> Iterator[Packet]:
    batch = convert(stream, rows).batch
    if stream.position is not None:
        numbers = pa.array(range(len(rows)), pa.int64())
        batch = batch.append_column(PARTITION, named([pc.bit_wise_and(numbers, 3)])).append_column(POSITION, numbers)
    return pack_split(job, stream, 0, batch, NO_DEAD, None)


def play_filters() -> None:
    """Many filters of one stream: those that ask for a value are found by a look-up, the others are tested together."""
    db = sash.connect()
    db.execute(INPUTS)
    conditions = [f"v = {number}" for number in range(8)] + [f"v > {number} AND x < 1.0" for number in range(5)]
    for number, condition in enumerate(conditions):
        db.execute(f"CREATE MATERIALIZED VIEW v{number} AS SELECT v FROM a [RANGE 2 SECONDS] WHERE {condition}")
    for second in range(4):
        db.push("a", [(second, "ann", second, 0.5, "1.25")])


def play_late_views() -> None:
    """A window that comes later than others over the same groups, and is longer; and another figure of the same values."""
    db = sash.connect()
    db.execute(f"{INPUTS} CREATE MATERIALIZED VIEW keeps AS SELECT * FROM a [RANGE 9 SECONDS]")
    for number, size in enumerate((2, 8)):
        query = f"SELECT k, MAX(v) AS hi FROM a [RANGE {size} SECONDS SLIDE 1 SECOND] GROUP BY k"
        db.execute(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
        figure = f"PERCENTILE(x, 0.{size}) AS p FROM a [RANGE 3 SECONDS]"
        db.execute(f"CREATE MATERIALIZED VIEW p{number} AS SELECT k, {figure} GROUP BY k")
        for second in range(5):
            db.push("a", [(5 * number + second, "ann", second, 0.5, "1.25")])


def warm() -> None:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as workers:
        list(workers.map(play, QUERIES))
        list(workers.map(play_other_ways, OTHER_WAYS))
        others = [workers.submit(other) for other in (play_questions, play_shards, play_filters, play_late_views)]
        for other in others:
            other.result()


if __name__ == "__main__":
    warm()
