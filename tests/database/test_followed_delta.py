"""CREATE TABLE … WITH (format = 'delta', …): a table holds what a Delta table holds, as of the last look."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from without_spark import connected, query_of

import sash
from pages import shown_on_page
from sash.database import following
from sash.errors import SashError
from sash.sources.delta import DeltaVersions

STREAM = "CREATE STREAM s (ts TIMESTAMP, code STRING, n BIGINT) TIMESTAMP BY ts{source};"
VIEWS = """
CREATE MATERIALIZED VIEW priced AS SELECT s.code, n, rate FROM s [RANGE 10 SECONDS] JOIN rates r ON s.code = r.code;
CREATE MATERIALIZED VIEW alone AS SELECT code, rate FROM rates;
"""
SCHEMA = pa.schema([("more", pa.int32()), ("code", pa.string()), ("rate", pa.float64())])
Row = tuple[int | None, str | None, float | None]


def rows(*values: Row) -> pa.Table:
    return pa.table([pa.array(column, field.type) for column, field in zip(zip(*values, strict=True), SCHEMA, strict=True)], schema=SCHEMA)


def make(path: Path, *values: Row, has_feed: bool = True) -> Path:
    write_deltalake(str(path), rows(*values), configuration={"delta.enableChangeDataFeed": "true"} if has_feed else None)
    return path


def declared(path: Path, updates: str = "") -> str:
    return f"CREATE TABLE rates (code STRING, rate DOUBLE) {updates} WITH (format = 'delta', path = '{path}', every = '1 HOUR');"


def held(answer: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in answer.to_arrow().to_pylist()), key=str)


def second(n: int) -> datetime:
    return datetime(2026, 1, 1, 0, 0, n)


@pytest.mark.parametrize("has_feed", [True, False])
@pytest.mark.parametrize("updates", ["RETROACTIVE", "NON RETROACTIVE"])
def test_it_is_as_if_statements_had_changed_it(tmp_path: Path, updates: str, has_feed: bool) -> None:
    """At the same places of the input: the changelogs are the same."""
    path = make(tmp_path / "rates", (1, "a", 1.5), (2, "b", 2.0), (3, "b", 2.0), has_feed=has_feed)
    with sash.connect(history="all") as db, sash.connect(history="all") as said:
        db.execute(STREAM.format(source="") + declared(path, updates) + VIEWS)
        said.execute(STREAM.format(source="") + f"CREATE TABLE rates (code STRING, rate DOUBLE) {updates};" + VIEWS)
        said.execute("INSERT INTO rates VALUES ('a', 1.5), ('b', 2), ('b', 2)")
        steps: list[tuple[Any, str]] = [
            (lambda table: table.update(updates={"rate": "3.0"}, predicate="code = 'a'"), "UPDATE rates SET rate = 3 WHERE code = 'a'"),
            (lambda table: table.delete("code = 'b'"), "DELETE FROM rates WHERE code = 'b'"),
            (lambda table: write_deltalake(table, rows((4, None, None), (5, "c", 4.0)), mode="append"), "INSERT INTO rates VALUES (NULL, NULL), ('c', 4)"),
            (lambda table: table.optimize.compact(), "UPDATE rates SET rate = rate"),
            (lambda table: table.update(updates={"more": "7"}), "UPDATE rates SET rate = rate"),
            (lambda table: table.delete(), "DELETE FROM rates"),
        ]  # fmt: skip
        for n, (change, statement) in enumerate(steps):
            for one in (db, said):
                one.push("s", [(second(n), code, n) for code in ("a", "b", "c")])
            change(DeltaTable(str(path)))
            db.drain()
            said.execute(statement)
            for view in ("priced", "alone"):
                assert held(db.view(view)) == held(said.view(view)), statement
        for one in (db, said):
            one.end()
        for view in ("priced", "alone"):
            assert db.changes(view).equals(said.changes(view))  # type: ignore[union-attr]


NUMBERS = st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from(["a", "b"]), st.none() | st.sampled_from([0.5, 1.0]))
STEPS = st.lists(st.tuples(st.sampled_from(["append", "delete", "update", "overwrite", "look", "compact"]), st.lists(NUMBERS, min_size=1, max_size=3)), max_size=8)


@settings(max_examples=20)
@given(steps=STEPS, has_feed=st.booleans())
def test_it_holds_what_the_table_holds(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Row]]], has_feed: bool) -> None:
    """Several versions between two looks, rows that come and go among them, rows twice, NULLs."""
    path = make(tmp_path_factory.mktemp("delta") / "rates", (1, "a", 1.0), (1, "a", 1.0), has_feed=has_feed)
    with sash.connect() as db:
        db.execute(declared(path) + "CREATE MATERIALIZED VIEW alone AS SELECT code, rate FROM rates;")
        for kind, values in [*steps, ("look", [])]:
            table = DeltaTable(str(path))
            if kind in ("append", "overwrite"):
                write_deltalake(table, rows(*values), mode=kind)  # type: ignore[call-overload]
            elif kind == "delete":
                table.delete(f"code = '{values[0][1]}'")
            elif kind == "update":
                table.update(updates={"rate": "9.0"}, predicate="more = 1")
            elif kind == "compact":
                table.optimize.compact()
            else:
                db.drain()
                expected = DeltaTable(str(path)).to_pyarrow_table(columns=["code", "rate"]).to_pylist()
                assert held(db.view("alone")) == sorted((tuple(row.values()) for row in expected), key=str)


def test_a_feed_is_read_and_not_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "rates", *((n, f"k{n}", 1.0) for n in range(50)))
    found: list[tuple[int, bool]] = []
    after = DeltaVersions.after

    def watched(self: DeltaVersions, position: Any) -> Any:
        version = after(self, position)
        found.append((-1, True) if version is None else (len(version.entering), version.leaving is None))
        return version

    monkeypatch.setattr(DeltaVersions, "after", watched)
    with sash.connect() as db:
        db.execute(declared(path) + "CREATE MATERIALIZED VIEW alone AS SELECT * FROM rates;")
        DeltaTable(str(path)).update(updates={"rate": "2.0"}, predicate="code = 'k7'")
        db.drain()
        db.drain()
        DeltaTable(str(path)).alter.set_table_properties({"delta.enableChangeDataFeed": "false"})
        db.drain()
        DeltaTable(str(path)).delete("code = 'k7'")
        db.drain()
        assert found == [(50, True), (1, False), (-1, True), (50, True), (49, True)]
        rmtree(path)
        make(path, *((n, f"x{n}", 1.0) for n in range(3)))  # another table, with fewer versions
        db.drain()
        assert found[-1] == (3, True)
        assert [row[0] for row in held(db.view("alone"))] == ["x0", "x1", "x2"]


def test_a_version_that_comes_while_the_feed_is_read_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken with those before it, and again at the next look."""
    path = make(tmp_path / "rates", (1, "a", 1.0))
    with sash.connect() as db:
        db.execute(declared(path) + "CREATE MATERIALIZED VIEW alone AS SELECT * FROM rates;")
        write_deltalake(str(path), rows((2, "b", 2.0)), mode="append")
        opened = DeltaTable(str(path))
        write_deltalake(str(path), rows((3, "c", 3.0)), mode="append")
        with monkeypatch.context() as patch:
            patch.setattr("sash.sources.delta.open_table", lambda place: opened)
            db.drain()
        assert held(db.view("alone")) == [("a", 1.0), ("b", 2.0)]
        db.drain()
        assert held(db.view("alone")) == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


def test_types(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({
        "at": pa.array([datetime(2026, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")), "plain": pa.array([datetime(2026, 1, 1), None], pa.timestamp("us")),
        "day": pa.array([date(2026, 1, 2), None]), "price": pa.array([Decimal("1.25"), None], pa.decimal128(9, 2)), "many": pa.array([[1, None], None], pa.list_(pa.int64())),
        "small": pa.array([1, None], pa.int16()), "ok": pa.array([True, None]), "unread": pa.array([b"x", None]),
    }))  # fmt: skip
    with sash.connect() as db:
        db.execute(f"""
            CREATE TABLE t (ok BOOLEAN, at TIMESTAMP, plain TIMESTAMP, day DATE, price DECIMAL(9, 2), many ARRAY<BIGINT>, small INT)
            WITH (format = 'delta', path = '{tmp_path / 't'}'); CREATE MATERIALIZED VIEW v AS SELECT * FROM t;
        """)
        expected = (True, datetime(2026, 1, 1, 12), datetime(2026, 1, 1), date(2026, 1, 2), Decimal("1.25"), [1, None], 1)
        assert held(db.view("v")) == [(None,) * 7, expected]


@pytest.mark.parametrize(("options", "said"), [
    ("", 'table "t" needs the folder of a Delta table; add path'), (", path = 'nowhere'", 'nowhere of table "t" is not there; see its path'),
    (", path = 'here'", 'here has no column "b"; declare columns that it has: a'), (", path = 'here', table = 'x'", 'table "t" has no option "table"; options are: format, every, path'),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, options: str, said: str) -> None:
    write_deltalake(str(tmp_path / "here"), pa.table({"a": [1]}))
    with sash.connect(base=tmp_path) as db, pytest.raises(SashError) as failure:
        db.execute(f"CREATE TABLE t (b BIGINT) WITH (format = 'delta'{options})")
    assert said in str(failure.value)


def test_a_change_that_does_not_fit_is_healed(tmp_path: Path) -> None:
    """The table has lost what the feed takes away: an error, and at the next look all of it is read."""
    path = make(tmp_path / "rates", (1, "a", 1.0))
    with sash.connect() as db:
        db.execute(declared(path) + "CREATE MATERIALIZED VIEW alone AS SELECT * FROM rates;")
        table = db._table(db.catalog.streams["rates"])  # type: ignore[attr-defined]
        table.become(table.rows().slice(0, 0))
        DeltaTable(str(path)).update(updates={"rate": "2.0"})
        with pytest.raises(SashError, match="does not have all of the rows that are to leave it; look again"):
            db.drain()
        db.drain()
        assert table.rows().to_pylist() == [{"code": "a", "rate": 2.0}]


def test_on_spark_a_restart_goes_on_after_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changelog over a restart is that of a table that statements have changed at the same places."""
    path = make(tmp_path / "rates", (1, "a", 1.0), (2, "b", 2.0))
    (tmp_path / "in").mkdir()
    job = STREAM.format(source=" WITH (format = 'csv', path = 'in')") + declared(path) + VIEWS

    def put(n: int) -> None:
        (tmp_path / f"in/{n}.csv").write_text("".join(f"2026-01-01 00:00:{n:02d},{code},{n}\n" for code in "ab"))

    db = connected(monkeypatch, tmp_path, job, flush=False)
    put(1)
    db.start()
    db.drain()
    DeltaTable(str(path)).update(updates={"rate": "5.0"}, predicate="code = 'a'")
    db.drain()
    put(2)
    query_of(db).processAllAvailable()
    db.close()
    DeltaTable(str(path)).delete("code = 'b'")
    again = connected(monkeypatch, tmp_path, job)
    fetched: list[bool] = []
    fetch = following.VersionedTable.fetch

    def watched(self: following.VersionedTable) -> Any:
        version = fetch(self)
        fetched.append(version is not None and version.leaving is not None)
        return version

    monkeypatch.setattr(following.VersionedTable, "fetch", watched)
    put(3)
    again.run()
    assert fetched[0], "the feed was read from where the first run was"
    with sash.connect(history="all") as said:
        said.execute(STREAM.format(source="") + "CREATE TABLE rates (code STRING, rate DOUBLE);" + VIEWS)
        said.execute("INSERT INTO rates VALUES ('a', 1), ('b', 2)")
        said.push("s", [(second(1), code, 1) for code in "ab"])
        said.execute("UPDATE rates SET rate = 5 WHERE code = 'a'")
        said.push("s", [(second(2), code, 2) for code in "ab"])
        said.execute("DELETE FROM rates WHERE code = 'b'")
        said.push("s", [(second(3), code, 3) for code in "ab"])
        said.end()
        assert held(again.final("priced")) == held(said.final("priced"))
        assert held(again.final("alone")) == held(said.final("alone"))


def test_the_page_shows_one(tmp_path: Path) -> None:
    path = make(tmp_path / "rates", (1, "a", 1.5))
    with sash.connect(base=tmp_path) as db:
        db.execute(shown_on_page("docs/running.md", "CREATE TABLE prices").replace("s3://lake/prices", str(path)))
        db.execute("CREATE MATERIALIZED VIEW alone AS SELECT * FROM prices;")
        assert held(db.view("alone")) == [("a", 1.5)]
