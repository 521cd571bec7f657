"""CREATE SINK … TO FILES: after every push the folder holds what the view says; whatever dies, each batch is there once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow.dataset import dataset

sys.path.insert(0, str(Path(__file__).parent.parent / "spark"))

from folders import changes_schema, files, partitioned, rows, whole
from tables import bag
from test_json_objects import KINDS, ROWS
from test_laws_of_sinks import VIEWS, played
from test_sinks_on_spark import JOB, die_before_commit, put
from without_spark import connected

import sash
from s3_server import KEYS, s3_server
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError, SinkWarning
from sash.folders.folder import Folder
from sash.schema import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Schema, schema
from sash.sinks.files.formats import FORMATS
from sash.sinks.files.partitions import spread
from sash.sinks.files.record import Change, Next, Record, digest
from sash.sinks.files.writer import FilesSink
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.sink import SinkMoved, SinkRefused, Taken
from shapes import STREAMS

pytestmark = pytest.mark.laws


def create(path: Path, view: str, **options: str) -> str:
    listed = ", ".join(f"{key} = '{value}'" for key, value in {"path": str(path), **options}.items())
    return f"CREATE SINK {path.name} FROM {view} TO FILES WITH ({listed});"


def check(path: Path, db: sash.Database, view: str) -> None:
    db.sinks.drain()
    answer = db.final(view).to_arrow()
    (file,) = files(path)
    assert file.stem == "answer"
    assert bag(rows(path, db.catalog.views[view].plan.schema)) == bag(answer)


def check_changes(path: Path, db: sash.Database, view: str) -> None:
    db.sinks.drain()
    found = rows(path, changes_schema(db.catalog.views[view].plan.schema))
    assert bag(found) == bag(db.changes(view))  # type: ignore[arg-type]


@pytest.mark.parametrize(("seed", "size", "form"), [(11, 20, "parquet"), (12, 30, "json"), (13, 60, "csv")])
def test_every_push_is_in_the_folders(tmp_path: Path, seed: int, size: int, form: str) -> None:
    job = STREAMS + "".join(f"CREATE MATERIALIZED VIEW {name} AS {query};" for name, query in VIEWS.items())
    chosen = [name for name in VIEWS if form != "csv" or name != "grouped"]  # which has arrays
    with sash.connect(history="all") as db:
        db.execute(job + "CREATE MATERIALIZED VIEW bag_of AS SELECT bidder FROM bids [RANGE 6 SECONDS];")
        for name in (*chosen, "bag_of"):
            db.execute(create(tmp_path / name, name, format=form))
            db.execute(create(tmp_path / f"{name}_c", name, format=form, mode="changes", file_size="700 B"))
        for _ in played(db, seed, 60, size):
            for name in (*chosen, "bag_of"):
                check(tmp_path / name, db, name)
                check_changes(tmp_path / f"{name}_c", db, name)
        db.end()
        db.execute("DELETE FROM sellers WHERE region = 'south'")
        for name in chosen:
            check(tmp_path / name, db, name)
            check_changes(tmp_path / f"{name}_c", db, name)
        assert len(files(tmp_path / "bag_of_c")) >= 2
        whole(tmp_path)


COLUMNS = schema(*((f"c {place} \"", type_) for place, type_ in enumerate(KINDS)))


@pytest.mark.parametrize("form", list(FORMATS))
@given(values=ROWS, more=ROWS)
def test_what_is_written_is_read_back(form: str, values: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    columns = Schema(tuple(field for field in COLUMNS.fields if form != "csv" or field.type.element is None))

    def table(found: list[tuple[Any, ...]]) -> pa.Table:
        cells = list(zip(*found, strict=True)) if found else [() for _ in KINDS]
        return pa.table([pa.array(column, field.type.arrow) for column, field in zip(cells, columns.fields, strict=False)], schema=columns.arrow)

    kind = FORMATS[form](columns)
    first = kind.grown(None, table(values))
    both = kind.grown(first, table(more))
    assert bag(kind.read(first)) == bag(table(values))
    assert bag(kind.read(both)) == bag(table(values + more))
    assert kind.read(kind.cut(both, kind.size(first))).equals(kind.read(first))


def test_doubles_that_are_no_numbers(tmp_path: Path) -> None:
    doubles = pa.table({"d": pa.array([float("nan"), float("inf"), float("-inf"), 0.1, None])})
    for kind in FORMATS.values():
        one = kind(schema(("d", DOUBLE)))
        assert bag(one.read(one.grown(None, doubles))) == bag(doubles)


def test_files_by_the_values_of_columns(tmp_path: Path) -> None:
    """The columns are in the names of folders, as others read them; the rows of a partition are in its files."""
    with sash.connect(history="all") as db:
        db.execute("""
            CREATE STREAM s (ts TIMESTAMP, city STRING, day DATE, n BIGINT) TIMESTAMP BY ts;
            CREATE MATERIALIZED VIEW v AS SELECT city, day, n FROM s [RANGE 5 SECONDS];
        """)
        db.execute(create(tmp_path / "p", "v", mode="changes", partition_by="day, city"))
        cities = ["Ulm", "a/b=c", None, "100 %", "Ülm", "Ulm", "", "x:y"]
        for n, city in enumerate(cities * 4):
            db.push("s", [(datetime(2026, 1, 1, 0, 0, n), city, date(2026, 1, 1 + n % 3), n)])
        db.end()
        db.sinks.drain()
        expected = bag(db.changes("v").select(["_op", "n", "city"]))  # type: ignore[union-attr]
        found = partitioned(tmp_path / "p", ["_op", "n", "city"])
        assert found == expected and len(found) > 50
        assert (tmp_path / "p" / "day=2026-01-01" / "city=a%2Fb%3Dc").is_dir()
        assert (tmp_path / "p" / "day=2026-01-01" / "city=__HIVE_DEFAULT_PARTITION__").is_dir()


@pytest.mark.parametrize("column", [".k", "_k", "..", "_"])
def test_folders_of_columns_with_a_dot_or_a_line_are_seen(tmp_path: Path, column: str) -> None:
    """By readers, who pass over .k=1 and _k=1, and by the next run, which left them there beside its own."""
    for n in range(2):
        with sash.connect() as db:
            db.execute(f"CREATE TABLE t (`{column}` BIGINT, n BIGINT); CREATE MATERIALIZED VIEW v AS SELECT * FROM t")
            db.execute(create(tmp_path / "p", "v", mode="changes", existing="replace", partition_by=f"`{column}`"))
            db.push("t", [(n, 7)])
            db.end()
            db.sinks.drain()
        found = dataset(str(tmp_path / "p"), format="parquet", partitioning="hive").to_table()
        assert found.select([column, "n"]).to_pylist() == [{column: n, "n": 7}]


def test_a_text_that_readers_take_for_null_is_refused(tmp_path: Path) -> None:
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k STRING); CREATE MATERIALIZED VIEW v AS SELECT k FROM t")
        db.execute(create(tmp_path / "p", "v", mode="changes", partition_by="k", format="json"))
        db.push("t", [("__HIVE_DEFAULT_PARTITION__",)])
        db.end()
        with pytest.raises(SashError, match="rows have the text '__HIVE_DEFAULT_PARTITION__' in column \"k\", which no partition has"):
            db.sinks.drain()
        with pytest.warns(SinkWarning):
            db.close()


def test_links_and_names_in_a_folder_lead_to_no_file_elsewhere(tmp_path: Path) -> None:
    """As anybody may have put there who may write to the folder: a link as the lock was emptied, a file that was named removed."""
    victim = tmp_path / "precious.txt"
    victim.write_text("mine")
    (tmp_path / "p/_sash").mkdir(parents=True)
    (tmp_path / "p/_sash/lock").symlink_to(victim)
    one = FilesSink(SinkSpec("o", "v", schema(("k", STRING)), Mode.CHANGES, (), None, (("path", str(tmp_path / "p")),)), "run", 1, tmp_path)
    with pytest.raises(SashError, match="cannot be used"):
        one.begin()
    (tmp_path / "p/_sash/lock").unlink()
    one.begin()
    change = {"../precious.txt": Change(digest(b"mine"), 0), "part-00000001.parquet": Change("", 0)}
    found = Record.read(Folder.of(tmp_path / "p"))
    assert found is not None
    replace(found, next=Next(1, change)).put(Folder.of(tmp_path / "p"))
    with pytest.raises(SashError, match="is no name of a file in a folder"):
        one.begin()
    assert victim.read_text() == "mine"


def test_spreading_keeps_the_order() -> None:
    table = pa.table({"_op": [1, 1, -1, 1], "_ts": [1, 2, 3, 4], "k": ["a", "b", "a", "b"], "n": [1, 2, 1, 3]})
    found = {path: rows.to_pydict() for path, rows in spread(table, (0,), 2)}
    assert found == {"k=a": {"_op": [1, -1], "_ts": [1, 3], "n": [1, 1]}, "k=b": {"_op": [1, 1], "_ts": [2, 4], "n": [2, 3]}}


SPEC = SinkSpec("n", "v", schema(("k", STRING), ("n", BIGINT)), Mode.UPSERT, (), None, ())


def sink(path: Path, run: str, epoch: int = 0, mode: Mode = Mode.UPSERT, existing: Existing | None = None, **options: str) -> FilesSink:
    known = {**SPEC.__dict__, "options": (("path", str(path)), *options.items()), "mode": mode, "existing": existing}
    return FilesSink(SinkSpec(**known), run, epoch, path.parent)


def taken(after: int | None, position: int, *changes: tuple[int, str, int]) -> Taken:
    ops, keys, counts = zip(*changes, strict=True) if changes else ((), (), ())
    table = pa.table({
        "_op": pa.array(ops, pa.int8()), "_ts": pa.array([0] * len(changes), pa.timestamp("us")), "k": pa.array(keys, pa.string()),
        "n": pa.array(counts, pa.int64()),
    })  # fmt: skip
    return Taken(after, position, table)


def held(path: Path, mode: Mode = Mode.UPSERT) -> Counter[Any]:
    found = rows(path, SPEC.schema if mode is Mode.UPSERT else changes_schema(SPEC.schema))
    return bag(found if mode is Mode.UPSERT else found.drop(["_ts"]))


class Killed(BaseException):
    """Nothing more is done by who is dead."""


BATCHES = [
    taken(None, 0, (1, "a", 1), (1, "b", 1), (1, "c", 9)), taken(0, 3, (-1, "a", 1), (1, "a", 2)), taken(3, 4, (-1, "b", 1)),
    taken(4, 5), taken(5, 6, (1, "b", 7), (1, "c", 9)),
]  # fmt: skip


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("mode", list(Mode))
def test_killed_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode, form: str) -> None:
    """Before every file that is written and after it; who goes on finds each batch once, and readers only ever saw whole files."""
    options = {"partition_by": "k"} if mode is Mode.CHANGES and form == "parquet" else {}
    put_file, left = Folder.put, [0, 0]

    def dying(folder: Folder, name: str, parts: Any, **told: Any) -> None:
        left[0] -= 1
        if left[0] == 0 and left[1]:
            raise Killed
        put_file(folder, name, parts, **told)
        if left[0] == 0:
            raise Killed

    expected: Counter[Any] = Counter()
    for batch in BATCHES:
        changes = batch.changes.to_pylist()
        expected.update({((row["_op"],) if mode is Mode.CHANGES else ()) + (row["k"], row["n"]): 0 for row in changes})
        for row in changes:
            expected[((row["_op"],) if mode is Mode.CHANGES else ()) + (row["k"], row["n"])] += 1 if mode is Mode.CHANGES else row["_op"]
    expected = +expected
    died = 0
    for moment in range(1, 40):
        if died < 2 * (moment - 1):
            break  # nothing was written any more
        for is_before in (0, 1):
            path = tmp_path / f"{moment}-{is_before}"
            monkeypatch.setattr(Folder, "put", dying)
            left[:] = [moment, is_before]
            one = sink(path, "run", mode=mode, format=form, **options)
            try:
                write_all(one)
            except Killed:
                died += 1
            monkeypatch.setattr(Folder, "put", put_file)
            whole(path)
            write_all(sink(path, "run", 1, mode=mode, format=form, **options))
            found = partitioned(path, ["_op", "k", "n"]) if options else held(path, mode)
            assert found == expected, (moment, is_before)
    assert died >= 10


def write_all(one: FilesSink) -> None:
    position = one.begin()
    for batch in BATCHES[0 if position is None else [batch.position for batch in BATCHES].index(position) + 1 :]:
        one.write(batch)


def test_a_batch_that_has_grown_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it is in its partitions when the writer dies; the next one gets it together with the batch after it."""
    one = sink(tmp_path / "f", "run", mode=Mode.CHANGES, partition_by="k")
    one.begin()
    one.write(taken(None, 0, (1, "a", 1), (1, "b", 1)))
    put_file, count = Folder.put, [0]

    def dying(folder: Folder, name: str, parts: Any, **told: Any) -> None:
        count[0] += 1
        if count[0] == 3:
            raise Killed
        put_file(folder, name, parts, **told)

    monkeypatch.setattr(Folder, "put", dying)
    with pytest.raises(Killed):
        one.write(taken(0, 1, (1, "a", 2), (1, "b", 2), (1, "c", 2)))
    monkeypatch.setattr(Folder, "put", put_file)
    assert len(files(tmp_path / "f")) == 2
    two = sink(tmp_path / "f", "run", 1, mode=Mode.CHANGES, partition_by="k")
    assert two.begin() == 0
    assert partitioned(tmp_path / "f", ["k", "n"]) == {("a", 1): 1, ("b", 1): 1}
    two.write(taken(0, 2, (1, "a", 2), (1, "b", 2), (1, "c", 2), (-1, "a", 1)))
    assert partitioned(tmp_path / "f", ["_op", "k", "n"]) == Counter(
        [(1, "a", 1), (1, "b", 1), (1, "a", 2), (1, "b", 2), (1, "c", 2), (-1, "a", 1)]
    )


def test_each_batch_once_whoever_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "f"
    one = sink(path, "run")
    assert one.begin() is None
    assert one.write(taken(None, 0, (1, "a", 1), (1, "a", 1), (1, "b", 1))) == 3
    with pytest.raises(SinkMoved):
        one.write(taken(None, 0, (1, "a", 1)))
    assert held(path) == {("a", 1): 2, ("b", 1): 1}
    two = sink(path, "run", epoch=1)
    assert two.begin() == 0
    with pytest.raises(SinkRefused, match="another run has taken over files"):
        one.write(taken(0, 1, (-1, "b", 1)))
    with pytest.raises(SinkRefused, match="another run has taken over files"):
        one.begin()
    assert two.write(taken(0, 1, (-1, "b", 1))) == 1
    assert held(path) == {("a", 1): 2}
    with pytest.raises(SinkRefused, match=r'rows leave view "v" that files .* does not have'):
        two.write(taken(1, 2, (-1, "z", 1)))
    assert two.begin() == 1
    (path / "answer.parquet").unlink()  # somebody has taken it away: it is written anew
    assert two.begin() is None
    two.write(taken(None, 7, (1, "c", 1)))
    assert held(path) == {("c", 1): 1}
    two.release()
    three = sink(path, "other", format="parquet")
    assert three.begin() is None and held(path) == {("c", 1): 1}
    three.write(taken(None, 0))
    assert held(path) == {}


def test_folders_of_others(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.mkdir()
    (path / "mine.txt").write_text("a letter")
    with pytest.raises(SinkRefused, match=r'has files that no sink has written: "mine.txt"; name a folder that is empty'):
        sink(path, "run").check()
    with pytest.raises(SinkRefused, match="no sink has written"):
        sink(path, "run", existing=Existing.REPLACE).begin()
    (path / "mine.txt").unlink()
    one = sink(path, "run", mode=Mode.CHANGES)
    one.begin()
    one.write(taken(None, 0, (1, "a", 1)))
    for other in (sink(path, "next", mode=Mode.CHANGES), sink(path, "next"), sink(path, "next", mode=Mode.CHANGES, partition_by="k")):
        with pytest.raises(SinkRefused, match=r"has files that another run has written; name another folder, or say"):
            other.check()
    with pytest.raises(SinkRefused, match="holds other files"):
        sink(path, "run", mode=Mode.CHANGES, format="csv").begin()
    with pytest.raises(SinkRefused, match="holds other files"):
        sink(path, "next", mode=Mode.CHANGES, format="csv", existing=Existing.APPEND).begin()
    two = sink(path, "next", mode=Mode.CHANGES, existing=Existing.APPEND)
    assert two.begin() is None
    two.write(taken(None, 0, (1, "b", 1)))
    assert held(path, Mode.CHANGES) == {(1, "a", 1): 1, (1, "b", 1): 1}
    three = sink(path, "third", existing=Existing.REPLACE, format="json")
    assert three.begin() is None
    three.write(taken(None, 0, (1, "x", 1)))
    assert [file.name for file in files(path)] == ["answer.json"] and held(path) == {("x", 1): 1}
    (path / "_sash" / "record").write_text("{")
    with pytest.raises(SashError, match="record is damaged"):
        three.begin()


@pytest.mark.parametrize(("options", "said"), [
    ({}, "a sink in files needs a folder"), ({"path": "f", "format": "xls"}, "format = 'xls' is unknown; it is one of: parquet, json, csv"),
    ({"path": "f", "partition_by": "k"}, "partition_by is for mode = 'changes'"), ({"path": "f", "file_size": "big"}, "file_size = 'big' is no size"),
    ({"path": "f", "key": "k"}, 'a sink has no option "key"; options are: path, format'), ({"path": "f", "mode": "changes", "partition_by": "x"}, '"x"'),
    ({"path": "f", "mode": "changes", "partition_by": "d"}, 'files cannot be spread by column "d", which is DOUBLE'),
    ({"path": "f", "format": "csv"}, 'CSV has no arrays, but column "a" is ARRAY<BIGINT>'),
])  # fmt: skip
def test_what_is_refused(tmp_path: Path, options: dict[str, str], said: str) -> None:
    with sash.connect(base=tmp_path) as db:
        db.execute("CREATE TABLE t (k STRING, d DOUBLE, a ARRAY<BIGINT>); CREATE MATERIALIZED VIEW v AS SELECT * FROM t")
        listed = ", ".join(f"{key} = '{value}'" for key, value in options.items()) or "mode = 'upsert'"
        with pytest.raises(SashError) as failure:
            db.execute(f"CREATE SINK s FROM v TO FILES WITH ({listed})")
        assert said in str(failure.value)
        assert not list(tmp_path.iterdir())


def test_two_runs_and_one_folder(tmp_path: Path) -> None:
    job = "CREATE TABLE t (k STRING, v BIGINT); CREATE MATERIALIZED VIEW v AS SELECT k, SUM(v) AS v FROM t GROUP BY k;"
    with sash.connect() as first, sash.connect() as second:
        for db, key in ((first, "a"), (second, "b")):
            db.execute(job + create(tmp_path / "f", "v"))
            db.push("t", [(key, 1)])
            db.end()
            check(tmp_path / "f", db, "v")
        first.push("t", [("a", 1)])
        first.end()
        with pytest.raises(SashError, match="another run has taken over files"):
            first.drain()
        second.push("t", [("c", 1)])
        second.end()
        check(tmp_path / "f", second, "v")
        with pytest.warns(SinkWarning, match="another run has taken over"):
            first.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a file")
    with sash.connect() as db:
        db.execute("CREATE TABLE t (k STRING); CREATE MATERIALIZED VIEW v AS SELECT * FROM t")
        with pytest.raises(SashError, match="cannot be used"):
            db.execute(create(tmp_path / "f", "v"))


KILLED = """
import sys, sash
from datetime import datetime, timedelta
db = sash.connect()
db.execute(sys.argv[1])
for start in range(0, 100_000, 50):
    db.push("s", [(datetime(2026, 1, 1) + timedelta(milliseconds=start + n), f"k{n % 7}", n) for n in range(50)])
    print(start, flush=True)
"""


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """Readers find one whole answer; the next run begins with its own."""
    job = JOB.replace(" WITH (format = 'csv', path = 'in')", "") + create(tmp_path / "f", "counts")
    process = subprocess.Popen([sys.executable, "-c", KILLED, job], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(40):
        assert process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    with sash.connect() as db:
        db.execute(job)
        db.push("s", [(datetime(2026, 1, 1), "a", 1), (datetime(2026, 1, 1, 0, 0, 3), "b", 1)])
        check(tmp_path / "f", db, "counts")


def connect(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> SparkDatabase:
    sinks = create(Path("a"), "counts") + create(Path("b"), "plain", mode="changes", format="json", file_size="1 KB")
    sinks += create(Path("c"), "plain", mode="changes", partition_by="k")
    return connected(monkeypatch, folder, JOB + sinks, batch_rows=10, **options)


def check_job(folder: Path, db: SparkDatabase) -> None:
    answer = db.final("counts").to_arrow()
    assert bag(rows(folder / "a", db.catalog.views["counts"].plan.schema)) == bag(answer)
    changes = pa.concat_tables(db._running().ledger.read_all("plain.changes.parquet"))
    assert bag(rows(folder / "b", changes_schema(db.catalog.views["plain"].plan.schema))) == bag(changes)
    assert partitioned(folder / "c", ["_op", "_ts", "k", "v"]) == bag(changes)


def test_a_job_on_spark_goes_on_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 0, 40)
    db = connect(tmp_path, monkeypatch, flush=False)
    db.start()
    die_before_commit(db, monkeypatch)
    put(tmp_path, 1000, 20)
    again = connect(tmp_path, monkeypatch, flush=False)
    again.start()
    again.drain()
    check_job(tmp_path, again)
    put(tmp_path, 2000, 20)
    again.drain()
    check_job(tmp_path, again)
    again.stop()
    last = connect(tmp_path, monkeypatch)
    last.run()
    check_job(tmp_path, last)
    assert len(files(tmp_path / "b")) > 1
    whole(tmp_path / "c")


@pytest.mark.parametrize("mode", list(Mode))
def test_a_folder_in_an_object_store(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with s3_server() as server:
        options = (("path", server.uri(f"sink-{mode.value}")), *([("partition_by", "k")] if mode is Mode.CHANGES else []))
        spec = SinkSpec(**{**SPEC.__dict__, "options": options, "mode": mode})
        for epoch in (0, 1):
            write_all(FilesSink(spec, "run", epoch, Path()))
        folder = Folder.of(server.uri(f"sink-{mode.value}"))
        with pytest.raises(SinkRefused, match="another run has taken over"):
            FilesSink(spec, "run", 0, Path()).begin()
        if mode is Mode.UPSERT:
            data = folder.read("answer.parquet")
            assert bag(FORMATS["parquet"](SPEC.schema).read(bytes(data))) == {("a", 2): 1, ("b", 7): 1, ("c", 9): 2}  # type: ignore[arg-type]
        else:
            data = folder.child("k=a").read("part-00000001.parquet")
            held = FORMATS["parquet"](schema(("_op", INT), ("_ts", TIMESTAMP), ("n", BIGINT))).read(bytes(data))  # type: ignore[arg-type]
            assert held.column("n").to_pylist() == [1, 1, 2]
