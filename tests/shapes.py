"""Query shapes and input for the laws: what every host, batch size and number of shards must agree on with the oracle.

The streams are small and nasty: NULLs, duplicates, equal timestamps, rows out of order within the delay, rows later than it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest

from sash.testing.oracle import Oracle

STREAMS = """
CREATE STREAM bids (ts TIMESTAMP, auction INT, bidder STRING, price DOUBLE, tag STRING) TIMESTAMP BY ts;
CREATE STREAM asks (ts TIMESTAMP, auction INT, seller STRING, amount DECIMAL(10, 2), day DATE, hot BOOLEAN)
  TIMESTAMP BY ts DELAY 3 SECONDS;
CREATE STREAM quiet (ts TIMESTAMP, auction INT, n BIGINT) TIMESTAMP BY ts;
CREATE TABLE sellers (seller STRING, region STRING);
"""

EPOCH = datetime(2024, 5, 1)


@dataclass(frozen=True)
class Shape:
    name: str
    sql: str  # one or more views; the last is the one that is compared


def _shape(name: str, *queries: str) -> Shape:
    """The last query becomes the view `name`; one before it becomes another view, which it calls INNER."""
    names = [f"{name}_inner"] * (len(queries) - 1) + [name]
    views = (f"CREATE MATERIALIZED VIEW {n} AS {q};" for n, q in zip(names, queries, strict=True))
    return Shape(name, "\n".join(views).replace("INNER", f"{name}_inner"))


BASIC = (
    _shape("all_rows", "SELECT * FROM bids [RANGE 10 SECONDS]"),
    _shape("unbounded", "SELECT auction, price FROM bids"),
    _shape("just_now", "SELECT auction, bidder FROM bids [NOW]"),
    _shape("filtered", "SELECT bidder, price * 2 AS twice FROM bids [RANGE 5 SECONDS] WHERE price > 2 AND bidder IS NOT NULL"),
    _shape("constant_column", "SELECT 1 AS one FROM bids [RANGE 2 SECONDS] WHERE tag = 'x'"),
    _shape("expressions", "SELECT CASE WHEN price > 2 THEN upper(bidder) ELSE 'low' END AS c, auction % 2 AS odd "
           "FROM bids [RANGE 4 SECONDS]"),
    _shape("division", "SELECT auction, price / (auction - 1) AS q FROM bids [RANGE 4 SECONDS] WHERE auction <> 1"),
    _shape("slide", "SELECT auction, bidder FROM bids [RANGE 12 SECONDS SLIDE 4 SECONDS]"),
    _shape("slide_counts", "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY bidder"),
    _shape("tumbling_total", "SELECT COUNT(*) AS n, SUM(price) AS s FROM bids [RANGE 5 SECONDS SLIDE 5 SECONDS]"),
    _shape("last_rows", "SELECT * FROM bids [ROWS 5]"),
    _shape("last_rows_grouped", "SELECT auction, COUNT(*) AS n, MIN(price) AS least FROM bids [ROWS 7] GROUP BY auction"),
    _shape("rows_slide", "SELECT bidder, price FROM bids [ROWS 6 SLIDE 2]"),
    _shape("partitioned", "SELECT * FROM bids [PARTITION BY bidder ROWS 2]"),
    _shape("partitioned_two", "SELECT bidder, auction, price FROM bids [PARTITION BY auction, bidder ROWS 1]"),
    _shape("session", "SELECT * FROM bids [SESSION GAP 2 SECONDS]"),
    _shape("session_keys", "SELECT * FROM bids [PARTITION BY bidder SESSION GAP 3 SECONDS]"),
    _shape("session_groups", "SELECT bidder, COUNT(*) AS n, MAX(price) AS m FROM bids [PARTITION BY bidder, auction SESSION GAP 4 SECONDS] "
           "WHERE price > 1 GROUP BY bidder"),
    _shape("session_join", "SELECT a.seller, b.bidder FROM asks [PARTITION BY auction SESSION GAP 5 SECONDS] a "
           "JOIN bids [RANGE 4 SECONDS] b ON a.auction = b.auction"),
    _shape("session_of_view", "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 5 SECONDS] GROUP BY bidder",
           "SELECT n, COUNT(*) AS c FROM INNER [PARTITION BY bidder SESSION GAP 1 SECONDS] GROUP BY n"),
    _shape("by_session", "SELECT bidder, SESSION_START(ts, INTERVAL 2 SECONDS) AS a, SESSION_END(ts, INTERVAL 2 SECONDS) AS b, COUNT(*) AS n, "
           "SUM(price) AS p FROM bids [RANGE 20 SECONDS] GROUP BY bidder, SESSION_WINDOW(ts, INTERVAL 2 SECONDS)"),
    _shape("by_session_of_all", "SELECT session_window(ts, '3 seconds') AS a, COUNT(*) AS n FROM bids GROUP BY session_window(ts, '3 seconds')"),
    _shape("by_session_of_few", "SELECT auction, session_end(ts, '1 second') AS e, COUNT(*) AS n, MIN(bidder) AS b FROM bids [ROWS 9] x "
           "WHERE price > 1 GROUP BY auction, session_window(ts, '1 second') HAVING COUNT(*) > 1"),
    _shape("by_session_of_rest", "SELECT k, session_window(ts, '2 seconds') AS a, COUNT(*) AS n FROM "
           "(SELECT ts, bidder AS k FROM bids [RANGE 9 SECONDS] EXCEPT SELECT ts, seller AS k FROM asks [RANGE 5 SECONDS]) "
           "GROUP BY k, session_window(ts, '2 seconds')"),
    _shape("session_filtered", "SELECT bidder FROM bids [PARTITION BY bidder SESSION GAP 3 SECONDS] WHERE bidder <> 'ann'"),
    _shape("group", "SELECT auction, COUNT(*) AS n, SUM(price) AS s, AVG(price) AS a, MIN(price) AS lo, MAX(bidder) AS hi "
           "FROM bids [RANGE 8 SECONDS] GROUP BY auction"),
    _shape("null_keys", "SELECT bidder, tag, COUNT(*) AS n, COUNT(price) AS p FROM bids [RANGE 8 SECONDS] GROUP BY bidder, tag"),
    _shape("having", "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 10 SECONDS] GROUP BY bidder HAVING COUNT(*) > 2"),
    _shape("group_expression", "SELECT auction % 2 AS odd, COUNT(*) AS n FROM bids [RANGE 6 SECONDS] GROUP BY auction % 2"),
    _shape("total", "SELECT COUNT(*) AS n, SUM(price) AS s, MAX(price) AS m FROM bids [RANGE 6 SECONDS]"),
    _shape("total_filtered", "SELECT COUNT(*) AS n, AVG(price) AS a FROM bids [RANGE 3 SECONDS] WHERE auction = 2"),
    _shape("total_of_nothing", "SELECT COUNT(*) AS n, MAX(price) AS m FROM bids [RANGE 3 SECONDS] WHERE auction = 77"),
    _shape("decimals", "SELECT seller, SUM(amount) AS s, AVG(amount) AS a, MIN(day) AS d, MAX(hot) AS h, COUNT(hot) AS n "
           "FROM asks [RANGE 7 SECONDS] GROUP BY seller"),
    _shape("join", "SELECT b.bidder, a.seller, b.price FROM bids [RANGE 5 SECONDS] b JOIN asks [RANGE 8 SECONDS] a "
           "ON b.auction = a.auction"),
    _shape("join_more", "SELECT b.bidder, a.amount FROM bids [RANGE 6 SECONDS] b, asks [RANGE 6 SECONDS] a "
           "WHERE b.auction = a.auction AND b.price < a.amount AND a.hot"),
    _shape("join_strings", "SELECT b.auction, a.auction AS other FROM bids [RANGE 6 SECONDS] b JOIN asks [RANGE 6 SECONDS] a "
           "ON b.bidder = a.seller"),
    _shape("self_join", "SELECT x.bidder AS first, y.bidder AS second FROM bids [RANGE 4 SECONDS] x "
           "JOIN bids [RANGE 4 SECONDS] y ON x.auction = y.auction AND x.price < y.price"),
    _shape("self_join_windows", "SELECT x.auction, x.price, y.price AS before FROM bids [NOW] x "
           "JOIN bids [RANGE 6 SECONDS] y ON x.bidder = y.bidder"),
    _shape("cross", "SELECT b.auction, a.seller FROM bids [RANGE 1 SECOND] b CROSS JOIN asks [RANGE 1 SECOND] a"),
    _shape("three_way", "SELECT b.bidder, a.seller, q.n FROM bids [RANGE 6 SECONDS] b JOIN asks [RANGE 6 SECONDS] a "
           "ON b.auction = a.auction JOIN quiet [RANGE 20 SECONDS] q ON q.auction = a.auction"),
    _shape("three_way_keys", "SELECT b.bidder, a.seller, c.auction FROM bids [RANGE 5 SECONDS] b JOIN asks [RANGE 5 SECONDS] a "
           "ON b.auction = a.auction JOIN bids [RANGE 3 SECONDS] c ON c.bidder = a.seller"),
    _shape("table_join", "SELECT s.region, a.amount FROM asks [RANGE 6 SECONDS] a JOIN sellers s ON a.seller = s.seller"),
    _shape("table_group", "SELECT s.region, COUNT(*) AS n, SUM(a.amount) AS s FROM asks [RANGE 9 SECONDS] a "
           "JOIN sellers s ON a.seller = s.seller GROUP BY s.region"),
    _shape("join_group", "SELECT a.seller, COUNT(*) AS n, SUM(b.price) AS s FROM bids [RANGE 6 SECONDS] b "
           "JOIN asks [RANGE 9 SECONDS] a ON b.auction = a.auction GROUP BY a.seller"),
    _shape("join_total", "SELECT COUNT(*) AS n, MIN(b.price) AS lo FROM bids [RANGE 6 SECONDS] b "
           "JOIN asks [RANGE 6 SECONDS] a ON b.auction = a.auction"),
    _shape("join_rows", "SELECT b.bidder, a.seller FROM bids [ROWS 4] b JOIN asks [RANGE 8 SECONDS] a ON b.auction = a.auction"),
    _shape("join_rows_rows", "SELECT b.price, a.amount FROM bids [ROWS 5] b JOIN asks [PARTITION BY auction ROWS 1] a "
           "ON b.auction = a.auction"),
    _shape("slide_join", "SELECT b.bidder, a.seller FROM bids [RANGE 8 SECONDS SLIDE 4 SECONDS] b "
           "JOIN asks [RANGE 6 SECONDS] a ON b.auction = a.auction"),
    _shape("view_on_view", "SELECT auction, COUNT(*) AS n FROM bids [RANGE 8 SECONDS] GROUP BY auction",
           "SELECT n, COUNT(*) AS auctions FROM INNER GROUP BY n"),
    _shape("view_join", "SELECT auction, MAX(price) AS best FROM bids [RANGE 8 SECONDS] GROUP BY auction",
           "SELECT b.bidder, v.best FROM bids [RANGE 5 SECONDS] b JOIN INNER v ON b.auction = v.auction AND b.price = v.best"),
    _shape("window_on_view", "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 5 SECONDS] GROUP BY bidder",
           "SELECT bidder, n FROM INNER [RANGE 3 SECONDS] WHERE n > 1"),
    _shape("rows_on_view", "SELECT bidder, COUNT(*) AS n FROM bids [RANGE 5 SECONDS] GROUP BY bidder",
           "SELECT * FROM INNER [ROWS 3]"),
    _shape("nested", "SELECT tag, MAX(n) AS most FROM (SELECT tag, bidder, COUNT(*) AS n FROM bids [RANGE 7 SECONDS] "
           "GROUP BY tag, bidder) GROUP BY tag"),
    _shape("total_of_view", "SELECT bidder, SUM(price) AS s FROM bids [RANGE 5 SECONDS] GROUP BY bidder",
           "SELECT COUNT(*) AS n, MAX(s) AS top FROM INNER"),
    _shape("shared_window", "SELECT b.bidder, a.seller FROM bids b JOIN asks a ON b.auction = a.auction WINDOW 4 SECONDS"),
)


OPERATORS = (
    _shape("distinct_rows", "SELECT DISTINCT bidder, tag FROM bids [RANGE 6 SECONDS]"),
    _shape("union_all", "SELECT bidder AS who FROM bids [RANGE 4 SECONDS] UNION ALL SELECT seller FROM asks [RANGE 7 SECONDS]"),
    _shape("union_rows", "SELECT bidder AS who FROM bids [RANGE 4 SECONDS] UNION SELECT seller FROM asks [ROWS 5]"),
    _shape("intersect_rows", "SELECT bidder AS who FROM bids [RANGE 4 SECONDS] INTERSECT SELECT seller FROM asks [RANGE 7 SECONDS]"),
    _shape("intersect_all", "SELECT auction FROM bids [RANGE 6 SECONDS] INTERSECT ALL SELECT auction FROM asks [RANGE 6 SECONDS]"),
    _shape("except_rows", "SELECT bidder AS who FROM bids [RANGE 9 SECONDS] EXCEPT SELECT seller FROM asks [RANGE 4 SECONDS]"),
    _shape("except_all", "SELECT auction FROM bids [RANGE 6 SECONDS] EXCEPT ALL SELECT auction FROM asks [RANGE 6 SECONDS]"),
    _shape("negation", "SELECT * FROM bids [RANGE 8 SECONDS] b MINUS asks [RANGE 5 SECONDS] a ON b.bidder = a.seller"),
    _shape("left_join", "SELECT b.bidder, b.auction, a.seller FROM bids [RANGE 4 SECONDS] b "
           "LEFT JOIN asks [RANGE 5 SECONDS] a ON b.auction = a.auction AND b.price < a.amount"),
    _shape("right_join", "SELECT b.bidder, a.seller FROM bids [RANGE 2 SECONDS] b RIGHT JOIN asks [RANGE 5 SECONDS] a "
           "ON b.bidder = a.seller"),
    _shape("full_join", "SELECT b.bidder, a.seller, a.amount FROM bids [RANGE 3 SECONDS] b "
           "FULL OUTER JOIN asks [RANGE 3 SECONDS] a ON b.bidder = a.seller"),
    _shape("semi_in", "SELECT bidder, price FROM bids [RANGE 6 SECONDS] WHERE bidder IN (SELECT seller FROM asks [RANGE 4 SECONDS])"),
    _shape("anti_not_in", "SELECT bidder, price FROM bids [RANGE 6 SECONDS] "
           "WHERE auction NOT IN (SELECT auction FROM quiet [RANGE 9 SECONDS])"),
    _shape("semi_exists", "SELECT b.bidder, b.price FROM bids [RANGE 6 SECONDS] b "
           "WHERE EXISTS (SELECT 1 FROM asks [RANGE 5 SECONDS] a WHERE a.auction = b.auction AND a.amount > b.price)"),
    _shape("anti_exists", "SELECT b.bidder, b.auction FROM bids [ROWS 6] b "
           "WHERE NOT EXISTS (SELECT 1 FROM asks [RANGE 5 SECONDS] a WHERE a.auction = b.auction)"),
    _shape("tied_value", "SELECT b.bidder, (SELECT COUNT(*) FROM asks [RANGE 5 SECONDS] a WHERE a.auction = b.auction "
           "AND a.amount > b.price) AS n FROM bids [RANGE 4 SECONDS] b"),
    _shape("tied_below_union", "SELECT b.auction, (SELECT MAX(q.x) FROM (SELECT a.auction AS x FROM asks [RANGE 5 SECONDS] a "
           "WHERE a.seller = b.bidder UNION ALL SELECT n FROM quiet [ROWS 2] WHERE auction <= b.auction) q) AS m "
           "FROM bids [RANGE 4 SECONDS] b"),
    _shape("lateral", "SELECT b.bidder, l.seller FROM bids [RANGE 3 SECONDS] b LEFT JOIN LATERAL (SELECT a.seller "
           "FROM asks [RANGE 5 SECONDS] a WHERE a.auction <=> b.auction ORDER BY a.amount DESC, a.seller LIMIT 1) l ON true"),
    _shape("not_in_or", "SELECT auction, bidder FROM bids [RANGE 4 SECONDS] b WHERE price > 3 OR bidder NOT IN "
           "(SELECT seller FROM asks [RANGE 4 SECONDS] a WHERE a.auction = b.auction)"),
    _shape("listed_in_order", "SELECT auction, STRING_AGG(bidder, ',' ORDER BY price DESC) AS l, MODE(tag) AS m "
           "FROM bids [RANGE 6 SECONDS] GROUP BY auction"),
    _shape("band", "SELECT b.bidder, a.seller FROM bids [RANGE 9 SECONDS] b JOIN asks [RANGE 9 SECONDS] a "
           "ON b.auction = a.auction AND a.ts BETWEEN b.ts - INTERVAL 2 SECONDS AND b.ts"),
    _shape("top_rows", "SELECT bidder, price FROM bids [RANGE 6 SECONDS] ORDER BY price DESC, bidder LIMIT 3"),
    _shape("top_per_group", "SELECT auction, bidder, price FROM (SELECT auction, bidder, price, "
           "ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, bidder) AS rn FROM bids [RANGE 8 SECONDS]) WHERE rn <= 2"),
    _shape("count_distinct", "SELECT auction, COUNT(DISTINCT bidder) AS n, SUM(DISTINCT price) AS s FROM bids [RANGE 7 SECONDS] "
           "GROUP BY auction"),
    _shape("spread", "SELECT auction, VAR_POP(price) AS v, STDDEV(price) AS d, MEDIAN(price) AS m FROM bids [RANGE 7 SECONDS] "
           "GROUP BY auction"),
    _shape("moments", "SELECT auction, SKEWNESS(price) AS s, KURTOSIS(price) AS k, COUNT(*) AS n FROM bids [RANGE 7 SECONDS] "
           "GROUP BY auction"),
    _shape("filtered_calls", "SELECT COUNT(*) FILTER (WHERE price > 2) AS high, SUM(price) FILTER (WHERE tag = 'x') AS s "
           "FROM bids [RANGE 7 SECONDS]"),
    _shape("booleans", "SELECT seller, BOOL_AND(hot) AS every, BOOL_OR(hot) AS some FROM asks [RANGE 7 SECONDS] GROUP BY seller"),
    _shape("departures", "SELECT bidder, price FROM bids [RANGE 4 SECONDS]", "SELECT * FROM DSTREAM(INNER) [RANGE 3 SECONDS]"),
    _shape("every_period", "SELECT auction, COUNT(*) AS n FROM bids [RANGE 6 SECONDS] GROUP BY auction EMIT EVERY 5 SECONDS"),
    _shape("recent", "SELECT b.bidder, a.seller FROM bids b FOLLOWED BY asks a USING RECENT ON b.auction = a.auction WITHIN 6 SECONDS "
           "[RANGE 5 SECONDS]"),
    _shape("chronicle", "SELECT b.bidder, a.seller FROM bids b FOLLOWED BY asks a USING CHRONICLE ON b.auction = a.auction "
           "WITHIN 6 SECONDS [RANGE 5 SECONDS]"),
    _shape("table_union", "SELECT region FROM sellers UNION SELECT bidder FROM bids [RANGE 4 SECONDS]"),
    _shape("table_left", "SELECT s.seller, b.price FROM sellers s LEFT JOIN bids [RANGE 3 SECONDS] b ON s.seller = b.bidder"),
    _shape("two_totals", "SELECT MIN(price) AS m FROM bids [RANGE 4 SECONDS] UNION ALL SELECT COUNT(*) FROM quiet [RANGE 4 SECONDS]"),
    _shape("texts", "SELECT tag, STRING_AGG(bidder, '+') AS who, MAX_BY(bidder, price) AS best FROM bids [RANGE 6 SECONDS] GROUP BY tag"),
    _shape("deep", "SELECT who, COUNT(*) AS n FROM (SELECT bidder AS who FROM bids [RANGE 6 SECONDS] EXCEPT "
           "SELECT seller FROM asks [RANGE 3 SECONDS]) GROUP BY who",
           "SELECT b.price, v.n FROM bids [ROWS 4] b LEFT JOIN INNER v ON b.bidder = v.who"),
)

OVER = (
    _shape("over_running", "SELECT auction, bidder, price, SUM(price) OVER w AS s, COUNT(*) OVER w AS n, RANK() OVER w AS r, "
           "DENSE_RANK() OVER w AS d, PERCENT_RANK() OVER w AS p, CUME_DIST() OVER w AS c "
           "FROM bids [RANGE 6 SECONDS] WINDOW w AS (PARTITION BY auction ORDER BY price DESC)"),
    _shape("over_rows", "SELECT bidder, price, AVG(price) OVER w AS a, MIN(tag) OVER w AS t, FIRST_VALUE(price) OVER w AS f, "
           "LAST_VALUE(tag) OVER w AS l FROM bids [RANGE 7 SECONDS] "
           "WINDOW w AS (PARTITION BY bidder ORDER BY price, ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)"),
    _shape("over_neighbours", "SELECT ts, price - LAG(price, 1, 0) OVER (PARTITION BY tag ORDER BY ts) AS step, "
           "LEAD(bidder, 2) OVER (PARTITION BY tag ORDER BY ts) AS later FROM bids [ROWS 9]"),
    _shape("over_everything", "SELECT seller, amount, MAX(amount) OVER () AS m, COUNT(hot) FILTER (WHERE hot) OVER () AS h, "
           "NTILE(3) OVER (ORDER BY day, amount) AS part FROM asks [RANGE 5 SECONDS]"),
    _shape("over_ranges", "SELECT bidder, SUM(auction) OVER (PARTITION BY bidder ORDER BY ts RANGE BETWEEN INTERVAL 2 SECONDS "
           "PRECEDING AND CURRENT ROW) AS near, COUNT(*) OVER (ORDER BY auction DESC RANGE BETWEEN 1 FOLLOWING AND "
           "UNBOUNDED FOLLOWING) AS below FROM bids [RANGE 8 SECONDS]"),
    _shape("over_groups", "SELECT auction, SUM(price) AS s, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, "
           "SUM(SUM(price)) OVER () AS total FROM bids [RANGE 6 SECONDS] GROUP BY auction"),
    _shape("over_qualified", "SELECT auction, bidder, price FROM bids [RANGE 6 SECONDS] "
           "QUALIFY RANK() OVER (PARTITION BY auction ORDER BY price DESC) = 1 AND COUNT(*) OVER (PARTITION BY auction) > 1"),
    _shape("over_all_numbers", "SELECT bidder, price, ROW_NUMBER() OVER (ORDER BY price, bidder, ts) AS n FROM bids [RANGE 3 SECONDS]"),
)

AS_OF = (
    _shape("as_of", "SELECT b.bidder, b.price, a.seller, a.amount FROM bids [RANGE 5 SECONDS] b ASOF JOIN asks [RANGE 8 SECONDS] a "
           "ON b.auction = a.auction AND b.ts >= a.ts"),
    _shape("as_of_left", "SELECT b.ts, b.auction, a.seller FROM bids [RANGE 5 SECONDS] b ASOF LEFT JOIN asks [RANGE 4 SECONDS] a "
           "ON b.auction = a.auction AND b.ts < a.ts"),
    _shape("as_of_names", "SELECT b.bidder, a.seller, a.day FROM bids [ROWS 7] b ASOF LEFT JOIN asks [RANGE 9 SECONDS] a "
           "ON a.seller > b.bidder"),
    _shape("as_of_signed", "SELECT auction, MAX(price) AS best FROM bids [RANGE 8 SECONDS] GROUP BY auction",
           "SELECT b.bidder, b.price, v.auction, v.best FROM bids [RANGE 5 SECONDS] b ASOF JOIN INNER v ON b.price <= v.best"),
)

NOW = (
    _shape("now_recent", "SELECT bidder, price FROM bids WHERE ts > NOW() - INTERVAL 4 SECONDS AND price > 1"),
    _shape("now_later", "SELECT seller, amount FROM asks [RANGE 9 SECONDS] "
           "WHERE ts BETWEEN CURRENT_TIMESTAMP - INTERVAL 6 SECONDS AND NOW() - INTERVAL 2 SECONDS"),
    _shape("now_counts", "SELECT auction, COUNT(*) AS n, SUM(CASE WHEN NOW() - ts <= INTERVAL 3 SECONDS THEN 1 ELSE 0 END) AS fresh "
           "FROM bids [RANGE 7 SECONDS] GROUP BY auction"),
    _shape("now_groups", "SELECT bidder, MAX(ts) AS last FROM bids [ROWS 8] GROUP BY bidder HAVING MAX(ts) < NOW() - INTERVAL 5 SECONDS"),
    _shape("now_join", "SELECT b.bidder, a.seller FROM bids [RANGE 9 SECONDS] b JOIN asks [RANGE 9 SECONDS] a "
           "ON b.auction = a.auction AND b.ts >= NOW() - INTERVAL 3 SECONDS AND a.day <= CURRENT_DATE"),
    _shape("now_days", "SELECT seller, day FROM asks [RANGE 9 SECONDS] "
           "WHERE day = CURRENT_DATE OR DATEDIFF(CURRENT_DATE, day) < amount - 3 OR ts >= DATE_TRUNC('minute', NOW() - INTERVAL 2 SECONDS)"),
    _shape("now_numbers", "SELECT auction, n FROM quiet WHERE UNIX_MILLIS(NOW() - INTERVAL 2 SECONDS) >= UNIX_MILLIS(ts) "
           "AND UNIX_MILLIS(NOW() - INTERVAL 6 SECONDS) <= UNIX_MILLIS(ts) + 0.5 AND UNIX_MICROS(NOW() - INTERVAL 9 SECONDS) < UNIX_MICROS(ts)"),
)

TICKS = (
    _shape("ticks", "SELECT bidder, price * 2 AS p, SECOND(NOW() + INTERVAL 250 MILLISECONDS) AS s, CURRENT_DATE AS d FROM bids [ROWS 4] WHERE price > 1"),
    _shape("tick_groups", "SELECT auction, SECOND(NOW()) % 3 AS part, COUNT(*) AS n, SUM(amount) AS s FROM asks [RANGE 7 SECONDS] "
           "GROUP BY auction, SECOND(NOW()) % 3 HAVING COUNT(*) + SECOND(NOW()) % 2 > 1"),
    _shape("tick_join", "SELECT b.bidder, a.seller FROM bids [RANGE 6 SECONDS] b LEFT JOIN asks [RANGE 6 SECONDS] a "
           "ON b.auction = a.auction AND (SECOND(NOW()) + a.auction) % 3 = 0 AND b.ts >= NOW() - INTERVAL 4 SECONDS"),
    _shape("tick_table", "SELECT s.region, SECOND(NOW()) % 5 AS t, COUNT(a.seller) AS n FROM sellers s "
           "LEFT JOIN asks [RANGE 4 SECONDS] a ON s.seller = a.seller GROUP BY s.region, SECOND(NOW()) % 5"),
    _shape("tick_stream", "SELECT auction, COUNT(*) AS n, SECOND(NOW()) % 4 AS t FROM bids [RANGE 3 SECONDS] GROUP BY auction",
           "SELECT auction, t, SUM(n) AS n FROM INNER [RANGE 4 SECONDS] GROUP BY auction, t"),
)

ARRAYS = (
    _shape("arrays", "SELECT auction, ARRAY_AGG(price) AS p, ARRAY_AGG(DISTINCT bidder) AS b, COLLECT_LIST(tag) AS t, "
           "ARRAY_AGG(bidder) FILTER (WHERE price > 2) AS f FROM bids [RANGE 6 SECONDS] GROUP BY auction"),
    _shape("array_keys", "SELECT auction, ARRAY_AGG(seller ORDER BY amount DESC, seller) AS l, MAX(ARRAY[COALESCE(amount, 0), 1]) AS m "
           "FROM asks [RANGE 7 SECONDS] GROUP BY auction", "SELECT l, COUNT(*) AS n, MIN(m) AS m FROM INNER GROUP BY l"),
    _shape("unnested", "SELECT tag, ARRAY_AGG(bidder ORDER BY price) AS l FROM bids [RANGE 6 SECONDS] GROUP BY tag",
           "SELECT v.tag, u.who, v.l[0] AS first, COUNT(*) AS n FROM INNER v, UNNEST(v.l) AS u(who) GROUP BY v.tag, u.who, v.l[0]"),
    _shape("series", "SELECT b.bidder, g.n, a.seller FROM bids [RANGE 4 SECONDS] b CROSS JOIN GENERATE_SERIES(1, b.auction % 4) AS g(n) "
           "JOIN asks [RANGE 5 SECONDS] a ON a.auction = g.n"),
    _shape("inside_arrays", "SELECT b.auction, (SELECT SUM(u.x) FROM UNNEST(ARRAY[b.price, b.auction]) AS u(x) WHERE u.x > 1) AS s "
           "FROM bids [RANGE 3 SECONDS] b"),
)

SPREAD = (
    _shape("now_groups_of_pairs", "SELECT b.auction, MAX(a.auction + a.amount) AS m FROM bids [PARTITION BY bidder ROWS 1] b "
           "JOIN (SELECT auction, amount FROM asks [RANGE 9 SECONDS] WHERE ts > NOW() - INTERVAL 4 SECONDS) a "
           "ON b.auction = a.auction GROUP BY b.auction"),
)

SHAPES = BASIC + OPERATORS + OVER + AS_OF + NOW + TICKS + ARRAYS + SPREAD  # what is new comes last: some tests take every fourth


def make_rows(seed: int, count: int) -> dict[str, list[tuple[object, ...]]]:
    """Rows of all streams, in the order of their sources. Prices are multiples of 1/4, so that sums are exact everywhere."""
    chance = random.Random(seed)
    names = [None, "ann", "bob", "cleo", ""]
    bids, asks, quiet = [], [], []
    now = 0.0
    for _ in range(count):
        now += chance.choice([0, 0, 0, 1, 1, 2, 5])
        price = chance.choice([None, *(quarter / 4 for quarter in range(1, 17))])
        at = EPOCH + timedelta(seconds=now)
        bids.append((at, chance.choice([None, 1, 2, 3]), chance.choice(names), price, chance.choice(["x", "y", None])))
        late = chance.choice([0, 0, 0, 1, 3, 3, 9])  # 9 is later than the delay
        amount = chance.choice([None, Decimal("1.25"), Decimal("2.50"), Decimal("3.10")])
        day = chance.choice([None, EPOCH.date(), (EPOCH + timedelta(days=3)).date()])
        hot = chance.choice([None, True, False])
        at = EPOCH + timedelta(seconds=now - late)
        asks.append((at, chance.choice([None, 1, 2]), chance.choice(names[:4]), amount, day, hot))
        if chance.random() < 0.1:
            quiet.append((EPOCH + timedelta(seconds=now), chance.choice([1, 2]), chance.randint(0, 3)))
    sellers = [("ann", "north"), ("bob", "south"), ("bob", "south"), (None, "nowhere")]
    return {"bids": bids, "asks": asks, "quiet": quiet, "sellers": sellers}


INPUTS = {
    "many": make_rows(1, 60),
    "empty": {"bids": [], "asks": [], "quiet": [], "sellers": []},
    "one": {**make_rows(2, 1), "quiet": []},
}


@cache
def recomputed(shape: Shape, name: str) -> Oracle:
    """What DuckDB says of a shape over an input, for all laws that ask for it in this process."""
    return Oracle(STREAMS + shape.sql, INPUTS[name])


def in_one_process(shapes: Sequence[Shape]) -> pytest.MarkDecorator:
    """Test every shape, with the other tests of it that are marked so in the same process: what is recomputed is shared."""
    values = [pytest.param(shape, marks=pytest.mark.xdist_group(f"the shape {shape.name}")) for shape in shapes]
    return pytest.mark.parametrize("shape", values, ids=[shape.name for shape in shapes])
