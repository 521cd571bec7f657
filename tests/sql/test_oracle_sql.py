"""The text for DuckDB means the same query over the tables input_0, input_1, …"""

import duckdb
import pytest

from sash.logical.nodes import WindowKind, WindowSpec
from sash.sql.oracle_sql import duckdb_query
from sash.sql.parse import parse_query_text

UNBOUNDED = WindowSpec(WindowKind.UNBOUNDED)


def oracle(sql, catalog):
    return duckdb_query(parse_query_text(sql), catalog)


def inputs(query):
    return [(item.position, item.name, item.window) for item in query.inputs]


def test_windows_are_taken_off_and_inputs_numbered(catalog):
    query = oracle(
        "SELECT b.price FROM Bids [PARTITION BY bidder ROWS 3] b, auctions, people p, counts [ROWS 2], counts c "
        "WHERE b.auction = auctions.id WINDOW 1 SECOND",
        catalog,
    )
    assert query.sql == (
        'SELECT b.price FROM input_0 AS "b" CROSS JOIN input_1 AS "auctions" CROSS JOIN input_2 AS "p" '
        'CROSS JOIN input_3 AS "counts" CROSS JOIN input_4 AS "c" WHERE b.auction = auctions.id'
    )
    assert inputs(query) == [
        (0, "bids", WindowSpec(WindowKind.ROWS, 3, partition=(2,))),
        (1, "auctions", WindowSpec(WindowKind.RANGE, 1_000_000)),
        (2, "people", None),
        (3, "counts", WindowSpec(WindowKind.ROWS, 2)),
        (4, "counts", None),
    ]


def test_subqueries_and_named_queries(catalog):
    sql = "WITH x AS (SELECT price FROM bids) SELECT x.price FROM x, (SELECT id FROM auctions) y, x z"
    query = oracle(sql, catalog)
    assert query.sql == (
        'WITH x AS (SELECT price FROM input_0 AS "bids") SELECT x.price FROM x '
        'CROSS JOIN (SELECT id FROM input_1 AS "auctions") AS y CROSS JOIN x AS z'
    )
    assert inputs(query) == [(0, "bids", UNBOUNDED), (1, "auctions", UNBOUNDED)]


def test_a_windowed_subquery_brings_its_own_query(catalog):
    query = oracle("SELECT p FROM (SELECT price FROM bids) [ROWS 3] AS x(p) WINDOW 1 SECOND", catalog)
    assert query.sql == 'SELECT p FROM input_0 AS "x"(p)'
    assert inputs(query) == [(0, None, WindowSpec(WindowKind.ROWS, 3))]
    inner = duckdb_query(query.inputs[0].query, catalog)
    assert inner.sql == 'SELECT price FROM input_0 AS "bids"'
    assert inputs(inner) == [(0, "bids", WindowSpec(WindowKind.RANGE, 1_000_000))]


def test_a_windowed_named_query_brings_its_own_query(catalog):
    query = oracle("WITH x(k) AS (SELECT bidder FROM counts) SELECT k FROM x [PARTITION BY k ROWS 3]", catalog)
    windowed = query.inputs[-1]
    assert windowed.window == WindowSpec(WindowKind.ROWS, 3, partition=(0,))
    assert inputs(duckdb_query(windowed.query, catalog))[-1] == (1, "counts", None)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", 3.5),
        ("-7 DIV 2", -3),
        ("-7 % 3", -1),
        ("1 / (auction - auction)", None),
        ("CAST('x' AS INT)", None),
        ("bidder || '!'", "ann!"),
        ("IF(price > 1, 'much', 'little')", "much"),
        ("bidder RLIKE 'n+'", True),
        ("price <=> NULL", False),
    ],
)
def test_expressions_mean_what_they_mean_in_spark(expression, expected, catalog):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE input_0 AS SELECT TIMESTAMP '2024-01-01' ts, 1 auction, 'ann' bidder, 2.5 price")
    text = oracle(f"SELECT {expression} AS x FROM bids", catalog).sql
    assert connection.execute(text).fetchall() == [(expected,)]
