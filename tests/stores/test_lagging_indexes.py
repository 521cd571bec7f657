"""An index that nobody asks for takes nothing in, and has all when it is asked."""

from __future__ import annotations

import sash

JOB = """
    CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE MATERIALIZED VIEW p AS SELECT k, v FROM s [ROWS 100];
    CREATE INDEX h ON p (k);
    CREATE INDEX t ON p (v) USING TREE;
"""


def test_an_index_that_was_not_asked_for_long_has_all() -> None:
    """Nodes come, go and are used again many times over meanwhile; what it keeps for that is bounded by the view."""
    with sash.connect(indexes="asked") as db:
        db.execute(JOB)
        bag = db._running().views["p"].kept._live._bag  # type: ignore[attr-defined]
        for number in range(600):
            db.push("s", [(number, number % 7, number)])
            assert len(db.query("SELECT v FROM p WHERE k = 3")) in (number // 7, number // 7 + 1, 14, 15)
        lags = {str(shape.method): lagging for shape, lagging in bag._indexes.items()}
        assert lags["HASH"].count == 0 < lags["TREE"].count <= len(bag.nodes) + 2
        assert [row["v"] for row in db.query("SELECT v FROM p WHERE v > 596 ORDER BY v")] == [597, 598, 599]
        assert lags["TREE"].count == 0 and lags["TREE"].parts == []
        assert len(db.query("SELECT v FROM p WHERE v <= 597 ORDER BY v")) == 98
