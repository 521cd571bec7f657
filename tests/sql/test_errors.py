"""Every mistake gives one clear message and points at its place."""

import pytest

from sash.errors import SqlError
from sash.sql.bind import bind, bind_change
from sash.sql.define import define
from sash.sql.syntax.parse import parse_query_text, parse_statements
from sash.sql.syntax.statements import Delete, Insert, Update

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
    # constants that are no values of the type they are needed in: they were NULL at run time
    ("SELECT price FROM bids WHERE ts > DATE '2024-13-45'", "'2024-13-45'", "'2024-13-45' is not a value of the type DATE; correct it, or use TRY_CAST('2024-13-45' AS DATE)"),
    ("SELECT price FROM bids WHERE TIMESTAMP 'x' < ts", "'x'", "'x' is not a value of the type TIMESTAMP; correct it"),
    ("SELECT price FROM bids WHERE ts > '2024-99-01'", "'2024-99-01'", "'2024-99-01' is not a value of the type TIMESTAMP; correct it"),
    ("SELECT price FROM bids WHERE ts IN ('2024-01-01', r'no')", "r'no'", "'no' is not a value of the type TIMESTAMP"),
    ("SELECT price FROM bids WHERE ts BETWEEN '2024-01-01' AND '2024-02-30'", "'2024-02-30'", "'2024-02-30' is not a value of the type"),
    ("SELECT price FROM bids WHERE ts = ANY(ARRAY['2024-01-01', 'no'])", "'no'", "'no' is not a value of the type TIMESTAMP"),
    ("SELECT CASE ts WHEN 'no' THEN 1 END FROM bids", "'no'", "'no' is not a value of the type TIMESTAMP"),
    ("SELECT price FROM bids WHERE (ts, price) IN (('no', 1))", "'no'", "'no' is not a value of the type TIMESTAMP"),
    ("SELECT price + 'ten' AS p FROM bids", "'ten'", "'ten' is not a value of the type DOUBLE"),
    ("SELECT price FROM bids WHERE auction = 'five'", "'five'", "'five' is not a value of the type BIGINT"),
    ("SELECT YEAR('no') AS y FROM bids", "'no'", "'no' is not a value of the type DATE"),
    ("SELECT CAST('no' AS INT) AS n FROM bids", "'no'", "'no' is not a value of the type INT"),
    ("SELECT CAST(3000000000 AS INT) AS n FROM bids", "3000000000", "'3000000000' is not a value of the type INT"),
    ("SELECT price FROM bids WHERE ts > NOW() - INTERVAL 'x' DAY", "INTERVAL 'x' DAY", "an interval must be a number and a unit"),
    # types
    ("SELECT CAST(price AS SMALLINT) FROM bids", "CAST(price AS SMALLINT", "SMALLINT is not a type of Sash; use INT, which holds"),
    ("SELECT TINYINT(price) FROM bids", "TINYINT(price)", "TINYINT is not a type of Sash; use INT, which holds"),
    ("SELECT price::FLOAT FROM bids", "price", "FLOAT is not a type of Sash; use DOUBLE, which holds"),
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
    # order and first rows
    ("SELECT price FROM bids ORDER BY prize", "prize", 'unknown column "prize"'),  # ignored, but not unread
    ("(SELECT price FROM bids) ORDER BY 2", "2", "ORDER BY 2 means no item of the select list; there are 1"),
    ("SELECT price FROM bids ORDER BY 2 LIMIT 1", "2", "ORDER BY 2 means no item of the select list; there are 1"),
    ("SELECT price FROM bids LIMIT price", "price", "LIMIT and OFFSET take a whole number; write LIMIT 10"),
    ("SELECT price FROM bids LIMIT -1", "-1", "LIMIT and OFFSET take a whole number"),
    ("SELECT DISTINCT price FROM bids ORDER BY bidder LIMIT 2", "bidder", "ORDER BY takes items of the select list only"),
    ("SELECT price FROM bids UNION SELECT 1 FROM bids ORDER BY -price LIMIT 1", "-price", "takes columns of its answer"),
    ("SELECT 1 FROM bids WHERE ROW_NUMBER() OVER () < 2", "ROW_NUMBER()", "a window function (OVER) is not allowed in WHERE"),
    ("SELECT UPPER(bidder) OVER () FROM bids", "UPPER", "UPPER is no window function"),
    ("SELECT RANK(1) OVER () FROM bids", "RANK", "RANK takes 0 arguments, not 1"),
    ("SELECT NTILE(0) OVER () FROM bids", "0", "NTILE takes a constant whole number here, at least 1"),
    ("SELECT LAG(price, auction) OVER () FROM bids", "auction", "LAG takes a constant whole number here"),
    ("SELECT SUM(RANK() OVER ()) OVER () FROM bids", "RANK() OVER ()", "a window function (OVER) is not allowed in OVER"),
    ("SELECT SUM(price) OVER w FROM bids", "w", 'unknown window "w"; name it with WINDOW w AS'),
    ("SELECT SUM(price) OVER (v) FROM bids WINDOW w AS (ORDER BY ts)", "v", 'unknown window "v"; windows are: w'),
    ("SELECT SUM(price) OVER (ORDER BY ts ROWS -1 PRECEDING) FROM bids", "-1", "a frame takes a whole number of ROWS"),
    (
        "SELECT SUM(price) OVER (ORDER BY ts, price RANGE 1 PRECEDING) FROM bids",
        "1",
        "RANGE with an offset needs one expression in ORDER BY",
    ),
    ("SELECT SUM(price) OVER (ORDER BY bidder RANGE 1 PRECEDING) FROM bids", "1", "a RANGE offset of this kind does not fit STRING"),
    ("SELECT RANK() IGNORE NULLS OVER (ORDER BY ts) FROM bids", "RANK", "RANK takes no IGNORE NULLS"),
    ("SELECT price FROM bids QUALIFY price > 1", "QUALIFY price > 1", "QUALIFY is about window functions, and there is none"),
    # the time
    ("SELECT NOW() FROM bids", "NOW", "NOW() can only be compared here, with a time that does not depend on it"),
    ("SELECT DATE_TRUNC('millisecond', NOW()) FROM bids", "NOW", "NOW() can only be compared here"),
    ("SELECT EXTRACT(SECOND FROM NOW()) FROM bids", "NOW", "or be cut to a unit: it changes all the time; write a condition such as"),
    ("SELECT CAST(NOW() AS STRING) FROM bids", "NOW", "or a value such as DATE_TRUNC('second', NOW())"),
    ("SELECT 1 FROM bids WHERE NOW() > NOW() - INTERVAL 1 DAY", "NOW", "NOW() can only be compared here"),
    ("SELECT 1 FROM bids WHERE ts < NOW() + INTERVAL 1 MONTH", "NOW", "NOW() can only be compared here"),
    ("SELECT 1 FROM bids WHERE ts < CURRENT_TIMESTAMP + INTERVAL 1 MONTH", "CURRENT_TIMESTAMP", "NOW() can only be compared"),
    # set operators, joins and subqueries
    ("SELECT ts, price FROM bids UNION SELECT ts FROM bids", "UNION", "UNION needs as many columns on both sides: 2 and 1"),
    ("SELECT ts FROM bids EXCEPT SELECT true FROM bids", "EXCEPT", "TIMESTAMP and BOOLEAN have no type in common"),
    ("SELECT 1 FROM bids b, people LEFT JOIN auctions ON b.auction = id", "b", 'unknown input "b"; the inputs of this query'),
    ("SELECT 1 FROM bids b JOIN (people JOIN auctions ON price = id)", "price = id", "this names an input that is joined later"),
    ("SELECT 1 FROM bids b WHERE EXISTS (SELECT 1 FROM (people JOIN auctions ON b.price = id))", "b.price = id",
     "this names a column of a query around, which a join in parentheses or after a comma cannot; put the condition into WHERE"),
    ("SELECT 1 FROM bids ASOF JOIN people ON bidder = name", "bidder = name", "ASOF JOIN needs one inequality between its two sides"),
    ("SELECT 1 FROM bids ASOF JOIN people ON price > 1", "price > 1", "ASOF JOIN needs one inequality between its two sides"),
    ("SELECT 1 FROM bids ASOF RIGHT JOIN people ON bidder > name", "ASOF RIGHT JOIN", "ASOF RIGHT JOIN is not supported yet"),
    ("SELECT 1 FROM bids OUTER JOIN people", "OUTER JOIN people", "OUTER JOIN needs a side; write LEFT, RIGHT or FULL"),
    ("SELECT 1 FROM bids RIGHT SEMI JOIN people", "RIGHT SEMI JOIN people", "RIGHT SEMI JOIN is not supported yet"),
    ("SELECT name FROM bids LEFT SEMI JOIN people ON bidder = name", "name", 'unknown column "name" in stream "bids"'),
    ("SELECT (SELECT 1, MAX(price) FROM bids) FROM bids", "(SELECT 1", "needs one column, not 2"),
    ("SELECT COUNT(*), price IN (SELECT 1 FROM bids) FROM bids", "price", "is neither grouped nor aggregated"),
    ("SELECT COUNT(*) FROM bids b HAVING EXISTS (SELECT 1 FROM auctions WHERE id = b.auction)", "EXISTS", "is neither grouped nor"),
    (
        "SELECT 1 FROM bids b WHERE EXISTS (SELECT 1 FROM auctions HAVING MAX(b.price) > 1)",
        "MAX(b.price)",
        "an aggregate is not allowed in this part of the query around the subquery",
    ),
    ("SELECT 1 FROM bids WHERE (ts, 1) > ALL (SELECT ts, 2 FROM bids)", "(ts, 1) >", "several values can be compared by = ANY or IN"),
    (
        "SELECT 1 FROM bids b WHERE EXISTS (SELECT 1 FROM ISTREAM(SELECT id FROM auctions WHERE id = b.auction) [ROWS 2])",
        "EXISTS",
        "a window over a query that names columns of the query around it is not possible",
    ),
    ("SELECT 1 FROM bids WHERE ts IN (SELECT id FROM auctions)", "ts IN", "TIMESTAMP and BIGINT have no type in common"),
    ("SELECT 1 FROM bids WHERE ts IN (SELECT 1, 2 FROM auctions)", "ts IN", "IN compares 1 values with 2 columns"),
    ("SELECT 1 FROM bids b WHERE EXISTS (SELECT 1 FROM people WHERE name = b.x)", "b.x", 'unknown column "x" in stream "b"'),
    # aggregates
    ("SELECT MODE(price) OVER () FROM bids", "MODE", "MODE OVER is not supported yet"),
    (
        "SELECT LISTAGG(DISTINCT bidder) WITHIN GROUP (ORDER BY price) FROM bids", "price", "with DISTINCT, the order is that of the values"
    ),
    ("SELECT MEDIAN(DISTINCT price) FROM bids", "MEDIAN(DISTINCT price)", "MEDIAN(DISTINCT ...) is not supported yet"),
    ("SELECT FIRST(price) FROM bids, auctions", "FIRST(price)", "FIRST needs one stream with TIMESTAMP BY, but there are 2"),
    ("SELECT LAST(n) FROM counts", "LAST(n)", "there are 0: (none); use MAX_BY(value, column) and name what to order by"),
    ("SELECT FIRST(price) IGNORE NULLS FROM bids", "FIRST(price)", "IGNORE NULLS is not supported yet"),
    ("SELECT PERCENTILE_CONT(0.5) FROM bids", "PERCENTILE_CONT(0.5)", "PERCENTILE_CONT needs WITHIN GROUP; write"),
    ("SELECT PERCENTILE(price, 2) FROM bids", "2", "the fraction of PERCENTILE must be a constant from 0 to 1"),
    ("SELECT PERCENTILE(price, price) FROM bids", "price", "the fraction of PERCENTILE must be a constant from 0 to 1"),
    ("SELECT MIN_BY(price) FROM bids", "MIN_BY(price)", "MIN_BY takes two arguments, not 1"),
    ("SELECT BOOL_AND(price) FROM bids", "BOOL_AND(price)", "BOOL_AND needs a BOOLEAN, but this is DOUBLE"),
    ("SELECT BIT_OR(price) FROM bids", "BIT_OR(price)", "BIT_OR needs INT or BIGINT, but this is DOUBLE"),
    ("SELECT STRING_AGG(bidder, bidder) FROM bids", "bidder", "the separator must be a text in quotes"),
    ("SELECT UPPER(bidder) FILTER (WHERE true) FROM bids", "UPPER(bidder) FILTER", "need an aggregate; UPPER is none"),
    ("SELECT SUM(price) WITHIN GROUP (ORDER BY price) FROM bids", "SUM(price) WITHIN", "SUM takes no WITHIN GROUP"),
    # streams
    ("SELECT 1 FROM bids FOLLOWED BY people", "people", '"people" is a table; FOLLOWED BY needs streams'),
    ("SELECT 1 FROM bids [ROWS 3] FOLLOWED BY auctions", "[ROWS 3]", "an input of FOLLOWED BY is a stream; a window cannot"),
    ("SELECT 1 FROM bids FOLLOWED BY auctions USING FIRST", "FIRST", "USING needs a pairing; it is RECENT, CHRONICLE"),
    ("SELECT 1 FROM bids a FOLLOWED BY bids a", "bids a", 'two inputs are called "a"'),
    ("SELECT 1 FROM bids MINUS auctions", "auctions", "MINUS of two inputs needs ON; write a MINUS b ON a.k = b.k"),
    ("SELECT 1 FROM bids MINUS auctions ON id = auction AND id > 3", "id = auction AND", "MINUS compares columns by = only"),
    ("SELECT seller FROM bids MINUS auctions ON id = auction", "seller", 'unknown column "seller" in stream "bids"'),
    ("SELECT price FROM (SELECT price FROM bids EMIT EVERY 5 SECONDS)", "EMIT", "EMIT EVERY stands at the end of a view's"),
    ("SELECT price FROM bids EMIT EVERY 5 SECONDS WHERE true", "WHERE", 'expected ";" or the end of the statement'),
    ("SELECT n FROM ISTREAM(nothing)", "nothing", 'unknown stream, table or view "nothing"'),
    # what is not built yet
    ("SELECT price FROM bids TABLESAMPLE (10 PERCENT)", "10", "TABLESAMPLE is not supported yet"),
    ("SELECT * EXCEPT (cost) FROM bids", "cost", 'EXCEPT names "cost", which * does not have; columns are:'),
    ("SELECT price FROM stack(2, 1, 2)", "stack(2, 1, 2)", "a function in FROM is not supported yet"),
    ("SELECT price FROM (bids JOIN people) b", "bids JOIN people", "a name or a window for a join in parentheses is not"),
    # syntax
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
    ("CREATE FOO x", "FOO", 'expected STREAM, TABLE, VIEW, AGGREGATE, SINK or INDEX, found "FOO"'),
    ("CREATE TABLE t (a INT PRIMARY KEY)", "PRIMARY KEY", "PRIMARY KEY is not supported; leave it out"),
    ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "PRIMARY KEY", "PRIMARY KEY is not supported; leave it out"),
    ("CREATE TABLE t (a INT NOT NULL)", "NOT", "NOT NULL is not supported; leave it out: every column may be NULL"),
    ("CREATE AGGREGATE f(x INT) RETURNS INT AS SUM(x * y)", "y", 'unknown column "y" in aggregate "f"; columns are: x'),
    ("CREATE AGGREGATE f(x INT) RETURNS INT AS x + MAX(x)", "x", 'parameter "x" is used outside of an aggregate; use'),
    ("CREATE AGGREGATE f(x INT) RETURNS INT AS 1", "1", "an aggregate is made of others, and this has none"),
    ("CREATE AGGREGATE f(x INT) RETURNS INT", "", "expected AS, but the statement ends here"),
    ("CREATE AGGREGATE sum(x INT) RETURNS INT AS MAX(x)", "sum", '"sum" is a function of SQL; choose another name'),
    ("DROP AGGREGATE f", "f", 'there is no aggregate "f"; aggregates are: (none)'),
    ("DROP STREAM bids", "bids", 'stream "bids" is read by: counts; drop them first'),
    ("DROP TABLE bids", "bids", 'there is no table "bids"; it is a stream; tables are: people'),
    ("DROP VIEW nothing", "nothing", 'there is no view "nothing"; views are: counts'),
    ("SHOW FOO", "FOO", 'expected STREAMS, TABLES, VIEWS, SINKS, INDEXES or QUERIES, found "FOO"'),
    ("ADVANCE TO 'noon'", "'noon'", "\"noon\" is not a timestamp; write it as '2024-05-01 12:00:00'"),
    ("INSERT INTO nothing VALUES (1)", "nothing", 'unknown stream, table or view "nothing"'),
    ("INSERT INTO counts VALUES (1)", "counts", '"counts" is a view; only streams and tables take rows'),
    ("INSERT INTO people VALUES ('a')", "'a'", "this row has 1 values for 2 columns; columns are: name STRING, city STRING"),
    ("INSERT INTO people VALUES ('a', name)", "name", 'unknown column "name"'),
    ("INSERT INTO people VALUES ()", ")", 'expected an expression, found ")"'),
    ("INSERT INTO people SELECT * FROM people", "SELECT", "INSERT takes VALUES, not a query; create a view instead"),
    ("INSERT INTO bids (price) VALUES ('x')", "'x'", 'this is not a value for "price", which is DOUBLE'),
    ("INSERT INTO bids (price, PRICE) VALUES (1, 2)", "PRICE", 'column "PRICE" is given twice'),
    ("INSERT INTO bids (prize) VALUES (1)", "prize", 'unknown column "prize" in stream "bids"; columns are: ts'),
    ("UPDATE people SET nam = 'x'", "nam", 'unknown column "nam" in table "people"; columns are: name, city'),
    ("UPDATE people SET name = 'x', name = 'y'", "name", 'column "name" is set twice'),
    ("UPDATE people SET name = 'x' WHERE city", "city", "WHERE needs a BOOLEAN, but this is STRING"),
    ("UPDATE bids SET price = 1", "bids", 'UPDATE changes tables, but "bids" is a stream; a stream only grows'),
    ("DELETE FROM people WHERE nam = 1", "nam", 'unknown column "nam" in table "people"'),
    ("DELETE FROM counts", "counts", '"counts" is a view; only streams and tables take rows'),
    ("MERGE INTO people", "MERGE", "MERGE is not supported yet"),
    ("FOO BAR", "FOO", 'no statement starts with "FOO"; statements are: SELECT, CREATE'),
    ("SELECT 1 FROM bids;\nSELECT 'open FROM bids;", "'", "line 2, column 8: this ' is never closed"),
    ("SELECT price /* FROM bids", "s", "the text ends inside of a comment"),
    ("SELECT 'é',\n  x'zz' FROM bids", "x'zz'", "line 2, column 3: x'zz' is no hexadecimal literal: its digits are 0 to 9 and A to F"),
    ("SELECT X'0g", "X", "this ' is never closed"),
]


@pytest.mark.parametrize(("sql", "place", "message"), STATEMENTS, ids=[sql for sql, _, _ in STATEMENTS])
def test_statement(sql, place, message, catalog):
    with pytest.raises(SqlError) as raised:
        for statement in parse_statements(sql):
            carry_out(statement, catalog)
    assert message in str(raised.value)
    assert pointed_at(raised.value).startswith(place)


def carry_out(statement, catalog):
    if isinstance(statement, Insert | Update | Delete):
        bind_change(statement, catalog)
    else:
        define(statement, catalog)


CALLS = [
    ("SELECT rms(price, 1) FROM bids", "rms(price, 1)", "RMS got 2 arguments instead of 1; it is rms(x DOUBLE)"),
    ("SELECT rms(prize) FROM bids", "prize", 'unknown column "prize" in stream "bids"'),
    ("SELECT price FROM bids WHERE rms(price) > 1", "rms(price)", "an aggregate is not allowed in WHERE"),
]


@pytest.mark.parametrize(("sql", "place", "message"), CALLS)
def test_a_call_of_a_defined_aggregate_is_told_at_the_call(sql, place, message, catalog):
    for statement in parse_statements("CREATE AGGREGATE rms(x DOUBLE) RETURNS DOUBLE AS SQRT(SUM(x * x) / COUNT(x))"):
        define(statement, catalog)
    with pytest.raises(SqlError) as raised:
        bind(parse_query_text(sql), catalog)
    assert message in str(raised.value)
    assert pointed_at(raised.value) == place


def test_the_place_is_one_in_the_whole_text(catalog):
    text = "CREATE TABLE t (a INT);\n-- a comment; with a semicolon\nCREATE VIEW v AS\n  SELECT b FROM t;"
    with pytest.raises(SqlError) as raised:
        for statement in parse_statements(text):
            define(statement, catalog)
    assert str(raised.value) == (
        'line 4, column 10: unknown column "b" in table "t"; columns are: a\n    SELECT b FROM t;\n           ^'
    )
