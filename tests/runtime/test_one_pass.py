"""A step in one pass: who runs, and what happens when there is more than a pass should take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

import sash
from sash.deltas import Delta
from sash.operators.operator import Operator
from sash.runtime import readers, schedule
from sash.runtime.cycle import Cycle
from sash.runtime.graph import Graph
from sash.runtime.node import Begins
from sash.testing.tables import Change, from_arrow

STREAMS = "CREATE STREAM a (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE STREAM b (ts TIMESTAMP, k INT) TIMESTAMP BY ts;"
FAN_OUT = """
CREATE MATERIALIZED VIEW v AS
    SELECT a.k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] JOIN b [RANGE 9 SECONDS] ON a.k = b.k GROUP BY a.k;
"""


def at(second: int) -> str:
    return f"2024-01-01 00:00:{second:02}"


def count_runs(graph: Graph) -> Counter[str]:
    """How often the operators that are over one stream run from now on, by the name of that stream."""
    runs: Counter[str] = Counter()

    def watch(operator: Operator, stream: str) -> None:
        run = operator.run

        def counted(inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
            runs[stream] += 1
            return run(inputs, now, begin)

        operator.run = counted  # type: ignore[method-assign]

    for node in graph.nodes:
        if node.operator is not None:
            (port,) = node.ports
            watch(node.operator, str(graph.nodes[port].spec.stream))  # type: ignore[attr-defined]
    return runs


def test_nobody_runs_without_rows_or_an_instant_of_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "families_of", lambda source: [])  # each by itself; of those that run together: test_families.py
    db = sash.connect()
    db.execute(STREAMS + """
        CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k;
        CREATE MATERIALIZED VIEW w AS SELECT k, COUNT(*) AS n FROM b [RANGE 5 SECONDS] WHERE k > 1 GROUP BY k;
        """)
    runs = count_runs(db._running().graph)
    db.push("a", [(at(1), 5)])
    db.advance(at(3))
    assert runs["a"] and not runs["b"]
    runs.clear()
    db.advance(at(5))
    assert not runs  # no row leaves before that
    db.advance(at(9))
    assert runs == {"a": 1}  # the window needs no time, the groups lose a row
    db.push("b", [(at(10), 1)])
    db.advance(at(11))
    filtered = runs["b"]
    db.push("b", [(at(12), 2)])
    db.advance(at(13))
    assert runs["b"] > 2 * filtered > 0  # nobody above a filter has run for a row that did not pass


def played(pushes: int) -> list[Change]:
    """Every row of one stream meets all of the other."""
    db = sash.connect()
    db.execute(STREAMS + FAN_OUT)
    for second in range(pushes):
        db.push("a", [(at(second), 1)] * 20)
        db.push("b", [(at(second), 1)] * 20)
    db.end()
    return from_arrow(db.changes("v"))


def test_what_is_too_much_for_one_pass_goes_on_in_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    cycles: list[int] = []
    step = Cycle.step

    def counted(self: Cycle, begins: Begins, load: int) -> None:
        cycles.append(load)
        step(self, begins, load)

    monkeypatch.setattr(Cycle, "step", counted)
    expected = played(12)
    assert expected and not cycles
    monkeypatch.setattr(schedule, "LEAST_BATCH", 1)
    monkeypatch.setattr(schedule, "COST_OF_A_PASS", 40)  # 20 rows are a batch of 28, and become more
    assert played(12) == expected
    assert cycles


def test_rows_that_are_there_before_their_time_wait() -> None:
    """Rows of a table that a new view finds were shown to its operators at once, and then to nobody."""
    db = sash.connect()
    db.execute("CREATE TABLE t (a INT)")
    db.execute("INSERT INTO t VALUES (1), (3)")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT a + 1 AS x FROM t")
    assert db.view("v").to_pylist() == [{"x": 2}, {"x": 4}]
    db.execute("INSERT INTO t VALUES (5)")
    assert len(db.view("v")) == 3
    db.end()
    assert db.changes("v").num_rows == 3
