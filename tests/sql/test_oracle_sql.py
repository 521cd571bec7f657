"""The text for DuckDB means the same query over the tables input_0, input_1, …"""

import duckdb
import pytest

from sash.errors import SashError
from sash.plan.windows import NowWindow, RangeWindow, RowsWindow, UnboundedWindow
from sash.sql.syntax.parse import parse_query_text
from sash.testing.duckdb_sql.query import duckdb_query

UNBOUNDED = UnboundedWindow()


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
        'SELECT b.price FROM input_0 AS "b", input_1 AS "auctions", input_2 AS "p"'
        ', input_3 AS "counts", input_4 AS "c" WHERE b.auction = auctions.id'
    )
    assert inputs(query) == [
        (0, "bids", RowsWindow(3, partition=(2,))),
        (1, "auctions", RangeWindow(1_000_000)),
        (2, "people", None),
        (3, "counts", RowsWindow(2)),
        (4, "counts", None),
    ]


def test_subqueries_and_named_queries(catalog):
    sql = "WITH x AS (SELECT price FROM bids) SELECT x.price FROM x, (SELECT id FROM auctions) y, x z"
    query = oracle(sql, catalog)
    assert query.sql == (
        'WITH x AS (SELECT price FROM input_0 AS "bids") SELECT x.price FROM x'
        ', (SELECT id FROM input_1 AS "auctions") AS y, x AS z'
    )
    assert inputs(query) == [(0, "bids", UNBOUNDED), (1, "auctions", UNBOUNDED)]


def test_a_windowed_subquery_brings_its_own_query(catalog):
    query = oracle("SELECT p FROM (SELECT price FROM bids) [ROWS 3] AS x(p) WINDOW 1 SECOND", catalog)
    assert query.sql == 'SELECT p FROM input_0 AS "x"(p)'
    assert inputs(query) == [(0, None, RowsWindow(3))]
    inner = duckdb_query(query.inputs[0].query, catalog)
    assert inner.sql == 'SELECT price FROM input_0 AS "bids"'
    assert inputs(inner) == [(0, "bids", RangeWindow(1_000_000))]


def test_a_windowed_named_query_brings_its_own_query(catalog):
    query = oracle("WITH x(k) AS (SELECT bidder FROM counts) SELECT k FROM x [PARTITION BY k ROWS 3]", catalog)
    windowed = query.inputs[-1]
    assert windowed.window == RowsWindow(3, partition=(0,))
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


def test_subqueries_in_conditions_have_inputs_too(catalog):
    text = "SELECT price FROM bids WHERE bidder IN (SELECT name FROM people) AND price > (SELECT MAX(n) FROM counts)"
    query = oracle(text, catalog)
    assert query.sql == (
        'SELECT price FROM input_0 AS "bids" WHERE bidder IN (SELECT name FROM input_1 AS "people") '
        'AND price > (SELECT MAX(n) FROM input_2 AS "counts")'
    )
    assert inputs(query) == [(0, "bids", UNBOUNDED), (1, "people", None), (2, "counts", None)]


def test_the_window_clause_at_the_end_of_set_operators_holds_for_all(catalog):
    query = oracle("SELECT bidder FROM bids UNION SELECT seller FROM auctions WINDOW 1 SECOND", catalog)
    assert {item.window for item in query.inputs} == {RangeWindow(1_000_000)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT bidder, ts FROM bids ORDER BY price DESC LIMIT 2", "ORDER BY price DESC, 1 NULLS FIRST, 2 NULLS FIRST LIMIT 2"),
        ("SELECT ts FROM bids LIMIT 2", 'input_0 AS "bids" ORDER BY 1 NULLS FIRST LIMIT 2'),
        ("SELECT ts FROM bids UNION SELECT ts FROM auctions LIMIT 2", "ORDER BY 1 NULLS FIRST LIMIT 2"),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY name) AS rn FROM people) WHERE rn < 2",
            "OVER (ORDER BY name NULLS FIRST, name NULLS FIRST, city NULLS FIRST)",
        ),
    ],
)
def test_ties_are_broken_by_the_whole_row(text, expected, catalog):
    assert expected in oracle(text, catalog).sql


def test_first_and_last_go_by_the_timestamp(catalog):
    query = oracle("SELECT FIRST(price) AS f, LAST(b.price) FILTER (WHERE price > 1) AS l FROM bids b, people", catalog)
    assert query.sql.startswith(
        "SELECT SASH_MIN_BY(price, b.ts) AS f, SASH_MAX_BY(b.price, CASE WHEN price > 1 THEN b.ts END) AS l FROM"
    )


def test_streams_of_queries_come_with_their_query(catalog):
    query = oracle("SELECT n FROM DSTREAM(counts) [ROWS 3] d, RSTREAM(SELECT price FROM bids [NOW])", catalog)
    first, second = query.inputs
    assert query.sql == 'SELECT n FROM input_0 AS "d", input_1'
    assert (first.reads, first.window) == ("DSTREAM", RowsWindow(3))
    assert (second.reads, second.window) == ("RSTREAM", UNBOUNDED)
    assert inputs(duckdb_query(first.query, catalog)) == [(0, "counts", None)]
    assert inputs(duckdb_query(second.query, catalog)) == [(0, "bids", NowWindow())]


def test_a_sequence_is_two_inputs_side_by_side(catalog):
    text = "SELECT b.price FROM bids b FOLLOWED BY auctions a ON b.auction = a.id WITHIN 5 SECONDS [NOW] WHERE price > 1"
    query = oracle(text, catalog)
    assert query.sql == 'SELECT b.price FROM input_0 AS "b" POSITIONAL JOIN input_1 AS "a" WHERE price > 1'
    left, right = query.inputs
    assert left.sequence == right.sequence and (left.is_right, right.is_right) == (False, True)
    assert (left.sequence.within, left.window) == (5_000_000, NowWindow())
    assert left.sequence.sql == 'SELECT b._row, a._row FROM input_0 AS "b" JOIN input_1 AS "a" ON b.auction = a.id'


def test_minus_is_one_input_with_two_sides(catalog):
    query = oracle("SELECT price FROM bids [NOW] b MINUS auctions a ON a.id = b.auction", catalog)
    assert query.sql == 'SELECT price FROM input_0 AS "b"'
    minus = query.inputs[0].minus
    assert (minus.left.name, minus.right.name) == ("bids", "auctions")
    assert (minus.left_keys, minus.right_keys) == ((1,), (1,))


def test_the_period_of_emission_is_kept(catalog):
    assert oracle("SELECT price FROM bids EMIT EVERY 2 SECONDS", catalog).emit == 2_000_000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS x FROM people, bids FOLLOWED BY auctions",
        "SELECT 1 AS x FROM bids MINUS auctions ON auction + 1 = id",
    ],
)
def test_what_the_oracle_does_not_know_it_says(text, catalog):
    with pytest.raises(SashError, match="the oracle knows"):
        oracle(text, catalog)
