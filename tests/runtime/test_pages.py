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
