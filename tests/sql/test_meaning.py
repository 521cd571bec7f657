"""Plans mean what the SQL means: carried out naively over small tables, they give what DuckDB gives for its text.

Every window is unbounded here; what windows hold is not the binder's business.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sash.sql.bind import bind
from sash.sql.define import define
from sash.sql.syntax.parse import parse_query_text, parse_statements
from sash.testing.comparing import same_rows
from sash.testing.duckdb_sql.query import duckdb_query
from sash.testing.recompute import Duck
from sash.testing.values import fit

from .reference import carry_out

ROWS = {
    "bids": [(n, n % 4, "abc"[n % 3] if n % 5 else None, n * 0.5) for n in range(12)],
    "auctions": [(n, n, "bcd"[n % 3], n % 2 if n else None) for n in range(5)],
    "people": [("a", "x"), ("b", "y"), ("b", None), (None, "z")],
}

QUERIES = [statement.source.sql for statement in parse_statements((Path(__file__).parent / "queries.sql").read_text())]
MACROS = "CREATE AGGREGATE rms(x DOUBLE) RETURNS DOUBLE AS SQRT(SUM(x * x) / COUNT(x))"
EMPTY = ("> 100", "bidder NOT IN (SELECT name FROM people)", "price > id")  # what a query has that gives no rows


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
    for statement in parse_statements(MACROS):
        define(statement, catalog)
    query = parse_query_text(sql)
    plan = bind(query, catalog)
    own = carry_out(plan, {name: rows_of(table) for name, table in tables.items()})
    text = duckdb_query(query, catalog)
    inputs = [tables.get(item.name) or counted(tables["bids"]) for item in text.inputs]
    theirs = Duck().run(text.sql, inputs)
    fitted = [tuple(fit(value, type_) for value, type_ in zip(row, plan.schema.types, strict=True)) for row in theirs]
    assert same_rows(fitted, own)
    assert own or any(reason in sql for reason in EMPTY)


def counted(bids):
    """What the view `counts` shows."""
    connection = duckdb.connect().register("bids", bids)
    return connection.sql("SELECT bidder, COUNT(*) AS n FROM bids GROUP BY bidder").to_arrow_table()
