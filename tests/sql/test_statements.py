"""Statements: what is read from the text, and what it does to the catalog."""

from datetime import datetime

import pytest

from sash.errors import SqlError
from sash.plan.streams import Stamp, StreamSpec, Updates
from sash.scalar.nodes import Call, Column, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, SECOND, STRING, TIMESTAMP, decimal, schema
from sash.sql.bind import bind, bind_change
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows
from sash.sql.define import define
from sash.sql.syntax.parse import parse_query_text, parse_statements
from sash.sql.syntax.statements import (
    Advance,
    CreateAggregate,
    CreateStream,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Query,
    Show,
    Update,
)


def only(text):
    (statement,) = parse_statements(text)
    return statement


def test_a_stream_with_everything():
    statement = only("""
        CREATE STREAM IF NOT EXISTS conn (`the time` TIMESTAMP, bytes LONG) -- a comment
          TIMESTAMP BY `The Time` DELAY 1.5 SECONDS IDLE AFTER 5 MINUTES
          WITH (Format = 'csv', path = 'a;b.csv', kafka.topic = "x")
    """)
    assert isinstance(statement, CreateStream)
    assert statement.if_not_exists
    assert statement.spec == StreamSpec(
        "conn",
        schema(("the time", TIMESTAMP), ("bytes", BIGINT)),
        Stamp.EXTERNAL,
        0,
        1_500_000,
        300 * SECOND,
        options=(("format", "csv"), ("path", "a;b.csv"), ("kafka.topic", "x")),
    )


@pytest.mark.parametrize(
    ("clause", "stamp"),
    [("", Stamp.INTERNAL), ("TIMESTAMP INTERNAL", Stamp.INTERNAL), ("TIMESTAMP LATENT", Stamp.LATENT)],
)
def test_timestamps_that_rows_do_not_carry(clause, stamp):
    spec = only(f"CREATE STREAM s (a INT) {clause}").spec
    assert (spec.stamp, spec.timestamp) == (stamp, None)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", Updates.RETROACTIVE),
        ("WITH (path = 'x')", Updates.NEVER),
        ("RETROACTIVE WITH (path = 'x')", Updates.RETROACTIVE),
        ("NON RETROACTIVE", Updates.NON_RETROACTIVE),
    ],
)
def test_tables(clause, expected):
    spec = only(f"create table t (a int) {clause}").spec
    assert spec.is_table
    assert spec.updates is expected


def test_types():
    written = {
        BOOLEAN: "BOOLEAN",
        INT: "INT INTEGER",
        BIGINT: "BIGINT LONG",
        DOUBLE: "DOUBLE",
        STRING: "STRING VARCHAR(10) CHAR(3) TEXT varchar",
        TIMESTAMP: "TIMESTAMP TIMESTAMP_NTZ DATETIME",
        DATE: "DATE",
        decimal(10, 0): "DECIMAL NUMERIC DECIMAL(10)",
        decimal(12, 2): "DECIMAL(12,2) numeric(12,2)",
    }
    for type_, names in written.items():
        for name in names.split():
            assert only(f"CREATE STREAM s (a {name})").spec.schema.types == (type_,)


@pytest.mark.parametrize("name", ["FLOAT", "REAL", "TINYINT", "SMALLINT", "BYTE", "SHORT", "ARRAY<SMALLINT>", "float[]"])
def test_narrow_types_are_refused_and_not_something_else(name):
    with pytest.raises(SqlError, match=r"is not a type of Sash; use (INT|DOUBLE), which holds every value") as caught:
        only(f"CREATE STREAM s (a {name})")
    assert caught.value.place is not None


def test_views():
    plain = only("CREATE VIEW v AS SELECT 1 FROM t")
    assert isinstance(plain, CreateView)
    assert not (plain.is_materialized or plain.if_not_exists or plain.or_replace or plain.columns)
    query = "WITH x AS (SELECT 1 FROM t) SELECT * FROM x"
    full = only(f"CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS v (a, `b c`) AS {query}")
    assert full.is_materialized and full.if_not_exists and full.or_replace
    assert [name.text for name in full.columns] == ["a", "b c"]
    assert full.query.source.sql == query


def test_the_rest():
    text = """
      DROP STREAM IF EXISTS s; SHOW VIEWS;; DESCRIBE s; DESC t;
      EXPLAIN SELECT 1 FROM t; EXPLAIN VIEW v; (SELECT 1 FROM t);
    """
    drop, show, described, desc, explained, explained_view, query = parse_statements(text)
    assert isinstance(drop, Drop) and (drop.kind, drop.name.text, drop.if_exists) == ("STREAM", "s", True)
    assert isinstance(show, Show) and show.kind == "VIEWS"
    assert isinstance(described, Describe) and isinstance(desc, Describe) and desc.name.text == "t"
    assert isinstance(explained, Explain) and explained.subject.source.sql == "SELECT 1 FROM t"
    assert isinstance(explained_view, Explain) and explained_view.subject.text == "v"
    assert isinstance(query, Query) and query.source.sql == "(SELECT 1 FROM t)"


@pytest.mark.parametrize("written", ["1970-01-01 00:00:01.5", "1970-01-01T02:00:01.5+02:00"])
def test_advance(written):
    assert only(f"ADVANCE TO '{written}'").time == 1_500_000
    one = only(f"ADVANCE STREAM s TO TIMESTAMP '{written}'")
    assert isinstance(one, Advance) and one.stream.text == "s" and one.time == 1_500_000


def test_nothing_is_no_statement():
    assert parse_statements(" ; -- only a comment\n ; ") == []


def run(catalog, text):
    return [define(statement, catalog) for statement in parse_statements(text)]


def test_if_exists_and_if_not_exists_do_nothing(catalog):
    before = dict(catalog.streams), dict(catalog.views)
    assert run(catalog, "CREATE STREAM IF NOT EXISTS BIDS (a INT); DROP VIEW IF EXISTS nothing;") == [False, False]
    assert run(catalog, "CREATE VIEW IF NOT EXISTS counts AS SELECT nothing FROM nowhere") == [False]
    assert (catalog.streams, catalog.views) == before


def test_a_view_knows_what_it_reads_and_keeps_its_names(catalog):
    run(catalog, "CREATE MATERIALIZED VIEW V (Who, m) AS WITH bids AS (SELECT * FROM counts) SELECT * FROM bids")
    view = catalog.views["v"]
    assert (view.name, view.is_materialized, view.reads) == ("V", True, {"counts"})
    assert view.sql.startswith("WITH bids")
    assert view.plan.schema.names == ("Who", "m")
    assert catalog.dependents("COUNTS") == ["V"]


def test_drop_and_replace(catalog):
    assert run(catalog, "CREATE OR REPLACE VIEW counts AS SELECT name FROM people; DROP STREAM bids") == [True, True]
    assert catalog.views["counts"].plan.schema.names == ("name",)
    assert "bids" not in catalog.streams
    assert run(catalog, "DROP VIEW Counts; DROP TABLE people") == [True, True]
    assert catalog.names() == ["auctions"]


def test_emit_belongs_to_the_query():
    view = only("CREATE VIEW v AS SELECT 1 FROM t WHERE a IN (SELECT 1 FROM u) EMIT EVERY 1.5 SECONDS")
    assert view.query.emit == 1_500_000
    assert view.query.source.sql.endswith("EMIT EVERY 1.5 SECONDS")
    assert only("SELECT emit FROM t").query.emit is None


def test_insert(catalog):
    statement = only("INSERT INTO bids (price, TS) VALUES (1 + 1, '2024-01-01 10:00:00'), (NULL, DATE '2024-01-02')")
    assert isinstance(statement, Insert)
    assert bind_change(statement, catalog) == InsertRows(
        catalog.streams["bids"],
        ((datetime(2024, 1, 1, 10), None, None, 2.0), (datetime(2024, 1, 2), None, None, None)),
    )
    rows = bind_change(only("INSERT INTO TABLE people VALUES ('a, (b)', upper('c'))"), catalog).rows
    assert rows == (("a, (b)", "C"),)


def test_update(catalog):
    statement = only("UPDATE people SET city = upper(name), name = NULL WHERE city = 'x'")
    assert isinstance(statement, Update)
    name, city = Column(0, STRING, "name"), Column(1, STRING, "city")
    assert bind_change(statement, catalog) == UpdateRows(
        catalog.streams["people"],
        ((1, Call("upper", (name,), STRING)), (0, Literal(None, STRING))),
        Call("equal", (city, Literal("x", STRING)), BOOLEAN),
    )
    assert bind_change(only("UPDATE people SET city = 1"), catalog).assignments == ((1, Literal("1", STRING)),)


def test_delete(catalog):
    statement = only("DELETE FROM people WHERE 1 = 2")
    assert isinstance(statement, Delete)
    assert bind_change(statement, catalog) == DeleteRows(catalog.streams["people"], Literal(False, BOOLEAN))
    assert bind_change(only("DELETE FROM people"), catalog).predicate is None


def test_an_aggregate_can_be_defined_replaced_and_dropped(catalog):
    statement = only("CREATE AGGREGATE Spread(x DOUBLE, scale INT) RETURNS DOUBLE AS (MAX(x) - MIN(x)) * MAX(scale)")
    assert isinstance(statement, CreateAggregate)
    assert statement.macro.parameters == (("x", DOUBLE), ("scale", INT))
    assert define(statement, catalog)
    before = bind(parse_query_text("SELECT spread(price, 2) AS s FROM bids"), catalog)
    assert str(before.schema) == "s DOUBLE"
    assert run(catalog, "CREATE AGGREGATE IF NOT EXISTS spread(x INT) RETURNS INT AS MAX(x)") == [False]
    assert run(catalog, "CREATE OR REPLACE AGGREGATE spread(x INT) RETURNS INT AS MAX(x)") == [True]
    assert str(bind(parse_query_text("SELECT spread(price) AS s FROM bids"), catalog).schema) == "s INT"
    assert run(catalog, "DROP AGGREGATE spread; DROP AGGREGATE IF EXISTS spread") == [True, False]


def test_an_aggregate_may_use_another_one_that_is_replaced_later(catalog):
    run(catalog, "CREATE AGGREGATE one(x DOUBLE) RETURNS DOUBLE AS SUM(x)")
    run(catalog, "CREATE AGGREGATE two(y DOUBLE) RETURNS DOUBLE AS one(y * 2) + 1")
    text = "SELECT two(price) AS s FROM bids"
    before = bind(parse_query_text(text), catalog)
    run(catalog, "CREATE OR REPLACE AGGREGATE one(x DOUBLE) RETURNS DOUBLE AS MAX(x)")
    assert bind(parse_query_text(text), catalog) == before


def test_what_a_view_reads_includes_its_subqueries(catalog):
    run(
        catalog,
        "CREATE VIEW v AS SELECT bidder FROM bids WHERE bidder IN (SELECT name FROM people) "
        "UNION SELECT seller FROM ISTREAM(auctions) EXCEPT SELECT bidder FROM DSTREAM(SELECT * FROM counts)",
    )
    assert catalog.views["v"].reads == {"bids", "people", "auctions", "counts"}
