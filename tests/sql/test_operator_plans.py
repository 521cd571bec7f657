"""Golden plans of everything beyond SELECT, inner joins and simple groups."""

from textwrap import dedent

import pytest

from sash.plan.explain import explain
from sash.sql.bind import bind
from sash.sql.define import define
from sash.sql.syntax.parse import parse_query_text, parse_statements

PLANS = {
    "DISTINCT groups by all columns": (
        "SELECT DISTINCT bidder, price FROM bids [ROWS 5]",
        """
        Aggregate  bidder, price
        └─ Project  bidder, price
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "UNION is DISTINCT of UNION ALL; types meet, names are the left ones": (
        "SELECT price FROM bids [ROWS 5] UNION SELECT id FROM auctions [ROWS 5]",
        """
        Aggregate  price
        └─ Combine  UNION ALL
           ├─ Project  price
           │  └─ Window  [ROWS 5]
           │     └─ Scan  bids
           └─ Project  CAST(id AS DOUBLE) AS id
              └─ Window  [ROWS 5]
                 └─ Scan  auctions
        """,
    ),
    "set operators bind as in SQL, and a WINDOW clause at the end holds for all": (
        """
        SELECT bidder FROM bids UNION ALL SELECT name FROM people INTERSECT ALL SELECT seller FROM auctions WINDOW 1
        MINUTE
        """,
        """
        Combine  UNION ALL
        ├─ Project  bidder
        │  └─ Window  [RANGE 1 MINUTE]
        │     └─ Scan  bids
        └─ Combine  INTERSECT ALL
           ├─ Project  name
           │  └─ Scan  people (table)
           └─ Project  seller
              └─ Window  [RANGE 1 MINUTE]
                 └─ Scan  auctions
        """,
    ),
    "EXCEPT and MINUS between queries are the same": (
        "SELECT bidder FROM bids EXCEPT SELECT name FROM people MINUS SELECT NULL FROM people",
        """
        Combine  EXCEPT
        ├─ Combine  EXCEPT
        │  ├─ Project  bidder
        │  │  └─ Window  [UNBOUNDED]
        │  │     └─ Scan  bids
        │  └─ Project  name
        │     └─ Scan  people (table)
        └─ Project  NULL
           └─ Scan  people (table)
        """,
    ),
    "a left join is the pairs and the padded rest; conditions on the left side sink": (
        """
        SELECT b.price, p.city FROM bids [ROWS 5] b LEFT JOIN people p ON b.bidder = p.name AND b.price > 3 WHERE
        b.auction = 1 AND p.city IS NULL
        """,
        """
        Project  price, city
        └─ Filter  city IS NULL
           └─ Combine  UNION ALL
              ├─ Join  bids.bidder = people.name
              │  ├─ Filter  price > 3.0
              │  │  └─ Filter  auction = 1
              │  │     └─ Window  [ROWS 5]
              │  │        └─ Scan  bids
              │  └─ Scan  people (table)
              └─ Project  ts, auction, bidder, price, NULL AS name, NULL AS city
                 └─ Combine  ANTI
                    ├─ Filter  auction = 1
                    │  └─ Window  [ROWS 5]
                    │     └─ Scan  bids
                    └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
                       └─ Join  bids.bidder = people.name
                          ├─ Filter  price > 3.0
                          │  └─ Filter  auction = 1
                          │     └─ Window  [ROWS 5]
                          │        └─ Scan  bids
                          └─ Scan  people (table)
        """,
    ),
    "a full join keeps both rests; USING shows what is there": (
        "SELECT name, id FROM people FULL JOIN (SELECT seller AS name, id FROM auctions [ROWS 5]) USING (name)",
        """
        Project  coalesce(name, name) AS name, id
        └─ Combine  UNION ALL
           ├─ Combine  UNION ALL
           │  ├─ Join  people.name = auctions.seller
           │  │  ├─ Scan  people (table)
           │  │  └─ Project  seller AS name, id
           │  │     └─ Window  [ROWS 5]
           │  │        └─ Scan  auctions
           │  └─ Project  name, city, NULL AS name, NULL AS id
           │     └─ Combine  ANTI
           │        ├─ Scan  people (table)
           │        └─ Project  people.name, people.city
           │           └─ Join  people.name = auctions.seller
           │              ├─ Scan  people (table)
           │              └─ Project  seller AS name, id
           │                 └─ Window  [ROWS 5]
           │                    └─ Scan  auctions
           └─ Project  NULL AS name, NULL AS city, name, id
              └─ Combine  ANTI
                 ├─ Project  seller AS name, id
                 │  └─ Window  [ROWS 5]
                 │     └─ Scan  auctions
                 └─ Project  auctions.seller AS name, auctions.id
                    └─ Join  people.name = auctions.seller
                       ├─ Scan  people (table)
                       └─ Project  seller AS name, id
                          └─ Window  [ROWS 5]
                             └─ Scan  auctions
        """,
    ),
    "a semi-join without a residual meets every key once": (
        "SELECT price FROM bids [ROWS 5] LEFT SEMI JOIN auctions [ROWS 5] a ON auction = a.id",
        """
        Project  price
        └─ Combine  SEMI
           ├─ Window  [ROWS 5]
           │  └─ Scan  bids
           └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
              └─ Join  bids.auction = id
                 ├─ Window  [ROWS 5]
                 │  └─ Scan  bids
                 └─ Aggregate  id
                    └─ Project  id
                       └─ Window  [ROWS 5]
                          └─ Scan  auctions
        """,
    ),
    "an anti-join with a residual": (
        """
        SELECT price FROM bids [ROWS 5] LEFT ANTI JOIN auctions [ROWS 5] a ON auction = a.id AND price > category
        """,
        """
        Project  price
        └─ Combine  ANTI
           ├─ Window  [ROWS 5]
           │  └─ Scan  bids
           └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
              └─ Join  bids.auction = auctions.id AND bids.price > CAST(auctions.category AS DOUBLE)
                 ├─ Window  [ROWS 5]
                 │  └─ Scan  bids
                 └─ Window  [ROWS 5]
                    └─ Scan  auctions
        """,
    ),
    "IN is a semi-join": (
        "SELECT price FROM bids [ROWS 5] WHERE bidder IN (SELECT name FROM people WHERE city = 'x')",
        """
        Project  price
        └─ Combine  SEMI
           ├─ Window  [ROWS 5]
           │  └─ Scan  bids
           └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
              └─ Join  bids.bidder = name
                 ├─ Window  [ROWS 5]
                 │  └─ Scan  bids
                 └─ Aggregate  name
                    └─ Project  name
                       └─ Filter  city = 'x'
                          └─ Scan  people (table)
        """,
    ),
    "NOT IN minds NULLs on both sides": (
        "SELECT price FROM bids [ROWS 5] WHERE bidder NOT IN (SELECT name FROM people)",
        """
        Project  price
        └─ Combine  ANTI
           ├─ Window  [ROWS 5]
           │  └─ Scan  bids
           └─ Combine  UNION ALL
              ├─ Combine  UNION ALL
              │  ├─ Project  bids.ts, bids.auction, bids.bidder, bids.price
              │  │  └─ Join  bids.bidder = name
              │  │     ├─ Window  [ROWS 5]
              │  │     │  └─ Scan  bids
              │  │     └─ Aggregate  name
              │  │        └─ Project  name
              │  │           └─ Scan  people (table)
              │  └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
              │     └─ Join  (every pair)
              │        ├─ Window  [ROWS 5]
              │        │  └─ Scan  bids
              │        └─ Aggregate  one
              │           └─ Project  1 AS one
              │              └─ Filter  name IS NULL
              │                 └─ Project  name
              │                    └─ Scan  people (table)
              └─ Project  bids.ts, bids.auction, bids.bidder, bids.price
                 └─ Join  (every pair)
                    ├─ Filter  bidder IS NULL
                    │  └─ Window  [ROWS 5]
                    │     └─ Scan  bids
                    └─ Aggregate  one
                       └─ Project  1 AS one
                          └─ Project  name
                             └─ Scan  people (table)
        """,
    ),
    "EXISTS takes its conditions on the query around as those of the join": (
        """
        SELECT id FROM auctions [ROWS 5] a WHERE EXISTS (SELECT * FROM bids [ROWS 9] WHERE auction = a.id AND price
        > 2)
        """,
        """
        Project  id
        └─ Combine  SEMI
           ├─ Window  [ROWS 5]
           │  └─ Scan  auctions
           └─ Project  auctions.ts, auctions.id, auctions.seller, auctions.category
              └─ Join  auctions.id = auction
                 ├─ Window  [ROWS 5]
                 │  └─ Scan  auctions
                 └─ Aggregate  auction
                    └─ Project  auction
                       └─ Filter  price > 2.0
                          └─ Window  [ROWS 9]
                             └─ Scan  bids
        """,
    ),
    "EXISTS of its own asks for one row": (
        "SELECT id FROM auctions [ROWS 5] WHERE NOT EXISTS (SELECT 1 FROM people)",
        """
        Project  id
        └─ Combine  ANTI
           ├─ Window  [ROWS 5]
           │  └─ Scan  auctions
           └─ Project  auctions.ts, auctions.id, auctions.seller, auctions.category
              └─ Join  (every pair)
                 ├─ Window  [ROWS 5]
                 │  └─ Scan  auctions
                 └─ Aggregate  one
                    └─ Project  1 AS one
                       └─ Project  1
                          └─ Scan  people (table)
        """,
    ),
    "a subquery that stands for a value is joined": (
        "SELECT price FROM bids [ROWS 5] WHERE price > (SELECT AVG(price) FROM bids [ROWS 9])",
        """
        Project  bids.price
        └─ Join  bids.price > AVG(price)
           ├─ Window  [ROWS 5]
           │  └─ Scan  bids
           └─ Aggregate  AVG(price)
              └─ Window  [ROWS 9]
                 └─ Scan  bids
        """,
    ),
    "over groups it is joined after them": (
        "SELECT bidder, COUNT(*) / (SELECT COUNT(*) FROM people) AS share FROM bids [ROWS 5] GROUP BY bidder",
        """
        Project  bidder, CAST(COUNT(*) AS DOUBLE) / CAST(COUNT(*) AS DOUBLE) AS share
        └─ Join  (every pair)
           ├─ Aggregate  bidder; COUNT(*)
           │  └─ Window  [ROWS 5]
           │     └─ Scan  bids
           └─ Aggregate  COUNT(*)
              └─ Combine  UNION ALL
                 ├─ Scan  people (table)
                 └─ Project  NULL AS name, NULL AS city
                    └─ Filter  FALSE
                       └─ Window  [NOW]
                          └─ Scan  bids
        """,
    ),
    "one that depends on the row is grouped and joined from the left": (
        "SELECT id, (SELECT COUNT(*) FROM bids [ROWS 9] WHERE auction = id) AS n FROM auctions [ROWS 5]",
        """
        Project  id, key1 AS n
        └─ Project  ts, id, seller, category, id, COUNT(*), coalesce(COUNT(*), 0) AS key1
           └─ Combine  UNION ALL
              ├─ Join  auctions.id = id
              │  ├─ Window  [ROWS 5]
              │  │  └─ Scan  auctions
              │  └─ Aggregate  id; COUNT(*)
              │     └─ Project  auction AS id, ts, auction, bidder, price
              │        └─ Filter  auction IS NOT NULL
              │           └─ Window  [ROWS 9]
              │              └─ Scan  bids
              └─ Project  ts, id, seller, category, NULL AS id, NULL AS COUNT(*)
                 └─ Combine  ANTI
                    ├─ Window  [ROWS 5]
                    │  └─ Scan  auctions
                    └─ Project  auctions.ts, auctions.id, auctions.seller, auctions.category
                       └─ Join  auctions.id = id
                          ├─ Window  [ROWS 5]
                          │  └─ Scan  auctions
                          └─ Aggregate  id; COUNT(*)
                             └─ Project  auction AS id, ts, auction, bidder, price
                                └─ Filter  auction IS NOT NULL
                                   └─ Window  [ROWS 9]
                                      └─ Scan  bids
        """,
    ),
    "first rows by what is not selected": (
        "SELECT bidder FROM bids [ROWS 5] ORDER BY price DESC, ts NULLS LAST LIMIT 3 OFFSET 1",
        """
        Project  bidder
        └─ Top  3 rows after 1 by price DESC, ts NULLS LAST
           └─ Project  bidder, price, ts
              └─ Window  [ROWS 5]
                 └─ Scan  bids
        """,
    ),
    "first rows of groups": (
        "SELECT bidder, COUNT(*) AS n FROM bids [ROWS 5] GROUP BY bidder ORDER BY n DESC LIMIT 3",
        """
        Top  3 rows by n DESC
        └─ Aggregate  bidder; COUNT(*) AS n
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "LIMIT alone takes the least rows; an order without it is ignored in a subquery": (
        "SELECT price FROM (SELECT price FROM bids [ROWS 5] ORDER BY ts) LIMIT 2",
        """
        Top  2 rows
        └─ Project  price
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "numbered rows with a limit": (
        """
        SELECT bidder, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM
        bids [ROWS 5]) WHERE rn <= 3 AND price > 1
        """,
        """
        Project  bidder, rn
        └─ Filter  price > 1.0
           └─ Top  3 rows of every auction by price DESC numbered AS rn
              └─ Window  [ROWS 5]
                 └─ Scan  bids
        """,
    ),
    "a number that nobody reads is left out": (
        """
        SELECT bidder FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY ts) AS rn FROM bids [ROWS 5])
        WHERE rn = 2
        """,
        """
        Project  bidder
        └─ Top  1 row after 1 of every auction by ts
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "QUALIFY": (
        """
        SELECT bidder, price FROM bids [ROWS 5] QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY price) < 3
        """,
        """
        Top  2 rows of every bidder by price
        └─ Project  bidder, price
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "aggregates with more than one argument": (
        """
        SELECT MAX_BY(bidder, price) AS a, FIRST(price) AS f, STRING_AGG(DISTINCT bidder, ', ') AS s,
        PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY price DESC) AS p, COUNT(DISTINCT bidder) AS c FROM bids [ROWS 5]
        """,
        """
        Aggregate  MAX_BY(bidder, price) AS a, MIN_BY(price, ts) AS f, STRING_AGG(DISTINCT bidder, ', ') AS s, \
PERCENTILE_CONT(price, 0.1) AS p, COUNT(DISTINCT bidder) AS c
        └─ Window  [ROWS 5]
           └─ Scan  bids
        """,
    ),
    "FILTER becomes CASE": (
        """
        SELECT COUNT(*) FILTER (WHERE price > 1) AS n, MAX_BY(bidder, price) FILTER (WHERE auction = 1) AS m FROM
        bids [ROWS 5]
        """,
        """
        Aggregate  COUNT(CASE WHEN price > 1.0 THEN 1 ELSE NULL END) AS n, MAX_BY(bidder, CASE WHEN auction = 1 THEN price \
ELSE NULL END) AS m
        └─ Project  CASE WHEN price > 1.0 THEN 1 ELSE NULL END, bidder, CASE WHEN auction = 1 THEN price ELSE NULL END
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "ROLLUP is a union of aggregates": (
        "SELECT bidder, auction, COUNT(*) AS n FROM bids [ROWS 5] GROUP BY ROLLUP (bidder, auction)",
        """
        Combine  UNION ALL
        ├─ Combine  UNION ALL
        │  ├─ Aggregate  bidder, auction; COUNT(*) AS n
        │  │  └─ Window  [ROWS 5]
        │  │     └─ Scan  bids
        │  └─ Project  bidder, NULL AS auction, n
        │     └─ Aggregate  bidder; COUNT(*) AS n
        │        └─ Window  [ROWS 5]
        │           └─ Scan  bids
        └─ Project  NULL AS bidder, NULL AS auction, n
           └─ Aggregate  COUNT(*) AS n
              └─ Window  [ROWS 5]
                 └─ Scan  bids
        """,
    ),
    "ISTREAM, DSTREAM and RSTREAM": (
        "SELECT i.n FROM ISTREAM(counts) [ROWS 3] i, DSTREAM(SELECT n FROM counts) [NOW] d, RSTREAM(counts) r",
        """
        Project  n
        └─ Join  (every pair)
           ├─ Join  (every pair)
           │  ├─ Window  [ROWS 3]
           │  │  └─ Insertions
           │  │     └─ Aggregate  bidder; COUNT(*) AS n
           │  │        └─ Window  [RANGE 1 MINUTE]
           │  │           └─ Scan  bids
           │  └─ Window  [NOW]
           │     └─ Deletions
           │        └─ Project  n
           │           └─ Aggregate  bidder; COUNT(*) AS n
           │              └─ Window  [RANGE 1 MINUTE]
           │                 └─ Scan  bids
           └─ Window  [UNBOUNDED]
              └─ Snapshots
                 └─ Aggregate  bidder; COUNT(*) AS n
                    └─ Window  [RANGE 1 MINUTE]
                       └─ Scan  bids
        """,
    ),
    "a sequence is a stream of pairs": (
        """
        SELECT b.price, a.seller FROM bids b FOLLOWED BY auctions a USING CHRONICLE ON b.auction = a.id AND b.price
        > 2 WITHIN 10 MINUTES [RANGE 1 MINUTE]
        """,
        """
        Project  bids.price, auctions.seller
        └─ Window  [RANGE 1 MINUTE]
           └─ Sequence  CHRONICLE; bids.auction = auctions.id AND bids.price > 2.0; within 10 MINUTES
              ├─ Scan  bids
              └─ Scan  auctions
        """,
    ),
    "views and subqueries in a sequence give their insertions; what is not a column is a residual": (
        """
        SELECT c.n FROM counts c FOLLOWED BY (SELECT * FROM bids WHERE price > 1) b ON lower(c.bidder) = b.bidder
        """,
        """
        Project  n
        └─ Window  [UNBOUNDED]
           └─ Sequence  RECENT; lower(bidder) = bidder
              ├─ Insertions
              │  └─ Aggregate  bidder; COUNT(*) AS n
              │     └─ Window  [RANGE 1 MINUTE]
              │        └─ Scan  bids
              └─ Insertions
                 └─ Filter  price > 1.0
                    └─ Window  [UNBOUNDED]
                       └─ Scan  bids
        """,
    ),
    "a sequence of three": (
        """
        SELECT a.price FROM bids a FOLLOWED BY bids b ON a.bidder = b.bidder FOLLOWED BY auctions c ON b.auction =
        c.id WINDOW 5 SECONDS
        """,
        """
        Project  bids.price
        └─ Window  [RANGE 5 SECONDS]
           └─ Sequence  RECENT; bids.auction = auctions.id
              ├─ Sequence  RECENT; bids.bidder = bids.bidder
              │  ├─ Scan  bids
              │  └─ Scan  bids
              └─ Scan  auctions
        """,
    ),
    "MINUS between inputs": (
        "SELECT bidder FROM bids [ROWS 5] MINUS auctions [ROWS 3] a ON bids.auction = a.id WHERE price > 1",
        """
        Project  bidder
        └─ Filter  price > 1.0
           └─ Minus  bids.auction = auctions.id
              ├─ Window  [ROWS 5]
              │  └─ Scan  bids
              └─ Window  [ROWS 3]
                 └─ Scan  auctions
        """,
    ),
    "EMIT EVERY": (
        "SELECT bidder FROM bids [ROWS 5] EMIT EVERY 10 SECONDS",
        """
        Emit  every 10 SECONDS
        └─ Project  bidder
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
    "conditions that read nothing are decided at once": (
        "SELECT price FROM bids [ROWS 5] WHERE 1 = 1 AND 2 < 1",
        """
        Project  price
        └─ Filter  FALSE
           └─ Window  [ROWS 5]
              └─ Scan  bids
        """,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan(name, catalog):
    sql, expected = PLANS[name]
    assert explain(bind(parse_query_text(sql), catalog)) == dedent(expected).strip()


def test_a_view_that_emits_is_read_as_it_is(catalog):
    for statement in parse_statements("CREATE VIEW slow AS SELECT bidder FROM bids [ROWS 5] EMIT EVERY 1 MINUTE"):
        define(statement, catalog)
    found = bind(parse_query_text("SELECT * FROM slow"), catalog)
    assert found == bind(parse_query_text("SELECT bidder FROM bids [ROWS 5]"), catalog)


def test_a_minus_between_queries_is_a_set_operator(catalog):
    one, other = (
        bind(parse_query_text(f"SELECT bidder FROM bids {word} SELECT name FROM people"), catalog)
        for word in ("MINUS", "EXCEPT DISTINCT")
    )
    assert one == other


def test_a_window_clause_in_parentheses_holds_inside_only(catalog):
    text = "SELECT bidder FROM bids UNION ALL (SELECT seller FROM auctions WINDOW 1 MINUTE)"
    shown = explain(bind(parse_query_text(text), catalog))
    assert "[UNBOUNDED]" in shown and "[RANGE 1 MINUTE]" in shown
