"""Few changes are written into pages: batches that were given away never change, whoever reads what comes after them."""

from __future__ import annotations

import pyarrow as pa

import sash

JOB = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT, x DOUBLE) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n, SUM(v) AS s, MAX(x) AS m FROM s [RANGE 20 SECONDS] GROUP BY k;
"""


def test_batches_stay_what_they_were() -> None:
    """Many more changes than a page has room for, some with NULL, read by two, one of whom reads seldom."""
    db = sash.connect(history="all")
    db.execute(JOB)
    often, seldom = db.subscribe("v", timeout=0), db.subscribe("v", timeout=0)
    found: list[pa.RecordBatch] = []
    rarely: list[pa.RecordBatch] = []
    for second in range(300):
        value = None if second % 7 == 0 else second
        db.push("s", [(second, second % 3, value, None if value is None else value / 2)])
        found += often
        rarely += seldom if second % 11 == 0 else ()
    db.end()
    found += often
    rarely += seldom
    changes = db.changes("v")
    assert pa.Table.from_batches(found).equals(changes.replace_schema_metadata(None))
    assert pa.Table.from_batches(rarely).equals(changes.replace_schema_metadata(None))
    assert changes.num_rows > 600
    for batch in found:
        batch.validate(full=True)


def test_rows_out_of_order_after_rows_in_order_are_put_in_order() -> None:
    """Some are late, so they go the way of packets; those that are not are no batch that is known to be in order."""
    pushes = [[(1, 1, 1, None)], [(5, 1, 2, None), (4, 2, 3, None), (9, 1, 4, None), (7, 1, 5, None), (2, 1, 6, None)], [(30, 1, 7, None)]]
    logs = []
    for pieces in (pushes, [[row for piece in pushes for row in piece]]):
        db = sash.connect(history="all")
        db.execute(JOB.replace("TIMESTAMP BY ts", "TIMESTAMP BY ts DELAY 3 SECONDS"))
        for piece in pieces:
            db.push("s", piece)
        db.end()
        logs.append(db.changes("v").to_pylist())
    assert logs[0] == logs[1]
