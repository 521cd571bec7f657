"""CREATE SINK … TO DELTA: after every push the table holds what the view says; whatever dies, each batch is there once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from tables import bag
from test_files_sink import BATCHES, KILLED, Killed, taken
from test_json_objects import KINDS, ROWS
from test_laws_of_sinks import VIEWS, played
from test_sinks_on_spark import JOB, die_before_commit, put
from without_spark import connected

import sash
from s3_server import KEYS, s3_server
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SinkWarning
from sash.plan.keys import key_of
from sash.schema import BIGINT, STRING, Schema, schema
from sash.sinks.delta import writer
from sash.sinks.delta.columns import net_changes
from sash.sinks.delta.writer import DeltaSink
from sash.sinks.netting import net_rows
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.sink import SinkMoved, SinkRefused
from shapes import SHAPES, STREAMS, Shape

pytestmark = pytest.mark.laws


def create(path: Path, view: str, **options: str) -> str:
    listed = ", ".join(f"{key} = '{value}'" for key, value in {"path": str(path), **options}.items())
    return f"CREATE SINK {path.name} FROM {view} TO DELTA WITH ({listed});"


def table(path: Path) -> pa.Table:
    return pa.table(DeltaTable(str(path)).to_pyarrow_table())


def check(path: Path, db: sash.Database, view: str) -> None:
    db.sinks.drain()
    answer = db.final(view).to_arrow()
    assert bag(table(path).select(answer.column_names)) == bag(answer)


def check_changes(path: Path, db: sash.Database, view: str) -> None:
    db.sinks.drain()
    changes = db.changes(view)
    assert isinstance(changes, pa.Table)
    assert bag(table(path).select(changes.column_names)) == bag(changes)


@pytest.mark.parametrize(("seed", "size"), [(11, 3), (12, 40)])
def test_every_push_is_in_the_tables(tmp_path: Path, seed: int, size: int) -> None:
    job = STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in VIEWS.items())
    count = 12 if size == 3 else 80
    with sash.connect(history="all") as db:
        db.execute(job)
        for name in VIEWS:
            db.execute(create(tmp_path / name, name) + create(tmp_path / f"{name}_c", name, mode="changes"))
        for _ in played(db, seed, count, size):
            for name in VIEWS:
                check(tmp_path / name, db, name)
        db.end()
        db.execute("DELETE FROM sellers WHERE region = 'south'")
        for name in VIEWS:
            check(tmp_path / name, db, name)
            check_changes(tmp_path / f"{name}_c", db, name)


@pytest.mark.parametrize("shape", SHAPES[4::24], ids=lambda shape: shape.name)
def test_any_shape_is_written(tmp_path: Path, shape: Shape) -> None:
    """By its key, or, if nothing says that it has one, as changes."""
    with sash.connect(history="all") as db:
        db.execute(STREAMS + shape.sql)
        is_keyed = key_of(db.catalog.views[shape.name].plan) is not None
        db.execute(create(tmp_path / "t", shape.name, mode="upsert" if is_keyed else "changes"))
        for place, _ in enumerate(played(db, 5, 40, 10)):
            if place % 6 == 5:
                (check if is_keyed else check_changes)(tmp_path / "t", db, shape.name)
        db.end()
        (check if is_keyed else check_changes)(tmp_path / "t", db, shape.name)


COLUMNS = schema(*((f"C.{place}'ü-\\", type_) for place, type_ in enumerate(KINDS)))


@settings(max_examples=15)
@given(values=ROWS, more=ROWS)
def test_all_types_come_back(tmp_path_factory: pytest.TempPathFactory, values: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    """Whole rows are the key, texts with every sign among them; names are in quotes everywhere."""
    path = tmp_path_factory.mktemp("delta") / "t"
    distinct = {str(row): row for row in values}
    others = {str(row): row for row in more if str(row) not in distinct}
    key = tuple(place for place, type_ in enumerate(KINDS) if type_.element is None)
    keyed = {tuple(row[place] for place in key) for row in (*distinct.values(), *others.values())}
    if len(keyed) < len(distinct) + len(others):
        return
    spec = SinkSpec("n", "v", COLUMNS, Mode.UPSERT, key, None, (("path", str(path)),))
    sink = DeltaSink(spec, "run", 0, path.parent)
    sink.begin()
    sink.write(writer.Taken(None, 0, typed([(1, row) for row in distinct.values()])))
    assert bag(table(path)) == bag(typed([(1, row) for row in distinct.values()]).select(COLUMNS.names))
    sink.write(writer.Taken(0, 1, typed([(-1, row) for row in distinct.values()] + [(1, row) for row in others.values()])))
    assert bag(table(path)) == bag(typed([(1, row) for row in others.values()]).select(COLUMNS.names))


def typed(rows: list[tuple[int, tuple[Any, ...]]]) -> pa.Table:
    columns = list(zip(*(row for _, row in rows), strict=True)) if rows else [() for _ in KINDS]
    arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, KINDS, strict=True)]
    ops, instants = pa.array([op for op, _ in rows], pa.int8()), pa.array([0] * len(rows), pa.timestamp("us"))
    return pa.table([ops, instants, *arrays], names=["_op", "_ts", *COLUMNS.names])


@given(values=ROWS, more=ROWS)
def test_arrays_are_netted_as_other_values_are(values: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    first = list({str(row): row for row in values}.values())
    second = list({str(row): row for row in more}.values())
    changes = typed([(-1, row) for row in first] + [(1, row) for row in second])
    keyed = Schema((*COLUMNS.fields[:3], *COLUMNS.fields[-2:]))
    small = changes.select(["_op", "_ts", *keyed.names])
    texts = pa.table([pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string()) for column in small.columns[2:]], names=keyed.names)
    try:
        expected = net_rows(small.column(0), texts, (0, 1, 2))
    except SinkRefused:
        with pytest.raises(SinkRefused, match="no key"):
            net_changes(small, keyed, (0, 1, 2))
        return
    found = net_changes(small, keyed, (0, 1, 2))
    for one, other in ((found.inserted, expected.inserted), (found.updated, expected.updated), (found.deleted, expected.deleted)):
        assert [one.column(place).type for place in range(5)] == [column.type for column in small.columns[2:]]
        assert Counter(tuple(None if value is None else str(value) for value in row.values()) for row in one.to_pylist()) == bag(other)


SPEC = SinkSpec("n", "v", schema(("k", STRING), ("n", BIGINT)), Mode.UPSERT, (0, 1), None, ())


def sink(path: Path, run: str, epoch: int = 0, mode: Mode = Mode.UPSERT, existing: Existing | None = None, **options: str) -> DeltaSink:
    known = {**SPEC.__dict__, "options": (("path", str(path)), *options.items()), "mode": mode, "existing": existing}
    return DeltaSink(SinkSpec(**known), run, epoch, path.parent)


def held(path: Path) -> Counter[Any]:
    found = table(path)
    return bag(found.drop(["_ts"]) if "_ts" in found.column_names else found)


def write_all(one: DeltaSink) -> None:
    """What comes after the position of the table."""
    position = one.begin()
    for batch in [*BATCHES[:-1], taken(5, 6, (1, "b", 7), (-1, "c", 9), (1, None, 3))]:  # type: ignore[arg-type]
        if position is None or batch.position > position:
            one.write(batch)


@pytest.mark.parametrize("mode", list(Mode))
def test_killed_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    """Before every commit and after it; who goes on finds each batch once."""
    left = [0, 0]
    written, merged, said = writer.write_deltalake, DeltaSink._merge, DeltaSink._say  # all that makes a version

    def dying(function: Any) -> Any:
        def run(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and left[1]:
                raise Killed
            function(*args, **named)
            if left[0] == 0:
                raise Killed
        return run

    expected = {
        Mode.UPSERT: Counter([("a", 2), ("b", 7), (None, 3)]),
        Mode.CHANGES: Counter([(1, "a", 1), (1, "b", 1), (1, "c", 9), (-1, "a", 1), (1, "a", 2), (-1, "b", 1), (1, "b", 7), (-1, "c", 9), (1, None, 3)]),
    }[mode]
    died = 0
    for moment in range(1, 10):
        for is_before in (0, 1):
            path = tmp_path / f"{moment}-{is_before}"
            left[:] = [moment, is_before]
            with monkeypatch.context() as patch:
                patch.setattr(writer, "write_deltalake", dying(written))
                patch.setattr(DeltaSink, "_merge", dying(merged))
                patch.setattr(DeltaSink, "_say", dying(said))
                try:
                    write_all(sink(path, "run", mode=mode))
                except Killed:
                    died += 1
            write_all(sink(path, "run", 1, mode=mode))
            assert held(path) == expected, (moment, is_before)
    assert died >= 8


def test_each_batch_once_whoever_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "t"
    one = sink(path, "run")
    assert one.begin() is None
    assert one.write(taken(None, 0, (1, "a", 1), (1, "b", 1))) == 2
    with pytest.raises(SinkMoved):
        one.write(taken(None, 0, (1, "a", 1)))
    assert one.write(taken(0, 4)) == 0  # nothing changes: no version is made
    version = DeltaTable(str(path)).version()
    assert one.write(taken(4, 5)) == 0 and DeltaTable(str(path)).version() == version
    with pytest.raises(SinkMoved) as moved:
        one.write(taken(0, 5))
    assert moved.value.position == 5
    two = sink(path, "run", epoch=1)
    assert two.begin() == 0
    for late in (lambda: one.write(taken(5, 6, (-1, "b", 1))), one.begin):
        with pytest.raises(SinkRefused, match="another run has taken over Delta table"):
            late()
    assert two.write(taken(0, 6, (-1, "b", 1), (1, None, 1))) == 2  # type: ignore[arg-type]
    assert held(path) == {("a", 1): 1, (None, 1): 1}
    two.release()
    assert two.begin() is None  # the run has let go of it, and begins anew
    two.write(taken(None, 0))
    assert held(path) == {}
    three = sink(path, "other")
    assert three.begin() is None
    three.write(taken(None, 0, (1, "z", 1)))
    with pytest.raises(SinkRefused, match="taken over"):
        two.write(taken(0, 1, (1, "x", 1)))
    assert held(path) == {("z", 1): 1}


def test_two_that_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another driver takes the table over between the look at it and the commit: the commit fails, and nothing is there twice."""
    path = tmp_path / "t"
    for mode in Mode:
        one, two = (sink(path / mode.value, "run", epoch, mode) for epoch in (0, 1))
        one.begin()
        one.write(taken(None, 0, (1, "a", 1)))
        with monkeypatch.context() as patch:
            committing = DeltaSink._committing

            def late(self: DeltaSink, batch: Any, two: DeltaSink = two, committing: Any = committing) -> Any:
                if self is not two:
                    assert two.begin() == 0
                    two.write(taken(0, 1, (1, "b", 2)))
                return committing(self, batch)

            patch.setattr(DeltaSink, "_committing", late)
            with pytest.raises(SashError, match="another version was written at the same time"):
                one.write(taken(0, 1, (1, "b", 2)))
        with pytest.raises(SinkRefused, match="taken over"):
            one.begin()
        assert sorted(row["k"] for row in table(path / mode.value).to_pylist()) == ["a", "b"]


def test_tables_of_others(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.mkdir()
    (path / "mine.txt").write_text("a letter")
    with pytest.raises(SinkRefused, match=r'has files and is no Delta table: "mine.txt"; name a folder that is empty'):
        sink(path, "run").check()
    (path / "mine.txt").unlink()
    write_deltalake(str(path), pa.table({"k": ["a"], "n": [1]}))
    with pytest.raises(SinkRefused, match=r"has rows that no sink has written; name another folder, or say what becomes of them: existing = 'replace'$"):
        sink(path, "run").check()
    with pytest.raises(SinkRefused, match=r"has other columns: k string, n int64; the sink writes: _op int32, _ts timestamp\[us\], k string, n int64"):
        sink(path, "run", mode=Mode.CHANGES, existing=Existing.APPEND).check()
    with pytest.raises(SinkRefused, match=r"the sink writes: k string, n int64 by \(k\)"):
        sink(path, "run", existing=Existing.REPLACE, partition_by="k").check()
    one = sink(path, "run", existing=Existing.REPLACE)
    assert one.begin() is None and held(path) == {("a", 1): 1}  # until its first answer is there
    one.write(taken(None, 0, (1, "b", 1)))
    assert held(path) == {("b", 1): 1}
    log = tmp_path / "log"
    for run, existing in (("run", None), ("next", Existing.APPEND)):
        one = sink(log, run, mode=Mode.CHANGES, existing=existing)
        one.begin()
        one.write(taken(None, 0, (1, "a", 1)))
    assert held(log) == {(1, "a", 1): 2}
    with pytest.raises(SinkRefused, match=r"that another run has written.*existing = 'replace' or existing = 'append'"):
        sink(log, "third", mode=Mode.CHANGES).begin()
    one = sink(log, "third", mode=Mode.CHANGES, existing=Existing.REPLACE)
    one.begin()
    one.write(taken(None, 0, (1, "z", 1)))
    assert held(log) == {(1, "z", 1): 1}


def test_a_table_that_somebody_changed_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "t"
    one = sink(path, "run")
    one.begin()
    one.write(taken(None, 0, (1, "a", 1), (1, "b", 1)))
    DeltaTable(str(path)).delete("k = 'a'")
    for _ in range(2):  # it is not forgotten, not even by another driver
        with pytest.raises(SinkRefused, match=r"does not hold what was written to it: of 1 rows that change or go 0 were found"):
            one.write(taken(0, 1, (-1, "a", 1))) if one.begin() == 0 else None
    with pytest.raises(SinkRefused, match="does not hold"):
        sink(path, "run", 1).begin()
    one.release()
    assert one.begin() is None
    one.write(taken(None, 0, (1, "c", 1)))
    assert held(path) == {("c", 1): 1}


def test_what_is_no_key_is_told_of(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k STRING, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT * FROM t;" + create(tmp_path / "t", "v", key="k"))
        db.push("t", [("a", 1), (None, 2)])
        db.end()
        check(tmp_path / "t", db, "v")
        db.push("t", [(None, 3)])
        db.end()
        with pytest.raises(SashError, match="k is no key: a new row has the key of one that stays"):
            db.drain()
        with pytest.warns(SinkWarning, match="no key"):
            db.close()


@pytest.mark.parametrize(("options", "said"), [
    ("key = 'k'", "a sink in Delta needs the folder of a table"),
    ("path = 'f'", 'view "v" has no key'), ("path = 'f', key = 'k', format = 'csv'", 'a sink has no option "format"; options are: path, partition_by'),
    ("path = 'f', mode = 'changes', partition_by = 'd'", 'files cannot be spread by column "d", which is DOUBLE'),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, options: str, said: str) -> None:
    with sash.connect(base=tmp_path) as db:
        db.execute("CREATE TABLE t (k STRING, d DOUBLE); CREATE MATERIALIZED VIEW v AS SELECT * FROM t")
        with pytest.raises(SashError) as failure:
            db.execute(f"CREATE SINK s FROM v TO DELTA WITH ({options})")
        assert said in str(failure.value)
        assert not list(tmp_path.iterdir())


def test_names_that_delta_does_not_have(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE t (`a (b)` STRING); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT `a (b)` FROM t")
        with pytest.raises(SashError, match=r'''a Delta table has no column "a \(b\)": its names are without ' ', '\(', '\)'; give it another one in the view: … AS a__b_'''):
            db.execute(create(tmp_path / "t", "v"))


@pytest.mark.parametrize("mode", list(Mode))
def test_an_empty_text_that_would_be_null_is_refused(tmp_path: Path, mode: Mode) -> None:
    """As a value of a partition Delta keeps it as NULL, so that '' and NULL were one."""
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k STRING, n BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(n) AS n FROM t GROUP BY k")
        db.execute(create(tmp_path / "t", "v", mode=mode.value, partition_by="k") + create(tmp_path / "whole", "v", mode=mode.value))
        db.push("t", [("a", 1), (None, 2)])
        db.advance("2026-01-01 00:00:00")
        db.sinks.drain()
        db.push("t", [("", 3)])
        db.advance("2026-01-01 00:00:01")
        with pytest.raises(SashError, match="rows have the text '' in column \"k\", which no partition has"):
            db.sinks.drain()
        with pytest.warns(SinkWarning):
            db.close()
    assert sorted(map(str, table(tmp_path / "t").column("k").to_pylist())) == ["None", "a"]
    assert sorted(map(str, table(tmp_path / "whole").column("k").to_pylist())) == ["", "None", "a"]


def test_many_versions_have_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMPACTED", 5)
    one = sink(tmp_path / "t", "run", mode=Mode.CHANGES, partition_by="k")
    one.begin()
    for n in range(23):
        one.write(taken(n - 1 if n else None, n, (1, "ab"[n % 2], n)))
    assert len(DeltaTable(str(tmp_path / "t")).file_uris()) <= 6
    assert held(tmp_path / "t") == Counter((1, "ab"[n % 2], n) for n in range(23))
    assert sink(tmp_path / "t", "run", 1, mode=Mode.CHANGES, partition_by="k").begin() == 22


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """Readers find one whole answer; the next run begins with its own."""
    job = JOB.replace(" WITH (format = 'csv', path = 'in')", "") + create(tmp_path / "t", "counts")
    process = subprocess.Popen([sys.executable, "-c", KILLED, job], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(40):
        assert process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    assert sum(row["n"] for row in table(tmp_path / "t").to_pylist()) <= 10_000
    with sash.connect() as db:
        db.execute(job)
        db.push("s", [("2026-01-01 00:00:00", "a", 1), ("2026-01-01 00:00:03", "b", 1)])
        check(tmp_path / "t", db, "counts")


def test_a_table_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k STRING); CREATE MATERIALIZED VIEW v AS SELECT DISTINCT k FROM t;" + create(tmp_path / "t", "v"))
        for n in range(3):
            db.push("t", [(f"k{n}",)])
            db.end()
            with pytest.raises(SashError, match="cannot write") if n else nullcontext():
                db.drain()
            check(tmp_path / "t", db, "v")
            rmtree(tmp_path / "t")


def connect(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> SparkDatabase:
    sinks = create(Path("a"), "counts") + create(Path("b"), "plain", mode="changes", partition_by="k")
    return connected(monkeypatch, folder, JOB + sinks, batch_rows=10, **options)


def check_job(folder: Path, db: SparkDatabase) -> None:
    answer = db.final("counts").to_arrow()
    assert bag(table(folder / "a")) == bag(answer)
    changes = pa.concat_tables(db._running().ledger.read_all("plain.changes.parquet"))
    assert bag(table(folder / "b").select(changes.column_names)) == bag(changes)


def test_a_job_on_spark_goes_on_where_the_table_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0, 40)
    db = connect(tmp_path, monkeypatch, flush=False)
    db.start()
    die_before_commit(db, monkeypatch)
    put(tmp_path, 1000, 20)
    again = connect(tmp_path, monkeypatch, flush=False)
    again.start()
    again.drain()
    check_job(tmp_path, again)
    again.stop()
    last = connect(tmp_path, monkeypatch)
    last.run()
    check_job(tmp_path, last)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_table_in_an_object_store(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another process: properties of a table are set while the interpreter stands still, and with it the server of the test."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with s3_server() as server:
        folders = [str(Path(__file__).parent), *sys.path]
        script = f"import sys; sys.path[:0] = {folders}; import test_delta_sink as t; t.write_to_a_store({server.uri(f'delta-{mode.value}')!r}, t.Mode.{mode.name})"
        subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
        assert any(method == "PUT" and condition for method, _, condition in server.requests)


def write_to_a_store(uri: str, mode: Mode) -> None:
    spec = SinkSpec(**{**SPEC.__dict__, "options": (("path", uri),), "mode": mode})
    one, two = (DeltaSink(spec, "run", epoch, Path()) for epoch in (0, 1))
    write_all(one)
    write_all(two)
    with pytest.raises(SinkRefused, match="taken over"):
        one.write(taken(6, 7, (1, "x", 1)))
    found = two._found()
    assert found is not None
    assert len(found.to_pyarrow_table()) == (3 if mode is Mode.UPSERT else 9)


def test_the_log_says_whose_it_is(tmp_path: Path) -> None:
    """Readers of the log see which batch a version is, and who has written it."""
    one = sink(tmp_path / "t", "run", 3)
    one.begin()
    one.write(taken(None, 7, (1, "a", 1)))
    actions = [json.loads(line) for file in sorted((tmp_path / "t/_delta_log").glob("*.json")) for line in file.read_text().splitlines()]
    properties = [action["metaData"]["configuration"] for action in actions if "metaData" in action][-1]
    assert (properties["sash.run"], properties["sash.epoch"], properties["sash.sink"]) == ("run", "3", "n")
    (transaction,) = (action["txn"] for action in actions if "txn" in action)
    assert transaction["version"] == 7 and transaction["appId"] == properties["sash.writer"]

