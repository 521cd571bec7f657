"""Golden plans: a query, and the plan that the binder makes of it."""

from textwrap import dedent

import pytest

from sash.plan.explain import explain
from sash.sql.bind import bind
from sash.sql.syntax.parse import parse_query_text

PLANS = {
    "a stream without a window is unbounded": (
        "SELECT * FROM bids",
        """
        Window  [UNBOUNDED]
        └─ Scan  bids
        """,
    ),
    "a table has no window": (
        "SELECT * FROM people",
        """
        Scan  people (table)
        """,
    ),
    "names ignore case": (
        "select PRICE from BIDS [range 5 minutes]",
        """
        Project  price
        └─ Window  [RANGE 5 MINUTES]
           └─ Scan  bids
        """,
    ),
    "conditions go right above the window": (
        "SELECT bidder FROM bids [ROWS 100 SLIDE 10] WHERE price > 3 AND (bidder = 'ann' OR bidder IS NULL)",
        """
        Project  bidder
        └─ Filter  price > 3.0 AND (bidder = 'ann' OR bidder IS NULL)
           └─ Window  [ROWS 100 SLIDE 10]
              └─ Scan  bids
        """,
    ),
    "expressions are named by their text": (
        "SELECT -price AS negative, price *  2, upper(bidder) FROM bids [NOW]",
        """
        Project  -price AS negative, price * 2.0 AS price * 2, upper(bidder)
        └─ Window  [NOW]
           └─ Scan  bids
        """,
    ),
    "an aggregate names its output after the select list": (
        "SELECT bidder AS who, COUNT(*) AS n, SUM(price) FROM bids [PARTITION BY bidder, auction ROWS 10] GROUP BY who",
        """
        Aggregate  bidder AS who; COUNT(*) AS n, SUM(price)
        └─ Window  [PARTITION BY bidder, auction ROWS 10]
           └─ Scan  bids
        """,
    ),
    "aggregates may stand anywhere in an expression; equal ones are one": (
        "SELECT bidder, SUM(price) / COUNT(*) + 1 AS x FROM bids GROUP BY 1 HAVING COUNT(*) > 10 AND x < 5",
        """
        Project  bidder, SUM(price) / CAST(COUNT(*) AS DOUBLE) + 1.0 AS x
        └─ Filter  COUNT(*) > 10 AND SUM(price) / CAST(COUNT(*) AS DOUBLE) + 1.0 < 5.0
           └─ Aggregate  bidder; SUM(price), COUNT(*)
              └─ Window  [UNBOUNDED]
                 └─ Scan  bids
        """,
    ),
    "keys and arguments that are computed are projected below": (
        "SELECT auction % 10 AS decade, MAX(price * 2) AS top FROM bids GROUP BY auction % 10",
        """
        Aggregate  auction % 10 AS decade; MAX(price * 2.0) AS top
        └─ Project  auction % 10, price * 2.0
           └─ Window  [UNBOUNDED]
              └─ Scan  bids
        """,
    ),
    "a global aggregate has no keys": (
        "SELECT MIN(price), MAX(price), AVG(price) FROM bids [RANGE 1 HOUR]",
        """
        Aggregate  MIN(price), MAX(price), AVG(price)
        └─ Window  [RANGE 1 HOUR]
           └─ Scan  bids
        """,
    ),
    "COUNT of a constant counts rows": (
        "SELECT COUNT(1) AS n, COUNT(*) AS m, COUNT(bidder) AS k FROM bids",
        """
        Project  n, n AS m, k
        └─ Aggregate  COUNT(*) AS n, COUNT(bidder) AS k
           └─ Window  [UNBOUNDED]
              └─ Scan  bids
        """,
    ),
    "HAVING prefers an alias to a column that is not grouped": (
        "SELECT bidder, SUM(price) AS price FROM bids GROUP BY bidder HAVING price > 5",
        """
        Filter  price > 5.0
        └─ Aggregate  bidder; SUM(price) AS price
           └─ Window  [UNBOUNDED]
              └─ Scan  bids
        """,
    ),
    "GROUP BY without aggregates": (
        "SELECT bidder FROM bids GROUP BY bidder",
        """
        Aggregate  bidder
        └─ Window  [UNBOUNDED]
           └─ Scan  bids
        """,
    ),
    "an item may use the aliases before it": (
        "SELECT price * 2 AS twice, twice + 1 AS more FROM bids",
        """
        Project  price * 2.0 AS twice, price * 2.0 + 1.0 AS more
        └─ Window  [UNBOUNDED]
           └─ Scan  bids
        """,
    ),
    "conditions of a join: keys, residual, and filters below": (
        """
        SELECT b.price, a.seller FROM bids [RANGE 1 HOUR] b JOIN auctions [UNBOUNDED] AS a
        ON b.auction = a.id AND b.ts > a.ts WHERE b.price > 3 AND a.seller <> 'x' AND b.bidder <> a.seller
        """,
        """
        Project  bids.price, auctions.seller
        └─ Join  bids.auction = auctions.id AND bids.ts > auctions.ts AND bids.bidder <> auctions.seller
           ├─ Filter  price > 3.0
           │  └─ Window  [RANGE 1 HOUR]
           │     └─ Scan  bids
           └─ Filter  seller <> 'x'
              └─ Window  [UNBOUNDED]
                 └─ Scan  auctions
        """,
    ),
    "an input that shares a key with what is joined goes first": (
        """
        SELECT b.price, p.city FROM bids b, people p, auctions a
        WHERE b.auction = a.id AND p.name = a.seller WINDOW 5 MINUTES
        """,
        """
        Project  bids.price, people.city
        └─ Join  auctions.seller = people.name
           ├─ Join  bids.auction = auctions.id
           │  ├─ Window  [RANGE 5 MINUTES]
           │  │  └─ Scan  bids
           │  └─ Window  [RANGE 5 MINUTES]
           │     └─ Scan  auctions
           └─ Scan  people (table)
        """,
    ),
    "keys of different types are cast; computed keys are projected below": (
        "SELECT b.price FROM bids b JOIN auctions a ON b.auction + 1 = a.category AND lower(b.bidder) = a.seller",
        """
        Project  bids.price
        └─ Join  bids.auction + 1 = CAST(auctions.category AS BIGINT) AND lower(bids.bidder) = auctions.seller
           ├─ Project  ts, auction, bidder, price, auction + 1 AS key1, lower(bidder) AS key2
           │  └─ Window  [UNBOUNDED]
           │     └─ Scan  bids
           └─ Project  ts, id, seller, category, CAST(category AS BIGINT) AS key1
              └─ Window  [UNBOUNDED]
                 └─ Scan  auctions
        """,
    ),
    "USING merges its columns": (
        """
        SELECT * FROM (SELECT bidder, price FROM bids) [ROWS 5] AS a
        JOIN (SELECT bidder, auction FROM bids [ROWS 7]) AS b USING (bidder)
        """,
        """
        Project  bidder, price, bids.auction
        └─ Join  bidder = bids.bidder
           ├─ Window  [ROWS 5]
           │  └─ Insertions
           │     └─ Project  bidder, price
           │        └─ Window  [UNBOUNDED]
           │           └─ Scan  bids
           └─ Project  bidder, auction
              └─ Window  [ROWS 7]
                 └─ Scan  bids
        """,
    ),
    "a self-join, and a cross join": (
        "SELECT x.price, y.price AS other FROM bids [ROWS 1] x CROSS JOIN bids [ROWS 2] y",
        """
        Project  bids.price, bids.price AS other
        └─ Join  (every pair)
           ├─ Window  [ROWS 1]
           │  └─ Scan  bids
           └─ Window  [ROWS 2]
              └─ Scan  bids
        """,
    ),
    "a view is a relation": (
        "SELECT * FROM counts WHERE n > 1",
        """
        Filter  n > 1
        └─ Aggregate  bidder; COUNT(*) AS n
           └─ Window  [RANGE 1 MINUTE]
              └─ Scan  bids
        """,
    ),
    "a window on a view reads its insertions": (
        "SELECT n FROM counts [RANGE INTERVAL '1.5' SECONDS] c",
        """
        Project  n
        └─ Window  [RANGE 1500 MILLISECONDS]
           └─ Insertions
              └─ Aggregate  bidder; COUNT(*) AS n
                 └─ Window  [RANGE 1 MINUTE]
                    └─ Scan  bids
        """,
    ),
    "named queries, with names for their columns": (
        """
        WITH top(who, most) AS (SELECT bidder, MAX(price) FROM bids GROUP BY 1)
        SELECT who FROM top WHERE most > 2 WINDOW 1 MINUTE
        """,
        """
        Project  who
        └─ Filter  most > 2.0
           └─ Aggregate  bidder AS who; MAX(price) AS most
              └─ Window  [RANGE 1 MINUTE]
                 └─ Scan  bids
        """,
    ),
    "a window of its own beats the WINDOW clause": (
        "SELECT b.price FROM bids b [NOW], auctions a WINDOW 2 DAYS SLIDE 1 DAY",
        """
        Project  bids.price
        └─ Join  (every pair)
           ├─ Window  [NOW]
           │  └─ Scan  bids
           └─ Window  [RANGE 2 DAYS SLIDE 1 DAY]
              └─ Scan  auctions
        """,
    ),
    "time and intervals": (
        "SELECT auction FROM bids WHERE ts > TIMESTAMP '2024-01-01 00:00:00' - INTERVAL 1 DAY 2 HOURS",
        """
        Project  auction
        └─ Filter  ts > TIMESTAMP '2024-01-01 00:00:00' - INTERVAL 26 HOURS
           └─ Window  [UNBOUNDED]
              └─ Scan  bids
        """,
    ),
    "forms with a syntax of their own": (
        """
        SELECT CASE auction WHEN 1 THEN 'a' END AS c, CAST(price AS INT) AS i, auction IN (1, 2) AS o,
          bidder NOT LIKE 'a%' AS l, price BETWEEN 1 AND 2 AS b, price IS NOT NULL AS p, int(price) AS j, char(65) AS a
        FROM bids
        """,
        """
        Project  CASE WHEN auction = 1 THEN 'a' ELSE NULL END AS c, CAST(price AS INT) AS i, auction IN (1, 2) AS o, \
NOT bidder LIKE 'a%' AS l, price >= 1.0 AND price <= 2.0 AS b, price IS NOT NULL AS p, \
CAST(price AS INT) AS j, chr(65) AS a
        └─ Window  [UNBOUNDED]
           └─ Scan  bids
        """,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan(name, catalog):
    sql, expected = PLANS[name]
    assert explain(bind(parse_query_text(sql), catalog)) == dedent(expected).strip()


def test_equal_queries_are_equal_plans(catalog):
    one, other = (
        bind(parse_query_text(sql), catalog)
        for sql in ("SELECT b.price FROM bids [ROWS 3] b", "SELECT price FROM bids [ROWS  3] -- the last three")
    )
    assert one == other
    assert hash(one) == hash(other)


def test_types_and_names_of_the_answer(catalog):
    sql = "SELECT Bidder, COUNT(*) AS n, SUM(auction) AS s, 1.5 AS d FROM bids GROUP BY 1"
    assert str(bind(parse_query_text(sql), catalog).schema) == "Bidder STRING, n BIGINT, s BIGINT, d DECIMAL(2, 1)"
