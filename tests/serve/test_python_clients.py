"""Clients of PostgreSQL in Python against a real `sash serve`: psycopg, psycopg2, SQLAlchemy, pandas, ADBC, polars."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from os import environ

import pandas
import polars
import psycopg
import psycopg2
import pyarrow as pa
import pytest
import sqlalchemy
from adbc_driver_postgresql import dbapi as adbc

from duckdb_client import duckdb_client
from serve.conftest import Serving

ALL = [
    ("a", 2, 5, 2.5, datetime(2024, 1, 1, 0, 0, 1, 500_000), True, [1, 4]), ("b", 1, 2, 2.0, datetime(2024, 1, 1, 0, 0, 2), False, [2]),
    ("it's", 1, None, None, datetime(2024, 1, 1, 0, 0, 3), False, []),
]  # fmt: skip


@pytest.fixture
def connection(serving: Serving) -> Iterator[psycopg.Connection]:
    with psycopg.connect(serving.url) as opened:
        yield opened


@pytest.mark.parametrize("binary", [False, True])
def test_types_in_text_and_binary(connection: psycopg.Connection, binary: bool) -> None:
    assert connection.execute("SELECT * FROM totals ORDER BY k", binary=binary).fetchall() == ALL


@pytest.mark.parametrize("binary", [False, True])
def test_decimals_dates_and_nulls(connection: psycopg.Connection, binary: bool) -> None:
    connection.execute("DELETE FROM names")
    connection.execute("INSERT INTO names VALUES (%s, %s, %s, %s)", ("x", None, Decimal("-1234.50"), datetime(1999, 12, 31).date()))
    found = connection.execute("SELECT * FROM names", binary=binary).fetchall()
    assert found == [("x", None, Decimal("-1234.50"), datetime(1999, 12, 31).date())]


@pytest.mark.parametrize(("value", "found"), [("a", ["a"]), ("it's", ["it's"]), ("' OR 1=1 --", []), ("\\' OR TRUE --", []), ("", [])])
@pytest.mark.parametrize("form", ["%s", "%t", "%b"])
def test_values_are_values(connection: psycopg.Connection, value: str, found: list[str], form: str) -> None:
    assert [row[0] for row in connection.execute(f"SELECT k FROM totals WHERE k = {form}", (value,))] == found


@pytest.mark.parametrize("form", ["%t", "%b"])
def test_values_of_many_types(connection: psycopg.Connection, form: str) -> None:
    where = f"n = {form} AND mean > {form} AND latest = {form} AND is_many = {form} AND total < {form}"
    values = (2, 2.25, datetime(2024, 1, 1, 0, 0, 1, 500_000), True, Decimal("5.5"))
    assert connection.execute(f"SELECT k FROM totals WHERE {where}", values).fetchall() == [("a",)]
    assert connection.execute(f"SELECT k FROM totals WHERE list = {form}", ([1, 4],)).fetchall() == [("a",)]


@pytest.mark.parametrize("form", ["%s", "%t", "%s::text[]"])
@pytest.mark.parametrize("prepare", [None, True])
def test_any_of_an_array(connection: psycopg.Connection, form: str, prepare: bool | None) -> None:
    """Texts have no type where the client leaves it to the server."""
    for values in (["a", "it's"], ["b", None], [], ['{"}', "a,b"]):
        found = connection.execute(f"SELECT k FROM totals WHERE k = ANY({form}) ORDER BY k", (values,), prepare=prepare).fetchall()
        assert found == [(k,) for k in ("a", "b", "it's") if k in values]
    assert connection.execute("SELECT k FROM totals WHERE n = ANY('{2,3}')").fetchall() == [("a",)]
    assert connection.execute("SELECT k FROM totals WHERE n = ANY(%s::int8[])", ("{2,3}",), prepare=prepare).fetchall() == [("a",)]


def test_prepared_statements(connection: psycopg.Connection) -> None:
    found = [connection.execute("SELECT n FROM totals WHERE k = %s", (k,), prepare=True).fetchone() for k in ("a", "b", "a", "none")]
    assert found == [(2,), (1,), (2,), None]


def test_a_server_side_cursor(connection: psycopg.Connection) -> None:
    with connection.cursor("mine") as cursor:
        cursor.execute("SELECT k FROM totals WHERE n > %s ORDER BY k", (0,))
        assert cursor.fetchone() == ("a",) and cursor.fetchmany(1) == [("b",)] and cursor.fetchall() == [("it's",)]
        assert cursor.fetchall() == []


def test_a_pipeline_goes_on_after_an_error(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    with connection.pipeline() as pipeline:
        first = connection.execute("SELECT 1")
        bad = connection.execute("SELECT prize FROM totals")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            pipeline.sync()
        last = connection.execute("SELECT n FROM totals WHERE k = 'a'")
        assert first.fetchall() == [(1,)] and last.fetchall() == [(2,)]
    assert bad.statusmessage is None


def test_copies(connection: psycopg.Connection) -> None:
    with connection.cursor().copy("COPY (SELECT k, total, latest FROM totals ORDER BY k) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["text", "int8", "timestamp"])
        assert list(copy.rows()) == [(k, total, latest) for k, _, total, _, latest, _, _ in ALL]
    with connection.cursor().copy("COPY (SELECT k FROM totals WHERE n > 9) TO STDOUT (FORMAT BINARY)") as copy:
        assert list(copy.rows()) == []


def test_errors_have_codes(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT 1 FROM nowhere")
    connection.rollback()
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only"):
        connection.execute("CREATE VIEW x AS SELECT k FROM totals")
    connection.rollback()
    with pytest.raises(psycopg.errors.SyntaxError):
        connection.execute("SELEC 1")


def test_psycopg2_with_its_named_cursor(serving: Serving) -> None:
    with psycopg2.connect(serving.url) as connection, connection.cursor("named") as cursor:
        cursor.execute("SELECT k, list FROM totals WHERE k = %s", ("a",))
        assert cursor.fetchall() == [("a", [1, 4])]
    connection.close()


@pytest.fixture(params=["psycopg", "psycopg2"])
def engine(request: pytest.FixtureRequest, serving: Serving) -> Iterator[sqlalchemy.Engine]:
    made = sqlalchemy.create_engine(serving.url.replace("postgresql", f"postgresql+{request.param}"))
    yield made
    made.dispose()


def test_sqlalchemy_looks_around(engine: sqlalchemy.Engine) -> None:
    seen = sqlalchemy.inspect(engine)
    assert seen.get_schema_names() == ["information_schema", "public"]
    assert seen.get_table_names() == ["names"] and seen.get_view_names() == ["big"] and seen.has_table("totals")
    assert sorted(seen.get_materialized_view_names()) == ['Odd "name"', "totals"]
    types = {column["name"]: column["type"].compile(engine.dialect) for column in seen.get_columns("totals")}
    assert types == {
        "k": "TEXT", "n": "BIGINT", "total": "BIGINT", "mean": "DOUBLE PRECISION", "latest": "TIMESTAMP WITHOUT TIME ZONE", "is_many": "BOOLEAN", "list": "BIGINT[]",
    }  # fmt: skip
    assert "FROM totals" in seen.get_view_definition("big")
    assert seen.get_pk_constraint("names")["constrained_columns"] == [] and seen.get_foreign_keys("names") == [] and seen.get_indexes("names") == []


def test_sqlalchemy_reflects_and_asks(engine: sqlalchemy.Engine) -> None:
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine, views=True)
    assert {"names", "big", "totals"} <= set(metadata.tables)
    totals = metadata.tables["totals"]
    with engine.connect() as connection:
        question = sqlalchemy.select(totals.c.k, totals.c.total).where(totals.c.n >= 1, totals.c.total.is_not(None)).order_by(totals.c.total.desc())
        assert connection.execute(question).fetchall() == [("a", 5), ("b", 2)]
        assert connection.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(totals)).scalar() == 3


def test_pandas(engine: sqlalchemy.Engine) -> None:
    assert pandas.read_sql("SELECT k, n FROM totals ORDER BY k", engine).values.tolist() == [["a", 2], ["b", 1], ["it's", 1]]


def test_adbc_reads_arrow(serving: Serving) -> None:
    with adbc.connect(serving.url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT k, n, total, mean, latest, is_many, list FROM totals ORDER BY k")
        table = cursor.fetch_arrow_table()
        assert [tuple(row.values()) for row in table.to_pylist()] == ALL and table.schema.field("latest").type == pa.timestamp("us")
        cursor.execute("SELECT n FROM totals WHERE k = $1", ("b",))
        assert cursor.fetchall() == [(1,)]
        assert connection.adbc_get_table_schema("totals").names[:2] == ["k", "n"]
        names = {table["table_name"] for schema in connection.adbc_get_objects().read_all().to_pylist()[0]["catalog_db_schemas"]
                 for table in schema["db_schema_tables"] if schema["db_schema_name"] == "public"}
        assert {"totals", "big", "names"} <= names


def test_pandas_and_polars_by_adbc(serving: Serving) -> None:
    with adbc.connect(serving.url) as connection:
        assert pandas.read_sql("SELECT k, n FROM totals ORDER BY k LIMIT 1", connection).values.tolist() == [["a", 2]]
    found = polars.read_database_uri("SELECT k, total FROM totals ORDER BY k", serving.url, engine="adbc")
    assert found.rows() == [("a", 5), ("b", 2), ("it's", None)]


DUCKDB = """
import duckdb, sys
from duckdb_extensions import import_extension
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
import_extension("postgres_scanner", con=connection)
connection.execute(f"ATTACH 'host=127.0.0.1 port={sys.argv[1]} user=reader dbname=sash' AS live (TYPE postgres, READ_ONLY)")
print(sorted(name for _, _, name, *_ in connection.execute("SHOW ALL TABLES").fetchall()))
print(connection.execute("SELECT k, n, mean, latest, is_many, list FROM live.totals WHERE k IN ('a', 'b') ORDER BY k").fetchall())
print(connection.execute("SELECT count(*), sum(total) FROM live.totals").fetchall())
"""


def test_duckdb_attaches(serving: Serving) -> None:
    words = [sys.executable, "-c", DUCKDB, str(serving.port)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env={**environ, "PYTHONPATH": str(duckdb_client())})
    assert done.returncode == 0, done.stderr
    names, rows, sums = done.stdout.splitlines()[-3:]  # the extension is told of first
    assert names == str(['Odd "name"', "big", "names", "s", "totals"])
    assert rows == str([(k, n, mean, latest, many, list_) for k, n, _, mean, latest, many, list_ in ALL[:2]]) and sums == "[(3, 7)]"


BI_QUERIES = [
    # as Grafana's query builder asks
    "SELECT quote_ident(table_name) AS \"table\" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY table_name",
    "SELECT quote_ident(column_name) AS \"column\", data_type AS \"type\" FROM information_schema.columns WHERE quote_ident(table_name) = 'totals'",
    "SELECT latest AS \"time\", total AS \"value\" FROM totals WHERE latest BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-02T00:00:00Z' ORDER BY latest LIMIT 50",
    "SHOW server_version_num",
    # as Superset charts and its dialog of a new dataset ask
    "SELECT k AS k, sum(total) AS \"SUM(total)\" FROM public.totals GROUP BY k ORDER BY \"SUM(total)\" DESC LIMIT 10000",
    "SELECT DATE_TRUNC('minute', latest) AS __timestamp, COUNT(*) AS count FROM public.totals WHERE latest >= TIMESTAMP '2024-01-01 00:00:00' GROUP BY DATE_TRUNC('minute', latest) LIMIT 1000",
    "SELECT * FROM (SELECT k, n FROM public.totals) AS virtual_table LIMIT 100",
    # as DBeaver asks
    "SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname = current_database() ORDER BY db.datname",
    "SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname",
    "SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')",
    "SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_catalog.pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.relnamespace = 2200 ORDER BY a.attnum",
    "SELECT current_schema(), session_user", "SELECT version()", "SHOW search_path", "SELECT typcategory FROM pg_catalog.pg_type WHERE 1<>1 LIMIT 1",
]  # fmt: skip


@pytest.mark.parametrize("query", BI_QUERIES)
def test_queries_of_other_tools(connection: psycopg.Connection, query: str) -> None:
    answer = connection.execute(query)
    assert answer.description
    rows = answer.fetchall()
    assert rows or "pg_type" in query


PATH = "string_to_array(current_setting('search_path'), ',')"
OWN = f"""quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower({PATH}, 1), array_upper({PATH}, 1)) AS i, {PATH} s)"""
COLUMNS = [("k", "text"), ("n", "bigint"), ("total", "bigint")]


@pytest.mark.parametrize(("query", "found"), [
    ("SELECT current_setting('server_version_num')::int/100 AS version", [(1500,)]),
    (f"SELECT CASE WHEN {OWN} THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END"
     " FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')"
     f" ORDER BY CASE WHEN {OWN} THEN 0 ELSE 1 END, 1",
     [('"Odd ""name"""',), ("big",), ("names",), ("s",), ("totals",)]),
    *((f"SELECT quote_ident(column_name), data_type FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('{name}'), 1) = 2"
       f" THEN quote_ident(table_schema) = (parse_ident('{name}'))[1] AND quote_ident(table_name) = (parse_ident('{name}'))[2]"
       f" ELSE quote_ident(table_name) = '{name}' AND {OWN} END ORDER BY ordinal_position LIMIT 3", columns)
      for name, columns in (("totals", COLUMNS), ("public.totals", COLUMNS), ('"Odd ""name"""', [('"Key"', "text"), ("v", "bigint")]))),
    ("SELECT parse_ident('\"a.\"\"b\".C')", [(['a."b', "c"],)]),
    ("SELECT floor(extract(epoch from latest)/300)*300 AS \"time\", sum(total) FROM totals WHERE latest BETWEEN '2024-01-01T00:00:00.000000001Z'"
     " AND '2024-01-01T00:05:00.123Z' GROUP BY 1 ORDER BY 1", [(1704067200, 7)]),
    ("SELECT floor((n)/2)*2 AS \"time\", count(*) FROM totals WHERE n >= 1 AND n <= 1704067200 GROUP BY 1 ORDER BY 1", [(0, 2), (2, 1)]),
    ("SELECT k, round(mean::numeric, 2) FROM totals ORDER BY k", [("a", Decimal("2.50")), ("b", Decimal("2.00")), ("it's", None)]),
])  # fmt: skip
def test_what_grafana_asks(connection: psycopg.Connection, query: str, found: list[tuple[object, ...]]) -> None:
    """Its editor for names, its macros for times, in one text without values."""
    assert connection.execute(query).fetchall() == found


def test_superset_asks_through_sqlalchemy_and_psycopg2(serving: Serving) -> None:
    """The library that Superset connects with, and what it does with it: a raw cursor, or text of SQL with percent signs doubled."""
    engine = sqlalchemy.create_engine(serving.url.replace("postgresql", "postgresql+psycopg2"), poolclass=sqlalchemy.pool.NullPool)
    for query in BI_QUERIES:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(query)
            assert cursor.description and (cursor.fetchmany(1000) or "pg_type" in query), query
        finally:
            connection.close()
    with engine.connect() as connected:
        assert connected.dialect.server_version_info >= (12,)
        found = connected.exec_driver_sql("SELECT k FROM totals WHERE k LIKE 'a%%' LIMIT 5").fetchall()
        assert [tuple(row) for row in found] == [("a",)]
    engine.dispose()
