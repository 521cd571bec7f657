"""Where operators run: which columns tell the shard of a row."""

from __future__ import annotations

import pytest

import sash
from sash.operators.spec import PortSpec, parts

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, g BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k BIGINT, g BIGINT, w BIGINT) TIMESTAMP BY ts;
"""


def exchanges(sql: str, shards: int) -> int:
    """How often the rows of a view are sent to other shards on their way."""
    db = sash.connect()
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW answer AS {sql}")
    (view,) = db.planned(shards).views
    return sum(isinstance(part, PortSpec) and part.source is not None for part in parts(view.spec))


@pytest.mark.parametrize("key", ["a.k", "b.k"])
def test_groups_by_one_side_of_a_join_stay_where_the_pairs_are(key: str) -> None:
    """Pairs are spread by the keys of both sides; a group that shows one of them was an error."""
    sql = f"""
        SELECT {key} AS k, MAX(b.w + a.v + b.k) AS m FROM a [PARTITION BY g ROWS 1] a
        JOIN (SELECT k, w FROM b [RANGE 9 SECONDS] WHERE ts > NOW() - INTERVAL 2 SECONDS) b ON a.k = b.k GROUP BY {key}
    """
    assert exchanges(sql, 1) == 0
    alone = exchanges(sql.replace("MAX(b.w + a.v + b.k) AS m", "a.v").split("GROUP BY")[0], 2)
    assert exchanges(sql, 2) == exchanges(sql, 5) == alone


def test_groups_by_another_column_are_sent_there() -> None:
    pairs = "COUNT(*) AS n FROM a [RANGE 5 SECONDS] a JOIN b [RANGE 5 SECONDS] b ON a.k = b.k"
    where = f"SELECT a.k, a.g, {pairs} GROUP BY a.k, a.g"
    assert exchanges(f"SELECT a.g, {pairs} GROUP BY a.g", 2) == exchanges(where, 2) + 1
