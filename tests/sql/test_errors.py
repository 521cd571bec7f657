"""Every mistake gives one clear message and points at its place."""

import pytest

from sash.errors import SqlError
from sash.sql.binder import bind
from sash.sql.define import define
from sash.sql.parse import parse_query_text, parse_statements

# Query, what the caret is under, message.
MISTAKES = [
    # names
    (
        "SELECT price FROM bidz",
        "bidz",
        'unknown stream, table or view "bidz"; did you mean "bids"? there are: bids, auctions, people, counts',
    ),
    (
        "SELECT prize FROM bids",
        "prize",
        'unknown column "prize" in stream "bids"; columns are: ts, auction, bidder, price',
    ),
    (
        "SELECT n, bidder, x FROM counts",
        "x",
        'unknown column "x" in view "counts"; columns are: bidder, n',
    ),
    (
        "SELECT z FROM people p, counts",
        "z",
        'unknown column "z"; columns are: p.name, p.city, counts.bidder, counts.n',
    ),
    (
        "SELECT ts FROM bids, auctions a",
        "ts",
        'column "ts" is ambiguous: it is in stream "bids", stream "a"; write bids.ts',
    ),
    ("SELECT x.price FROM bids", "x", 'unknown input "x"; the inputs of this query are: bids'),
    (
        "SELECT a.price FROM bids a, bids a",
        "bids a",
        'two inputs are called "a"; give one of them another name with AS',
    ),
    (
        "SELECT price, bidder AS Price FROM bids",
        "bidder AS Price",
        'two columns of the answer are called "Price"; give one another name with AS',
    ),
    ("SELECT * FROM bids b, auctions a", "*", 'two columns of the answer are called "ts"; give one another name'),
    (
        "SELECT price AS _ts FROM bids",
        "price AS _ts",
        '"_ts" is the name of a column that every changelog has; choose another name with AS',
    ),
    ("SELECT foo(price) FROM bids", "foo(price)", 'unknown function "foo"'),
    ("SELECT b.price FROM bids b JOIN people p USING (name)", "name", 'unknown column "name" in stream "b"'),
    ("SELECT bids.x.y FROM bids", "bids.x.y", "names have at most two parts; write input.column"),
    # types
    ("SELECT price FROM bids WHERE price", "price", "WHERE needs a BOOLEAN, but this is DOUBLE"),
    ("SELECT ts * 2 FROM bids", "ts * 2", "multiply(TIMESTAMP, INT) does not exist"),
    ("SELECT AVG(ts) FROM bids", "AVG(ts)", "AVG needs a number, but this is TIMESTAMP"),
    ("SELECT CAST(price AS FOO) FROM bids", "FOO", "unknown type; types are: BOOLEAN, INT, BIGINT, DOUBLE"),
    ("SELECT CAST(price AS BINARY) FROM bids", "CAST(price AS BINARY)", 'unknown type "BINARY"; types are: BOOLEAN'),
    ("SELECT price + INTERVAL 1 MONTH FROM bids", "INTERVAL 1 MONTH", "months have no fixed length"),
    ("SELECT ts + INTERVAL 1 FORTNIGHT FROM bids", "INTERVAL 1 FORTNIGHT", "this interval has no unit that is known"),
    # aggregates
    (
        "SELECT price, COUNT(*) FROM bids",
        "price",
        'column "price" is neither grouped nor aggregated; add it to GROUP BY, or use an aggregate such as MAX(price)',
    ),
    ("SELECT COUNT(*) FROM bids HAVING price > 1", "price", 'column "price" is neither grouped nor aggregated'),
    ("SELECT price FROM bids WHERE SUM(price) > 1", "SUM(price)", "an aggregate is not allowed in WHERE; use HAVING"),
    ("SELECT b.price FROM bids b JOIN people ON MAX(price) = 1", "MAX(price)", "an aggregate is not allowed in ON"),
    ("SELECT SUM(MAX(price)) FROM bids", "MAX(price)", "an aggregate cannot be inside another one"),
    ("SELECT MAX(price) AS m FROM bids GROUP BY m", "m", "an aggregate is not allowed in GROUP BY"),
    ("SELECT price FROM bids GROUP BY 2", "2", "GROUP BY 2 means no item of the select list; there are 1"),
    ("SELECT SUM(*) FROM bids", "SUM(*)", "SUM(*) does not exist; name a column; only COUNT takes *"),
    ("SELECT SUM(price, 1) FROM bids", "SUM(price, 1)", "SUM takes one argument, not 2"),
    # windows
    ("SELECT name FROM people [NOW]", "[NOW]", '"people" is a table; a table has no window; leave the window out'),
    ("SELECT price FROM bids [RANGE 5 MINUTES SLIDE 2 MINUTES]", "[RANGE 5 MINUTES SLIDE 2 MINUTES]", "a multiple of"),
    ("SELECT price FROM bids [RANGE 0 SECONDS]", "0 SECONDS", "this length of time must be above zero"),
    ("SELECT price FROM bids, auctions [RANGE 0 SECONDS]", "0 SECONDS", "this length of time must be above zero"),
    ("SELECT price FROM bids [RANGE 0.1 MICROSECONDS]", "0.1 MICROSECONDS", "time is counted in whole microseconds"),
    ("SELECT price FROM bids [RANGE 5 MONTHS]", "5 MONTHS", "a MONTH has no fixed length; use DAYS or WEEKS"),
    ("SELECT price FROM bids [RANGE 5 FOOS]", "FOOS", 'unknown unit of time "FOOS"; units are: MICROSECONDS'),
    ("SELECT price FROM bids [RANGE 5]", "]", 'expected a unit of time such as MINUTES, found "]"'),
    ("SELECT price FROM bids [ROWS 0]", "0", "a number of rows must be a whole number above zero"),
    ("SELECT price FROM bids [ROWS 5 SLIDE 2]", "[ROWS 5 SLIDE 2]", "a multiple of its SLIDE"),
    ("SELECT price FROM bids [PARTITION BY x ROWS 3]", "x", 'unknown column "x" in stream "bids"; columns are: ts'),
    (
        "SELECT price FROM bids [PARTITION BY bidder ROWS 4 SLIDE 2]",
        "[PARTITION BY bidder ROWS 4 SLIDE 2]",
        "PARTITION BY with SLIDE is not supported yet",
    ),
    (
        "SELECT price FROM bids [PARTITION BY bidder RANGE 1 DAY]",
        "[PARTITION BY bidder RANGE 1 DAY]",
        "PARTITION BY needs a window of ROWS",
    ),
    ("SELECT price FROM bids [FOO]", "FOO", "this is not a window; windows are: [RANGE 5 MINUTES]"),
    ("SELECT price FROM bids [ROWS 5] b [NOW]", "[NOW]", "this input has a window already"),
    # what is not built yet
    ("SELECT DISTINCT price FROM bids", "DISTINCT", "DISTINCT is not supported yet"),
    ("SELECT price FROM bids ORDER BY price", "ORDER BY price", "ORDER BY is not supported yet"),
    ("SELECT price FROM bids LIMIT 3", "LIMIT 3", "LIMIT is not supported yet"),
    ("SELECT price FROM bids UNION ALL SELECT 1 FROM bids", "UNION", "UNION is not supported yet"),
    ("SELECT price FROM bids EXCEPT SELECT 1 FROM bids", "EXCEPT", "EXCEPT is not supported yet"),
    ("SELECT price FROM bids INTERSECT SELECT 1 FROM bids", "INTERSECT", "INTERSECT is not supported yet"),
    ("SELECT 1 FROM bids LEFT JOIN people ON true", "LEFT JOIN people ON true", "LEFT JOIN is not supported yet"),
    ("SELECT 1 FROM bids FULL OUTER JOIN people", "FULL OUTER JOIN people", "FULL OUTER JOIN is not supported yet"),
    ("SELECT 1 FROM bids NATURAL JOIN people", "NATURAL JOIN people", "NATURAL JOIN is not supported yet"),
    ("SELECT (SELECT 1 FROM bids) FROM bids", "(SELECT 1 FROM bids)", "a subquery in an expression is not supported"),
    ("SELECT 1 FROM bids WHERE price IN (SELECT 1 FROM bids)", "price IN (SELECT 1", "IN with a subquery is not"),
    ("SELECT 1 FROM bids WHERE EXISTS (SELECT 1 FROM bids)", "EXISTS (SELECT", "EXISTS is not supported yet"),
    ("SELECT SUM(price) OVER () FROM bids", "SUM(price) OVER ()", "a window function (OVER) is not supported yet"),
    ("SELECT STDDEV(price) FROM bids", "STDDEV(price)", "the aggregate STDDEV is not supported yet; aggregates are:"),
    ("SELECT COUNT(DISTINCT price) FROM bids", "COUNT(DISTINCT price)", "COUNT(DISTINCT ...) is not supported yet"),
    ("SELECT SUM(price) FILTER (WHERE true) FROM bids", "SUM(price) FILTER (WHERE", "FILTER is not supported yet"),
    ("SELECT 1 FROM bids FOLLOWED BY auctions", "FOLLOWED BY", "FOLLOWED BY is not supported yet"),
    ("SELECT price FROM bids EMIT EVERY 5 SECONDS", "EMIT EVERY", "EMIT EVERY is not supported yet"),
    ("SELECT price FROM bids GROUP BY ROLLUP(price)", "price", "ROLLUP is not supported yet"),
    ("SELECT price FROM bids TABLESAMPLE (10 PERCENT)", "10", "TABLESAMPLE is not supported yet"),
    ("SELECT * EXCEPT (price) FROM bids", "price", "* EXCEPT is not supported yet"),
    ("SELECT price FROM range(10)", "range(10)", "a function in FROM is not supported yet"),
    ("SELECT price FROM (bids JOIN people)", "bids JOIN people", "a join in parentheses is not supported yet"),
    ("SELECT /*+ BROADCAST(bids) */ price FROM bids", "/*+", "a hint is not supported yet"),
    # syntax
    ("SELECT 1", "1", "a query needs FROM"),
    ("SELECT FROM bids", "SELECT", "a query needs something to select"),
    ("SELECT price, FROM bids", ",", "something is missing after this comma"),
    ("SELECT price FROM bids WHERE price >", "", "something is missing here"),
    ("SELECT price FROM bids, WHERE price > 1", "WHERE", "expected the name of a stream, table or view"),
    ("SELECT 1 FROM bids, (SELECT price FRM people x) y", "people", "expected a closing parenthesis"),
    ("SELECT COUNT(*) FROM bids GROUP BY", "GROUP BY", "GROUP BY needs something to group by"),
    ("SELECT upper(bidder,) FROM bids", ",", "something is missing after this comma"),
    ("SELECT (price FROM bids", "FROM", "expected a closing parenthesis"),
    ("SELECT price frm bids x y", "bids", "this was not expected here"),
    ("SELECT price FROM", "", "expected the name of a stream, table or view"),
]


def pointed_at(error: SqlError) -> str:
    assert error.sql is not None and error.start is not None
    return error.sql[error.start : error.end]


@pytest.mark.parametrize(("sql", "place", "message"), MISTAKES, ids=[sql for sql, _, _ in MISTAKES])
def test_query(sql, place, message, catalog):
    with pytest.raises(SqlError) as raised:
        bind(parse_query_text(sql), catalog)
    assert str(raised.value).split(": ", 1)[1].startswith(message) or message in str(raised.value)
    assert pointed_at(raised.value).startswith(place)
    assert "\x1b" not in str(raised.value)


STATEMENTS = [
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts", "ts", 'TIMESTAMP BY needs a TIMESTAMP column, but "ts" is BIGINT'),
    ("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY x", "x", 'unknown column "x" in stream "s"; columns are: ts'),
    ("CREATE STREAM s (a FOO)", "FOO", 'unknown type "FOO"; types are: BOOLEAN, INT, BIGINT, DOUBLE, STRING'),
    ("CREATE STREAM s (a DECIMAL(50, 2))", "DECIMAL(50, 2)", "DECIMAL(50, 2) is not a type"),
    ("CREATE STREAM s (a INT, A INT)", "A", 'two columns are called "A"; names are compared without case'),
    ("CREATE STREAM s (_op INT)", "_op", '"_op" is the name of a column that every changelog has'),
    ("CREATE STREAM s (a INT) TIMESTAMP ON a", "ON", "expected BY, LATENT or INTERNAL after TIMESTAMP"),
    ("CREATE STREAM s (a INT) WITH (path = x)", "x", 'expected a value in quotes, found "x"'),
    ("CREATE STREAM s (a INT) WITH (a = '1', A = '2')", "'2'", 'the option "a" is given twice'),
    ("CREATE STREAM s (a INT) FOO", "FOO", 'expected ";" or the end of the statement, found "FOO"'),
    ("CREATE STREAM bids (a INT)", "bids", 'there is a stream "bids" already; drop it first or choose another name'),
    ("CREATE VIEW Counts AS SELECT * FROM bids", "Counts", 'there is a view "counts" already'),
    ("CREATE OR REPLACE VIEW bids AS SELECT * FROM people", "bids", '"bids" is a stream, not a view'),
    ("CREATE VIEW v (a) AS SELECT * FROM people", "a", "the view has 1 column names, but its query has 2 columns"),
    ("CREATE VIEW v (a, A) AS SELECT * FROM people", "A", 'two columns are called "A"'),
    ("CREATE VIEW v AS", "", "expected a query that starts with SELECT or WITH"),
    ("CREATE FOO x", "FOO", 'expected STREAM, TABLE or VIEW, found "FOO"'),
    ("DROP STREAM bids", "bids", 'stream "bids" is read by: counts; drop them first'),
    ("DROP TABLE bids", "bids", 'there is no table "bids"; it is a stream; tables are: people'),
    ("DROP VIEW nothing", "nothing", 'there is no view "nothing"; views are: counts'),
    ("SHOW FOO", "FOO", 'expected STREAMS, TABLES or VIEWS, found "FOO"'),
    ("ADVANCE TO 'noon'", "'noon'", "\"noon\" is not a timestamp; write it as '2024-05-01 12:00:00'"),
    ("INSERT INTO bids VALUES (1)", "INSERT", "INSERT is not supported yet"),
    ("UPDATE people SET name = 'x'", "UPDATE", "UPDATE is not supported yet"),
    ("DELETE FROM people", "DELETE", "DELETE is not supported yet"),
    ("FOO BAR", "FOO", 'no statement starts with "FOO"; statements are: SELECT, CREATE'),
    ("SELECT 1 FROM bids;\nSELECT 'open FROM bids;", "'", "line 2, column 8: this ' is never closed"),
    ("SELECT price /* FROM bids", "s", "the text ends inside of a comment"),
]


@pytest.mark.parametrize(("sql", "place", "message"), STATEMENTS, ids=[sql for sql, _, _ in STATEMENTS])
def test_statement(sql, place, message, catalog):
    with pytest.raises(SqlError) as raised:
        for statement in parse_statements(sql):
            define(statement, catalog)
    assert message in str(raised.value)
    assert pointed_at(raised.value).startswith(place)


def test_the_place_is_one_in_the_whole_text(catalog):
    text = "CREATE TABLE t (a INT);\n-- a comment; with a semicolon\nCREATE VIEW v AS\n  SELECT b FROM t;"
    with pytest.raises(SqlError) as raised:
        for statement in parse_statements(text):
            define(statement, catalog)
    assert str(raised.value) == (
        'line 4, column 10: unknown column "b" in table "t"; columns are: a\n    SELECT b FROM t;\n           ^'
    )
