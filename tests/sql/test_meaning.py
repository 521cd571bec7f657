"""Plans mean what the SQL means: carried out naively over small tables, they give what DuckDB gives for its text.

Every window is unbounded here; what windows hold is not the binder's business.
"""

from collections import Counter
from itertools import product

import duckdb
import pyarrow as pa
import pytest

from sash.logical.nodes import Aggregate, Filter, Function, Join, Project, Scan, Window
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.sql.binder import bind
from sash.sql.oracle_sql import duckdb_query
from sash.sql.parse import parse_query_text

ROWS = {
    "bids": [(n, n % 4, "abc"[n % 3] if n % 5 else None, n * 0.5) for n in range(12)],
    "auctions": [(n, n, "bcd"[n % 3], n % 2 if n else None) for n in range(5)],
    "people": [("a", "x"), ("b", "y"), ("b", None), (None, "z")],
}

QUERIES = [
    "SELECT * FROM bids",
    "SELECT price * 2 AS p, auction DIV 2 AS a FROM bids WHERE price > 1 AND (bidder = 'a' OR bidder IS NULL)",
    "SELECT b.price, a.seller FROM bids b JOIN auctions a ON b.auction = a.id",
    "SELECT b.price, p.city, a.id FROM bids b, people p, auctions a WHERE b.auction = a.id AND p.name = a.seller",
    "SELECT a.id, p.city, b.price FROM people p, bids b, auctions a WHERE p.name = a.seller AND b.auction = a.category",
    "SELECT a.id, b.price FROM auctions a JOIN bids b ON a.id + 1 = b.auction AND a.category < b.price",
    "SELECT x.price, y.price AS q FROM bids x, bids y WHERE x.bidder = y.bidder AND x.price < y.price",
    "SELECT * FROM (SELECT bidder, price FROM bids) a JOIN (SELECT name AS bidder, city FROM people) b USING (bidder)",
    "SELECT bidder, city, name FROM (SELECT name, city FROM people) JOIN bids ON name = bidder WHERE city IS NOT NULL",
    "SELECT p.name, q.city FROM people p CROSS JOIN people q",
    "SELECT b.price FROM bids b JOIN auctions a ON b.auction + a.id = 3",
    "SELECT bidder, COUNT(*) AS n, SUM(price) AS s, MIN(auction) AS m FROM bids GROUP BY bidder",
    "SELECT SUM(price) / COUNT(*) + MAX(auction) AS x, AVG(price) AS y FROM bids",
    "SELECT COUNT(*) AS n, MAX(price) AS m FROM bids WHERE price > 100",
    "SELECT auction % 2 AS odd, COUNT(bidder) AS n FROM bids GROUP BY auction % 2 HAVING COUNT(*) > 1 AND odd = 0",
    "SELECT auction % 2 + 1 AS x, auction AS y FROM bids GROUP BY auction, 1",
    "SELECT MAX(n) AS most FROM (SELECT bidder, COUNT(*) AS n FROM bids GROUP BY bidder) t",
    "SELECT a.seller, COUNT(*) AS n FROM bids b JOIN auctions a ON b.auction = a.id GROUP BY a.seller HAVING n > 2",
    "WITH t(k, n) AS (SELECT bidder, COUNT(*) FROM bids GROUP BY 1) SELECT city, n FROM people, t WHERE t.k = name",
    "SELECT n, bidder, city FROM counts, people WHERE bidder = name",
    "SELECT price AS bidder, bidder AS price FROM bids WHERE price > 2",
    "SELECT CASE WHEN price > 2 THEN 'big' WHEN price > 1 THEN 'small' END AS size FROM bids",
]


def carry_out(plan, tables):
    """The rows of a plan, in the slowest way."""
    if isinstance(plan, Scan):
        return tables[plan.name]
    if isinstance(plan, Window):
        return carry_out(plan.input, tables)
    if isinstance(plan, Filter):
        rows = carry_out(plan.input, tables)
        return [row for row, (keep,) in zip(rows, computed([plan.predicate], rows, plan.schema), strict=True) if keep]
    if isinstance(plan, Project):
        return computed(plan.expressions, carry_out(plan.input, tables), plan.input.schema)
    if isinstance(plan, Join):
        return joined(plan, carry_out(plan.left, tables), carry_out(plan.right, tables))
    return grouped(plan, carry_out(plan.input, tables))


def computed(expressions, rows, schema):
    columns = {n: pa.array([row[n] for row in rows], type_.arrow) for n, type_ in enumerate(schema.types)}
    results = [evaluate(expression, columns, len(rows), Failures()).to_pylist() for expression in expressions]
    return list(zip(*results, strict=True))


def joined(plan, left, right):
    for one, other in zip(plan.left_keys, plan.right_keys, strict=True):
        assert plan.left.schema.types[one] == plan.right.schema.types[other]
    keys = list(zip(plan.left_keys, plan.right_keys, strict=True))
    pairs = [a + b for a, b in product(left, right) if all(a[x] is not None and a[x] == b[y] for x, y in keys)]
    if plan.residual is None:
        return pairs
    kept = computed([plan.residual], pairs, plan.schema)
    return [row for row, (keep,) in zip(pairs, kept, strict=True) if keep]


def grouped(plan: Aggregate, rows):
    groups = {tuple(row[key] for key in plan.keys): [] for row in rows} if plan.keys else {(): []}
    for row in rows:
        groups[tuple(row[key] for key in plan.keys)].append(row)
    return [key + tuple(called(call, group) for call in plan.calls) for key, group in groups.items()]


def called(call, rows):
    values = [1 if call.argument is None else row[call.argument] for row in rows]
    values = [value for value in values if value is not None]
    if call.function is Function.COUNT:
        return len(values)
    if not values:
        return None
    means = {Function.SUM: sum, Function.MIN: min, Function.MAX: max, Function.AVG: lambda v: sum(v) / len(v)}
    return means[call.function](values)


@pytest.fixture
def tables(catalog):
    """Rows by stream; timestamps are seconds since the epoch."""
    arrow = {}
    for name, rows in ROWS.items():
        schema = catalog.streams[name].schema
        scaled = [(row[0] * 1_000_000, *row[1:]) if schema.names[0] == "ts" else row for row in rows]
        columns = zip(zip(*scaled, strict=True), schema.types, strict=True)
        arrow[name] = pa.table([pa.array(column, type_.arrow) for column, type_ in columns], schema=schema.arrow)
    return arrow


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_plan_gives_what_duckdb_gives(sql, catalog, tables):
    query = parse_query_text(sql)
    own = carry_out(bind(query, catalog), {name: rows_of(table) for name, table in tables.items()})
    text = duckdb_query(query, catalog)
    connection = duckdb.connect()
    for item in text.inputs:
        connection.register(f"input_{item.position}", tables.get(item.name) or counted(tables["bids"]))
    theirs = connection.execute(text.sql).fetchall()
    assert Counter(own) == Counter(theirs)
    assert own or "> 100" in sql


def counted(bids):
    """What the view `counts` shows."""
    connection = duckdb.connect().register("bids", bids)
    return connection.sql("SELECT bidder, COUNT(*) AS n FROM bids GROUP BY bidder").to_arrow_table()
