"""Views that come later, on several shards: they show what an engine in this process shows, or say from when on they will."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from without_spark import Crash, connected, query_of

from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark.arenas import arenas_on_this_machine, remove_arenas
from sash.spark.checkpoint import Checkpoint

S = "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) TIMESTAMP BY ts"
T = "CREATE TABLE t (k STRING, name STRING)"
FILES = f"{S} WITH (format = 'csv', path = 's');"
KEPT = "CREATE MATERIALIZED VIEW kept AS SELECT k, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k;"
NAMES = "CREATE MATERIALIZED VIEW names AS SELECT s.v, t.name FROM s [RANGE 20 SECONDS] s JOIN t ON s.k = t.k;"

Connect = Callable[..., SparkDatabase]


def put(folder: Path, first: int, last: int) -> list[tuple[int, str, int]]:
    """Rows of these seconds, in a file."""
    rows = [(second, "abcd"[second % 4], second % 3) for second in range(first, last)]
    (folder / "s").mkdir(exist_ok=True)
    (folder / f"s/{first:03d}.csv").write_text("".join(f"{ts},{k},{v}\n" for ts, k, v in rows))
    return rows


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Connect:
    return lambda sql, **options: connected(monkeypatch, tmp_path, sql, **options)


def answer(db: SparkDatabase | EmbeddedDatabase, view: str) -> Counter[str]:
    return Counter(map(repr, db.view(view).to_pylist()))


def started(db: SparkDatabase) -> SparkDatabase:
    db.start()
    db.drain()
    return db


def reference(sql: str, rows: list[tuple[int, str, int]]) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(sql)
    db.push("s", rows)
    return db


def test_a_level_that_is_new_tells_what_it_missed(connect: Connect, tmp_path: Path) -> None:
    """The join reads the stream by another key, behind the exchange of the groups."""
    put(tmp_path, 1, 30)
    db = started(connect(FILES + KEPT))
    db.execute("CREATE MATERIALIZED VIEW most AS SELECT k, MAX(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k")
    db.execute("CREATE MATERIALIZED VIEW who AS SELECT s.ts, s.k FROM s [RANGE 5 SECONDS] s JOIN most ON s.k = most.k AND s.v = most.v")
    since = db.complete_since("who")
    assert since is not None and since.replace(tzinfo=UTC).timestamp() > 29 + 5


def test_every_shard_tells_what_it_forgot(connect: Connect, tmp_path: Path) -> None:
    """All rows are of one key, whose shard alone has forgotten some."""
    (tmp_path / "s").mkdir()
    for key in "abcd":
        (tmp_path / "s/1.csv").write_text("".join(f"{second},{key},1\n" for second in range(60)))
        db = started(connect(FILES + KEPT))
        db.execute("CREATE MATERIALIZED VIEW more AS SELECT k, SUM(v) AS v FROM s [RANGE 30 SECONDS] GROUP BY k")
        since = db.complete_since("more")
        assert since is not None and since.replace(tzinfo=UTC).timestamp() > 60, key
        db.close()
        for path in (tmp_path / "point", tmp_path / "out"):
            path.rename(path.with_name(f"{path.name}-{key}"))


def test_a_view_that_is_a_part_of_a_running_one(connect: Connect, tmp_path: Path) -> None:
    rows = put(tmp_path, 1, 30)
    inner = "SELECT k, SUM(v) AS n FROM s [RANGE 6 SECONDS] GROUP BY k"
    outer = f"CREATE MATERIALIZED VIEW o AS SELECT n, COUNT(*) AS groups FROM ({inner}) GROUP BY n;"
    db, whole = started(connect(FILES + outer)), reference(f"{S};{outer}", rows)
    for one in (db, whole):
        one.execute(f"CREATE MATERIALIZED VIEW i AS {inner}")
    assert answer(db, "i") == answer(whole, "i") == answer(reference(f"{S};CREATE MATERIALIZED VIEW i AS {inner}", rows), "i")
    whole.push("s", put(tmp_path, 30, 40))
    db.drain()
    for view in "oi":
        assert answer(db, view) == answer(whole, view) != Counter(), view


def test_a_view_is_replaced_without_a_gap(connect: Connect, tmp_path: Path) -> None:
    rows = put(tmp_path, 1, 30)
    db, whole = started(connect(FILES + KEPT)), reference(f"{S};{KEPT}", rows)
    for one in (db, whole):
        one.execute("CREATE OR REPLACE MATERIALIZED VIEW kept (key, least) AS SELECT k, MIN(v) FROM s [RANGE 20 SECONDS] GROUP BY k")
    assert answer(db, "kept") == answer(whole, "kept") != Counter()
    assert db.complete_since("kept") == whole.complete_since("kept")
    with pytest.raises(SashError, match='"nobody" was not read'):
        db.execute("CREATE STREAM nobody (ts TIMESTAMP) TIMESTAMP BY ts; CREATE OR REPLACE MATERIALIZED VIEW kept AS SELECT * FROM nobody")
    whole.push("s", put(tmp_path, 30, 40))
    db.close()
    db = started(connect(FILES + KEPT))
    assert answer(db, "kept") == answer(whole, "kept") != Counter()
    assert Counter(pq.read_table(tmp_path / "out/kept.changes.parquet").column("_ts").to_pylist()) == Counter(
        whole.changes("kept").column("_ts").to_pylist()
    )


def test_a_table_is_read_by_another_key(connect: Connect, tmp_path: Path) -> None:
    rows = put(tmp_path, 1, 30)
    fill = "INSERT INTO t VALUES ('a', 'Ann'), ('b', 'Bob'), ('c', 'Ann');"
    db, whole = connect(f"{FILES}{T};{fill}{NAMES}"), reference(f"{S};{T};{fill}{NAMES}", rows)
    started(db)
    for one in (db, whole):
        one.execute("CREATE MATERIALIZED VIEW groups AS SELECT name, COUNT(*) AS n FROM t GROUP BY name")
        one.execute("CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM t")
    for _ in range(2):
        db.drain()
        for view in ("groups", "total", "names"):
            assert answer(db, view) == answer(whole, view) != Counter(), view
        for one in (db, whole):
            one.execute("DELETE FROM t WHERE k = 'a'; INSERT INTO t VALUES ('d', 'Dan'); UPDATE t SET name = 'Bea' WHERE k = 'b'")


def test_a_restart_knows_all_that_was_declared_since(connect: Connect, tmp_path: Path) -> None:
    put(tmp_path, 1, 9)
    (tmp_path / "u").symlink_to(tmp_path / "s")
    db = started(connect(FILES + KEPT))
    db.execute(f"CREATE VIEW odd AS SELECT k, v FROM s [RANGE 20 SECONDS] WHERE v = 1; {T}; INSERT INTO t VALUES ('a', 'Ann')")
    db.execute(S.replace("STREAM s", "STREAM u") + " WITH (format = 'csv', path = 'u')")
    db.execute("CREATE AGGREGATE spread(x INT) RETURNS INT AS MAX(x) - MIN(x)")
    db.execute("CREATE MATERIALIZED VIEW `my odd ones` (`key`, `how many`) AS SELECT k, COUNT(*) FROM odd GROUP BY k")
    db.execute(f"{NAMES} CREATE MATERIALIZED VIEW `select` AS SELECT k, spread(v) AS v FROM u [RANGE 5 SECONDS] GROUP BY k")
    db.drain()
    views = ("kept", "my odd ones", "names", "select")
    before = {view: answer(db, view) for view in views}
    assert all(before.values()) and all("how many" in row for row in before["my odd ones"])
    for said in (FILES + KEPT, f"{FILES}{KEPT}{T};"):
        db.close()
        db = started(connect(said))
        assert {view: answer(db, view) for view in views} == before
    db.execute("DELETE FROM t; DROP VIEW `my odd ones`")
    db.drain()
    assert not answer(db, "names")


def test_a_view_of_the_same_name_has_nothing_of_the_old_one(connect: Connect, tmp_path: Path) -> None:
    """Also not what a batch says that was cut off before the old one was dropped."""
    put(tmp_path, 1, 9)
    db = started(connect(FILES + KEPT))
    put(tmp_path, 9, 20)
    query_of(db).crash = (1, 1)
    with pytest.raises(Crash):
        db.drain()
    db.stop()
    text = "CREATE MATERIALIZED VIEW kept AS SELECT v, MAX(k) AS n FROM s [RANGE 20 SECONDS] GROUP BY v"
    db.execute("DROP VIEW kept")
    db.execute(text)
    put(tmp_path, 20, 23)
    started(db)
    expected = answer(db, "kept")
    db.close()
    assert answer(started(connect(FILES + text)), "kept") == expected != Counter()
    assert set(pq.read_schema(tmp_path / "out/kept.changes.parquet/batch-none.parquet").names) == {"_op", "_ts", "v", "n"}


class Product:
    """Of the values."""

    def create(self) -> int:
        return 1

    def accumulate(self, state: int, value: int) -> int:
        return state * (value + 1)

    def finish(self, state: int) -> float:
        return float(state)


def test_a_view_with_code_of_the_user_goes_on_when_others_come(connect: Connect, tmp_path: Path) -> None:
    """A job on record has another copy of the code, under the same name."""
    code = "CREATE MATERIALIZED VIEW code AS SELECT k, SUM(twice(v)) AS v, product(v) AS p FROM s [RANGE 20 SECONDS] GROUP BY k;"

    def registered(db: SparkDatabase | EmbeddedDatabase, sql: str) -> SparkDatabase | EmbeddedDatabase:
        twice = lambda values: pc.multiply(values, 2)  # noqa: E731
        db.register("twice", twice, "INT", ["INT"])
        db.register("product", type("Product", (Product,), {}), "DOUBLE")
        db.execute(sql)
        return db

    rows = put(tmp_path, 1, 9)
    whole = registered(EmbeddedDatabase(), f"{S};{code}")
    assert isinstance(whole, EmbeddedDatabase)
    whole.push("s", rows)
    db = registered(connect(""), FILES + code)
    assert isinstance(db, SparkDatabase)
    started(db)
    for one in (db, whole):
        one.execute(f"CREATE MATERIALIZED VIEW later AS SELECT MAX(twice(v)) AS v FROM s [RANGE 9 SECONDS]; {KEPT}")
    whole.push("s", put(tmp_path, 9, 30))
    db.drain()
    for view in ("code", "kept"):
        assert answer(db, view) == answer(whole, view) != Counter(), view
    db.close()
    db = registered(connect(""), FILES + code)
    assert isinstance(db, SparkDatabase)
    started(db)
    whole.push("s", put(tmp_path, 30, 33))
    db.execute("DROP VIEW later")
    db.drain()
    for view in ("code", "kept"):
        assert answer(db, view) == answer(whole, view) != Counter(), view


def test_a_view_whose_driver_died_before_its_event_runs_after_the_restart(connect: Connect, tmp_path: Path) -> None:
    """The version of the job was on record, and nothing told anybody to run it: the view was there, and never had a row."""

    def dies(event: object) -> None:
        raise KeyboardInterrupt

    rows = put(tmp_path, 1, 30)
    db = started(connect(FILES + T + ";" + KEPT + "INSERT INTO t VALUES ('a', 'Ann');"))
    host = db._running()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(host._checkpoint), "ask", lambda self, event: dies(event))
        db.execute(NAMES)
    db.stop()
    again = started(connect(FILES + T + ";" + KEPT + "INSERT INTO t VALUES ('a', 'Ann');"))
    expected = reference(f"{S};{T};INSERT INTO t VALUES ('a', 'Ann');{NAMES}", rows)
    assert answer(again, "names") == answer(expected, "names") != Counter()


def test_first_rows_of_a_table_are_not_lost_with_a_driver_that_dies_among_them(connect: Connect, tmp_path: Path) -> None:
    """They were asked for only by whoever had made the checkpoint."""
    rows, table = put(tmp_path, 1, 30), "INSERT INTO t VALUES ('a', 'Ann'); INSERT INTO t VALUES ('b', 'Bob'); DELETE FROM t WHERE k = 'a';"
    for asked in (0, 1):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            real, count = Checkpoint.ask_as, [0]

            def ask(
                self: Checkpoint, number: int, event: dict[str, object], real: object = real, count: list[int] = count, most: int = 1 - asked
            ) -> None:
                if count[0] == most:
                    raise KeyboardInterrupt
                count[0] += 1
                real(self, number, event)  # type: ignore[operator]

            patch.setattr(Checkpoint, "ask_as", ask)
            connect(FILES + T + ";" + NAMES + table)._running()
    db = started(connect(FILES + T + ";" + NAMES + table))
    assert answer(db, "names") == answer(reference(f"{S};{T};{table}{NAMES}", rows), "names") != Counter()


def test_what_was_asked_for_before_a_bounded_run_comes_before_its_end(connect: Connect, tmp_path: Path) -> None:
    """With nothing left to read, the first change of a table brought the end, and the view after it never came."""
    put(tmp_path, 1, 10)
    db = started(connect(FILES + f"{T};" + NAMES))
    db.stop()
    db.execute("INSERT INTO t VALUES ('a', 'Ann')")
    db.execute("CREATE MATERIALIZED VIEW people AS SELECT name, COUNT(*) AS n FROM t GROUP BY name")
    db.execute("INSERT INTO t VALUES ('b', 'Ann')")
    db.run()
    assert db.is_finished
    assert db.view("people").to_pylist() == [{"name": "Ann", "n": 2}]
    assert sum(answer(db, "names").values()) == sum(second % 4 < 2 for second in range(1, 10))


def test_a_version_of_the_job_that_is_lost_before_it_ran_is_not_made_anew(connect: Connect, tmp_path: Path) -> None:
    """The next statement took its number, and came in its place."""
    put(tmp_path, 1, 10)
    db = started(connect(FILES + KEPT))
    db.stop()
    db.execute("CREATE MATERIALIZED VIEW one AS SELECT k, SUM(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k")
    db.execute("CREATE MATERIALIZED VIEW two AS SELECT k, MAX(v) AS v FROM s [RANGE 20 SECONDS] GROUP BY k")
    db.close()
    (tmp_path / "point/jobs/00000002").unlink()
    with pytest.raises(SashError, match=r"jobs/00000002 is missing"):
        connect(FILES + KEPT).start()


def test_a_statement_on_record_is_not_undone_when_its_batch_fails(connect: Connect, tmp_path: Path) -> None:
    """The session went back to the view that was replaced, and built others on it; the checkpoint had the new one."""
    put(tmp_path, 1, 30)
    db = started(connect(FILES + KEPT))
    (tmp_path / "s/001.csv").write_text("changed\n")
    with pytest.raises(SashError, match=r"the statement is on record, but the job does not go on: the file .* has changed"):
        db.execute("CREATE OR REPLACE MATERIALIZED VIEW kept AS SELECT v FROM s [RANGE 5 SECONDS]")
    put(tmp_path, 1, 30)
    db.stop()
    started(db).execute("CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n, SUM(v) AS v FROM kept")
    rows = put(tmp_path, 30, 60)
    db.drain()
    expected = reference(f"{S}; CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n, SUM(v) AS v FROM s [RANGE 5 SECONDS]", rows)
    assert answer(db, "total") == answer(expected, "total")


def test_first_rows_of_a_table_come_once_when_two_drivers_bring_them(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both found that nobody had asked for them, and each took the next free number."""
    rows, table = put(tmp_path, 1, 30), "INSERT INTO t VALUES ('a', 'Ann'); INSERT INTO t VALUES ('b', 'Bob');"
    sql, real, others = FILES + T + ";" + NAMES + table, Checkpoint.ask_as, []

    def ask(self: Checkpoint, number: int, event: dict[str, object]) -> None:
        if not others:
            others.append(connect(sql))
            others[0]._running()
        real(self, number, event)

    monkeypatch.setattr(Checkpoint, "ask_as", ask)
    connect(sql)._running()
    db = started(connect(sql))
    assert answer(db, "names") == answer(reference(f"{S};{T};{table}{NAMES}", rows), "names") != Counter()


def test_a_look_that_makes_a_shard_again_knows_the_views_that_came(connect: Connect, tmp_path: Path) -> None:
    """It took the job as it is for the one that the checkpoint began with: the shard was made as if the new view had always been
    there, without its first rows, and the next batches went on with that."""
    rows, db = put(tmp_path, 1, 15), connect(FILES + KEPT)
    host = db._running()
    host._settings = replace(host._settings, snapshot_every=2)  # the last one is from before the new view
    started(db)
    rows += put(tmp_path, 15, 30)
    db.drain()
    db.execute("CREATE MATERIALIZED VIEW keys AS SELECT DISTINCT k FROM s [RANGE 9 SECONDS]")
    remove_arenas(arenas_on_this_machine(host._settings.arenas))
    expected = reference(f"{S}; CREATE MATERIALIZED VIEW keys AS SELECT DISTINCT k FROM s [RANGE 9 SECONDS]", rows)
    assert answer(db, "keys") == answer(expected, "keys") != Counter()
    expected.push("s", put(tmp_path, 30, 60))
    db.drain()
    assert answer(db, "keys") == answer(expected, "keys")
    ops = [row["_op"] for file in sorted((tmp_path / "out/keys.changes.parquet").glob("*")) for row in pq.read_table(file).to_pylist()]
    assert sum(ops) == len(db._running().final("keys"))
