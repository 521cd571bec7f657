"""One interface: the same calls mean the same on both hosts, to the instant of an answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hosts import DECLARED, MEETING, SECOND, Played, as_set

import sash
from sash.database.database import Database
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError

HOSTS = ("embedded", "spark")
Play = Callable[..., Played]
START = datetime(1970, 1, 1)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


@pytest.fixture(params=HOSTS)
def play(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Play]:
    made: list[Played] = []

    def begun(sql: str = "", **options: Any) -> Played:
        made.append(Played(request.param, tmp_path, monkeypatch, sql, **options))
        return made[-1]

    yield begun
    for played in made:
        played.db.close()


def test_nobody_adds_a_public_method_to_one_host_alone() -> None:
    shared = {name for name in vars(Database) if not name.startswith("_")}
    for host, own in ((EmbeddedDatabase, {"taken_rows"}), (SparkDatabase, set())):
        public = {name for name in vars(host) if not name.startswith("_")}
        assert public - shared == own, host
        assert not host.__abstractmethods__


@pytest.mark.parametrize("host", [Database, EmbeddedDatabase, SparkDatabase])
def test_every_public_method_says_what_it_means(host: type[Database]) -> None:
    for name, member in inspect.getmembers(host):
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            assert inspect.getdoc(member) or inspect.getdoc(getattr(Database, name)), f"{host.__name__}.{name}"


def test_methods_take_the_same_arguments() -> None:
    for name, member in inspect.getmembers(Database, inspect.isfunction):
        if not name.startswith("_"):
            expected = list(inspect.signature(member).parameters)
            for host in (EmbeddedDatabase, SparkDatabase):
                assert list(inspect.signature(getattr(host, name)).parameters) == expected, name


def test_an_answer_says_its_instant_and_whether_it_is_final(play: Play) -> None:
    played = play()
    db = played.db
    first = db.view("v")
    assert (len(first), first.as_of, first.is_final) == (0, None, False)
    nothing = db.final("v")
    assert (len(nothing), nothing.as_of, nothing.is_final) == (0, None, True)

    played.put((10, "a", 1), (25, "b", 2))
    answer = db.view("v")
    assert (as_set(answer), answer.as_of, answer.is_final) == ({("a", 1), ("b", 2)}, at(25), False)
    final = db.final("v")  # ten seconds are waited for: all before the fifteenth is final
    assert (as_set(final), final.as_of, final.is_final) == ({("a", 1)}, at(15) - timedelta(microseconds=1), True)

    db.advance(40 * SECOND)
    played.settle()
    assert (db.view("v").as_of, db.view("v").is_final) == (at(40), False)
    assert db.final("v").as_of == at(40) - timedelta(microseconds=1)
    assert as_set(db.final("v")) == {("a", 1), ("b", 2)}

    db.advance(75 * SECOND)  # the first row is a minute old, and gone
    played.settle()
    assert (as_set(db.view("v")), db.view("v").as_of) == ({("b", 2)}, at(75))


def test_an_end_makes_the_answer_final(play: Play) -> None:
    played = play()
    played.put((10, "a", 1), (25, "b", 2))
    assert not played.db.is_finished
    played.db.end()
    assert played.db.is_finished
    for answer in (played.db.view("v"), played.db.final("v")):
        assert (as_set(answer), answer.as_of, answer.is_final) == ({("a", 1), ("b", 2)}, at(25), True)


def test_a_view_has_the_instant_of_its_own_streams(play: Play) -> None:
    played = play(MEETING)
    played.put((30, "a", 1))
    assert (played.db.view("v").as_of, played.db.view("meeting").as_of) == (at(30), at(30))
    assert (played.db.final("v").as_of, played.db.final("meeting").as_of) == (at(20) - timedelta(microseconds=1), None)
    played.put((90, "a"), stream="quiet")  # type: ignore[arg-type]
    assert (played.db.view("v").as_of, played.db.view("meeting").as_of) == (at(30), at(90))
    assert played.db.final("meeting").as_of == at(20) - timedelta(microseconds=1)


def test_one_stream_can_be_advanced_alone(play: Play) -> None:
    played = play(MEETING)
    played.put((30, "a", 1))
    played.put((30, "a"), stream="quiet")  # type: ignore[arg-type]
    played.db.advance("00:01:05", "quiet")
    played.db.execute("ADVANCE STREAM quiet TO '1970-01-01 00:01:06'")
    played.settle()
    assert played.db.final("v").as_of == played.db.final("meeting").as_of == at(20) - timedelta(microseconds=1)
    with pytest.raises(SashError, match='unknown stream "nobody"'):
        played.db.advance(90 * SECOND, "nobody")


@pytest.mark.parametrize("instant", ["1970-01-01 00:01:30", "00:01:30", 90 * SECOND, at(90), at(90).replace(tzinfo=UTC)])
def test_instants_are_given_as_people_have_them(play: Play, instant: sash.database.instants.Instant) -> None:
    played = play()
    played.put((30, "a", 1))
    played.db.advance(instant)
    played.settle()
    assert played.db.view("v").as_of == at(90)


OUTSIDE = [10**30, -(10**30), 2**62, datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), None, 1.5]


@pytest.mark.parametrize("instant", OUTSIDE, ids=[type(instant).__name__ for instant in OUTSIDE])
def test_an_instant_outside_of_the_calendar_is_refused_and_harms_nobody(play: Play, instant: Any) -> None:
    """It ended the database, and on Spark it would have been put down for good."""
    played = play()
    played.put((30, "a", 1))
    with pytest.raises(SashError, match=r"outside of the calendar|is no instant"):
        played.db.advance(instant)
    played.db.advance(90 * SECOND)
    played.settle()
    assert played.db.view("v").as_of == at(90)


def test_what_is_final_is_what_the_changes_add_up_to(play: Play) -> None:
    played = play()
    subscription, rows = played.db.subscribe("v", timeout=0.05), []
    for second in range(0, 200, 7):
        played.put((second, "abc"[second % 3], second))
    rows += [row for batch in subscription for row in batch.to_pylist()]
    held: dict[tuple[str, int], int] = {}
    for row in rows:
        key = (row["k"], row["n"])
        held[key] = held.get(key, 0) + row["_op"]
    assert {key for key, count in held.items() if count} == as_set(played.db.final("v")) != set()
    final = played.db.final("v").as_of
    assert final is not None and max(row["_ts"] for row in rows) <= final


def test_the_history_says_from_when_on_it_is_complete(play: Play) -> None:
    whole = play()
    whole.put((10, "a", 1), (30, "a", 2))
    assert whole.db.changes_since("v") == datetime(1, 1, 1)
    assert whole.db.complete_since("v") == datetime(1, 1, 1)
    whole.db.execute("CREATE MATERIALIZED VIEW later AS SELECT k, COUNT(*) AS c FROM s [RANGE 60 SECONDS] GROUP BY k")
    whole.put((60, "a", 3))
    assert at(10) <= whole.db.changes_since("later") <= at(50)


def test_tables_take_rows_by_push_and_delete(play: Play) -> None:
    played = play()
    played.db.push("names", [{"k": "a", "name": "Ann"}, {"k": "b", "name": "Bob"}])
    played.put((10, "a", 1), (11, "b", 2))
    assert as_set(played.db.view("named")) == {("a", "Ann", 1), ("b", "Bob", 2)}
    played.db.delete("names", [("b", "Bob")])
    played.db.push("names", pa.table({"k": ["b"], "name": ["Bea"]}))
    played.settle()
    assert as_set(played.db.view("named")) == {("a", "Ann", 1), ("b", "Bea", 2)}
    with pytest.raises(SashError, match="does not have all of these rows"):
        played.db.delete("names", [("x", "none")])
    with pytest.raises(SashError, match='"s" is a stream, and rows of a stream are not taken back'):
        played.db.delete("s", [(1, "a", 1)])


def test_statements_give_rows_that_show_themselves(play: Play) -> None:
    db = play().db
    shown = db.execute("SHOW VIEWS")
    assert shown is not None and [row["name"] for row in shown] == ["v", "named", "plain"]
    assert "plain" in repr(shown) and len(shown) == 3
    assert db.execute("CREATE TABLE t (k STRING)") is None
    plan = db.execute("EXPLAIN VIEW v")
    assert plan is not None and "\n".join(row["plan"] for row in plan) == str(db.explain("v"))
    assert all(line in repr(plan) for line in db.explain("v").splitlines())


def test_plans_are_explained_by_name_or_by_text(play: Play) -> None:
    played = play()
    played.put((10, "a", 1))
    text = db_text = played.db.explain("V")
    assert isinstance(text, str) and repr(text) == str(db_text) and "GroupBy" in text
    assert "<pre>" in text._repr_html_() and "<script>" not in played.db.explain("SELECT '<script>' AS x FROM s")._repr_html_()
    assert "Filter" in played.db.explain("SELECT k FROM s WHERE n > 1")
    assert "real" in played.db.analyze("v")
    with pytest.raises(SashError, match='unknown view "nobody"; views are: v, named, plain'):
        played.db.explain("nobody")


def test_counts_and_what_was_lost(play: Play) -> None:
    played = play("CREATE MATERIALIZED VIEW ratio AS SELECT 1 / n AS r FROM s;")
    played.put((10, "a", 0), (50, "b", 2))
    played.put((20, "late", 3))
    db = played.db
    assert db.late("s").column("k").to_pylist() == ["late"]
    assert db.dead("s").num_rows == 0 and db.dead("s").column_names == ["reason", "line", "file", "row"]
    assert db.metrics()["streams"]["s"] == {"late": 1, "dead": 0}
    assert [(count, "zero" in reason) for reason, count, _ in db.failures()] == [(1, True)]
    assert (db.progress.rows, db.progress.late, db.progress.event_time) == (3, 1, 50 * SECOND)
    assert db.state_bytes > 0
    with pytest.raises(SashError, match='unknown stream "v"'):
        db.late("v")


def test_schedules_change_while_it_runs(play: Play) -> None:
    played = play(schedule="bfs")
    played.put((10, "a", 1))
    played.db.schedule("dfs")
    played.db.schedule("rr", "v")
    played.put((20, "a", 1))
    assert as_set(played.db.view("v")) == {("a", 2)}
    with pytest.raises(SashError, match="schedule"):
        played.db.schedule("never")


def test_answers_are_written(play: Play, tmp_path: Path) -> None:
    played = play()
    played.put((10, "a", 1), (30, "a", 5))
    played.db.write_answers(tmp_path / "answers")
    assert pq.read_table(tmp_path / "answers/v.parquet").to_pylist() == [{"k": "a", "n": 1}]


def test_what_a_host_cannot_do_it_says(play: Play) -> None:
    played = play()
    if played.host == "embedded":
        calls: dict[str, Callable[[], object]] = {
            "push its rows": lambda: played.db.stream("s", None, "ts"),  # type: ignore[arg-type]
            r"read files by run\(\)": played.db.start,
            r"write_answers\(folder\)": played.db.write_answers,
        }
        played.db.drain()
    else:
        calls = {
            r"connect a streaming DataFrame with stream\(\)": lambda: played.db.push("s", [(1, "a", 1)]),
            "none was taken": lambda: played.db.push("names", [("a", "Ann", "too many")]),
            "create a materialized view of this window": lambda: played.db.query("SELECT * FROM s [RANGE 1 MINUTE]"),
        }
    played.db.poll()
    for way, call in calls.items():
        with pytest.raises(SashError, match=way):
            call()


def test_a_select_is_answered_from_what_views_and_tables_hold(play: Play) -> None:
    played = play("CREATE MATERIALIZED VIEW all_of_it AS SELECT SUM(n) AS n FROM s [RANGE 1 MINUTE]")
    db = played.db
    db.push("names", [("a", "Ann"), ("b", "Bob")])
    played.put((10, "a", 1), (25, "b", 2))
    for text, expected in (
        ("SELECT * FROM v", {("a", 1), ("b", 2)}),
        ("SELECT k FROM v WHERE n > 1", {("b",)}),
        ("SELECT k FROM v WHERE k = 'a' AND n < 5", {("a",)}),
        ("SELECT v.k, v.n, a.n AS whole FROM v, all_of_it a", {("a", 1, 3), ("b", 2, 3)}),
        ("SELECT COUNT(*) AS n FROM v", {(2,)}),
        ("SELECT k FROM v ORDER BY n DESC LIMIT 1", {("b",)}),
    ):
        answer = db.query(text)
        assert (as_set(answer), answer.as_of, answer.is_final) == (expected, at(25), False), text
    assert [row["k"] for row in db.query("SELECT k FROM v ORDER BY n DESC")] == ["b", "a"]
    assert as_set(db.query("SELECT k FROM names")) == {("a",), ("b",)}


def test_rows_of_a_view_are_found_by_an_index(play: Play) -> None:
    played = play()
    db = played.db
    played.put((1, "a", 5), (2, "b", 7), (3, "a", None))
    db.execute("CREATE INDEX by_k ON named (k); CREATE INDEX by_n ON named (n) USING TREE")
    prepared, ordered = db.prepare("SELECT n FROM named WHERE k = ?"), "SELECT n FROM named ORDER BY n DESC LIMIT 1"
    assert str(db.explain("SELECT n FROM named WHERE k = 'a'")).endswith("index by_k of named, HASH (k): k = one value")
    assert [[row["n"] for row in prepared.query(key)] for key in ("a", "b", "c")] == [[5, None], [7], []]
    assert [row["n"] for row in db.query(ordered)] == [7]
    played.put((30, "a", 9), (70, "c", 1))  # all before the tenth second have left, final or not
    assert [[row["n"] for row in prepared.query(key)] for key in ("a", "b", "c")] == [[9], [], [1]]
    assert [row["n"] for row in db.query(ordered)] == [9]
    db.execute("DROP INDEX by_n")
    assert [row["n"] for row in db.query(ordered)] == [9]
    assert str(db.explain(ordered)).endswith("all rows of named: no index of it serves")


def test_parts_of_planned_questions_are_found_by_indexes(play: Play) -> None:
    played = play()
    db, figures = played.db, "SELECT MEDIAN(n) AS m, MIN(n) AS least, COUNT(*) AS rows, COUNT(n) AS ns FROM named"
    played.put((1, "a", 5), (2, "b", 7), (3, "a", None), (4, "d", 8))
    db.execute("CREATE INDEX by_k ON named (k); CREATE INDEX by_n ON named (n) USING TREE")
    asked = {
        "SELECT COUNT(*) AS c, SUM(n) AS n FROM named WHERE k = 'a'": ["HASH (k): k = one value", {(2, 5)}, {(1, 9)}],
        figures: ["TREE (n): values beside its figures", {(7.0, 5, 4, 3)}, {(5.0, 1, 2, 2)}],
        "SELECT DISTINCT n FROM named": ["TREE (n): each n once", {(5,), (7,), (8,), (None,)}, {(9,), (1,)}],
        "SELECT k FROM v EXCEPT SELECT k FROM named": ["HASH (k): k of v, if these are few", set(), set()],
        "SELECT x.k, v.n FROM v JOIN named x ON x.k = v.k WHERE v.n > 1": ["HASH (k): k of v, if these are few", {("a", 5), ("b", 7), ("d", 8)}, {("a", 9)}],
    }
    for sql, (said, before, _) in asked.items():
        assert as_set(db.query(sql)) == before, sql
        assert said in str(db.explain(sql)), sql
    played.put((30, "a", 9), (70, "c", 1))
    for sql, (*_, after) in asked.items():
        assert as_set(db.query(sql)) == after, sql


def test_windows_have_indexes(play: Play) -> None:
    """They are kept from the first index on, and cost nothing once the last one has gone."""
    played = play("CREATE INDEX by_k ON s [RANGE 60 SECONDS] (k);")
    db = played.db
    played.put((1, "a", 5), (2, "b", 7), (3, "a", None))
    db.execute("CREATE INDEX by_n ON s [RANGE 1 MINUTE] (n) USING TREE")
    prepared, ordered = db.prepare("SELECT n FROM s [RANGE 60 SECONDS] WHERE k = ?"), "SELECT n FROM s [RANGE 60 SECONDS] ORDER BY n DESC LIMIT 1"
    assert str(db.explain("SELECT n FROM s [RANGE 60 SECONDS] WHERE k = 'a'")).endswith(
        "index by_k of s [RANGE 1 MINUTE], HASH (k): k = one value"
    )
    assert [[row["n"] for row in prepared.query(key)] for key in ("a", "b", "c")] == [[5, None], [7], []]
    assert [row["n"] for row in db.query(ordered)] == [7]
    played.put((30, "a", 9), (70, "c", 1))
    assert [[row["n"] for row in prepared.query(key)] for key in ("a", "b", "c")] == [[9], [], [1]]
    assert as_set(db.query("SELECT k, COUNT(*) AS c FROM s [RANGE 60 SECONDS] GROUP BY k")) == {("a", 1), ("c", 1)}
    shown = db.execute("SHOW INDEXES")
    assert shown is not None and [tuple(row.values())[:2] for row in shown] == [
        ("by_k", "s [RANGE 1 MINUTE]"), ("by_n", "s [RANGE 1 MINUTE]"),
    ]  # fmt: skip
    assert "s [RANGE" not in str(db.execute("SHOW VIEWS"))
    db.execute("DROP INDEX by_k")
    assert [row["n"] for row in db.query(ordered)] == [9]
    with pytest.raises(SashError, match=r'stream "s" is read by: v, named, by_n \(index\); drop them first'):
        db.execute("DROP STREAM s")
    db.execute("DROP INDEX by_n")
    queries = db.execute("SHOW QUERIES")
    assert queries is not None and [row["name"] for row in queries] == ["v", "named"]


def test_approximate_answers_tell_how_wrong_they_can_be(play: Play) -> None:
    played = play("CREATE INDEX by_n ON s [RANGE 60 SECONDS] (n) USING GROUP(4); CREATE INDEX of_v ON v (n) USING GROUP(2);")
    db, window = played.db, "FROM s [RANGE 60 SECONDS]"
    played.put(*((second, "ab"[second % 2], None if second == 7 else second) for second in range(40)))
    answer = db.query(f"SELECT APPROXIMATE MEDIAN(n) AS m, COUNT(n) AS values, COUNT(*) AS n {window}")
    assert str(answer).startswith("approximate answer: 1 row at 1970-01-01 00:00:39")
    row = next(iter(answer))
    assert abs(row["m"] - 20) <= row["m_error"] < 10
    assert (row["values"], row["values_error"], row["n"], row["n_error"]) == (39, 0, 40, 0)
    (some,) = db.query(f"SELECT APPROXIMATE COUNT(*) AS few {window} WHERE n BETWEEN 3 AND 12")
    assert abs(some["few"] - 9) <= some["few_error"] < 16
    assert sum(row["count"] for row in db.query(f"SELECT APPROXIMATE HISTOGRAM(n) {window}")) == 39
    (total,) = db.query("SELECT APPROXIMATE PERCENTILE(n, 1) AS most FROM v")
    assert abs(total["most"] - 393) <= total["most_error"]
    assert str(db.explain(f"SELECT APPROXIMATE MEDIAN(n) {window}")).endswith("GROUP(4) (n): ranges, with their error")


def test_an_index_that_came_too_late_for_a_window_is_not_used_before_the_window_is_whole(play: Play) -> None:
    played = play()
    db, asked = played.db, "SELECT n FROM s [RANGE 90 SECONDS] WHERE k = 'a'"
    played.put((1, "a", 1))
    played.put((80, "a", 2), (85, "b", 3))  # of the first row nothing is remembered: no window is longer than a minute
    db.execute("CREATE INDEX late ON s [RANGE 90 SECONDS] (k)")
    with pytest.raises(SashError, match=r"this needs those since|lacks rows that came before its index did: it is whole from"):
        db.query(asked)
    played.put((200, "a", 4))
    assert [row["n"] for row in db.query(asked)] == [4]


def test_unknown_names_are_told_with_the_choices(play: Play) -> None:
    db = play().db
    for name in ("view", "final", "changes", "changes_since", "complete_since", "subscribe", "analyze"):
        with pytest.raises(SashError, match='unknown view "w"; views are: v, named, plain'):
            getattr(db, name)("w")
        with pytest.raises(SashError, match='view "plain" is not kept'):
            getattr(db, name)("plain")
    for name in ("late", "dead"):
        with pytest.raises(SashError, match=r'unknown stream "w"; there are: s \(stream\), quiet \(stream\), names \(table\)'):
            getattr(db, name)("w")


def uses(db: sash.Database) -> dict[str, Callable[[], object]]:
    """Everything that can be asked."""
    of_view = ("view", "final", "changes", "changes_since", "complete_since", "subscribe", "analyze", "explain")
    calls: dict[str, Callable[[], object]] = {name: lambda name=name: getattr(db, name)("v") for name in of_view}  # type: ignore[misc]
    calls |= {"query": lambda: db.query("SELECT * FROM v"), "serve": db.serve, "prepare": lambda: db.prepare("SELECT ?")}
    calls |= {name: getattr(db, name) for name in ("poll", "end", "run", "start", "drain", "failures", "metrics")}
    calls |= {name: lambda name=name: getattr(db, name) for name in ("is_finished", "progress", "state_bytes")}  # type: ignore[misc]
    calls |= {name: lambda name=name: getattr(db, name)("s") for name in ("late", "dead")}  # type: ignore[misc]
    calls |= {name: lambda name=name: getattr(db, name)("names", [("a", "b")]) for name in ("push", "delete", "table")}  # type: ignore[misc]
    calls |= {"execute": lambda: db.execute("SHOW VIEWS"), "advance": lambda: db.advance(1), "schedule": lambda: db.schedule("bfs")}
    calls |= {"spread": lambda: db.spread(2)}
    calls |= {"register": lambda: db.register("f", len, "BIGINT", ["STRING"]), "write_answers": lambda: db.write_answers("x")}
    calls |= {"stream": lambda: db.stream("s", None, "ts")}  # type: ignore[arg-type, return-value, dict-item]
    return calls


def test_a_closed_database_says_so_to_whatever_is_asked(play: Play) -> None:
    played = play()
    played.put((10, "a", 1))
    with played.db as db:
        assert db is played.db
    db.close()
    db.stop()
    asked = uses(db)
    assert asked.keys() == {name for name in vars(Database) if not name.startswith("_")} - {"close", "stop"}
    for name, use in asked.items():
        with pytest.raises(SashError, match="the database is closed; connect again"):
            use()
            pytest.fail(name)
    assert "closed" in repr(db) and "1 rows seen" in repr(db)


def test_a_database_shows_what_it_has(play: Play) -> None:
    played = play()
    played.put((10, "a", 1), (11, "b", 1))
    where = "EmbeddedDatabase in this process" if played.host == "embedded" else "SparkDatabase on Spark"
    assert repr(played.db) == f"<{where}: streams s, quiet; table names; views v, named, plain; 2 rows seen>"


def test_an_instant_beyond_the_limit_is_not_shown(tmp_path: Path) -> None:
    """An answer in the middle of a run went to the limit at once, though no row had come so far."""
    (tmp_path / "s").mkdir()
    lines = "".join(f"1970-01-01 00:00:{second:02},a,{second}\n" for second in range(0, 60, 2))
    (tmp_path / "s/1.csv").write_text(lines)
    seen: list[datetime | None] = []
    db = sash.connect(base=tmp_path, until="1970-01-01 00:00:31", batch_rows=10, on_progress=lambda _: seen.append(db.view("v").as_of))
    db.execute(DECLARED.format(source=" WITH (format = 'csv', path = 's')", other=""))
    db.run()
    assert seen == [at(18), at(31), at(31), at(31)]
    assert db.final("v").as_of == at(31) and db.view("v").is_final


def test_a_table_is_set_to_rows(play: Play) -> None:
    played = play()
    db = played.db
    db.table("names", [("a", "Ann"), ("b", "Bob"), ("b", "Bob"), ("c", None)])
    played.put((10, "a", 1), (20, "b", 2), (30, "c", 3))
    assert as_set(db.view("named")) == {("a", "Ann", 1), ("b", "Bob", 2), ("c", None, 3)} and len(db.view("named")) == 4
    db.table("names", pa.table({"name": ["Anna", "Bob"], "k": ["a", "b"]}))
    played.settle()
    assert as_set(db.view("named")) == {("a", "Anna", 1), ("b", "Bob", 2), ("c", None, 3)} and len(db.view("named")) == 3
    assert as_set(db.query("SELECT k, name FROM names")) == {("a", "Anna"), ("b", "Bob")}
    db.table("names", [])
    played.settle()
    assert as_set(db.view("named")) == {("a", None, 1), ("b", None, 2), ("c", None, 3)}
    with pytest.raises(SashError, match='"s" is a stream, and rows of a stream are not taken back'):
        db.table("s", [])
    with pytest.raises(SashError, match='1 of these rows are none of table "names": 1 values where 2 are expected'):
        db.table("names", [("a",)])
