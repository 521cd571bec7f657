"""Break nodes: placed where memory falls fastest, and a fork has each row once."""

from __future__ import annotations

import pytest

import sash
from sash.runtime.breaks import corners
from sash.runtime.schedule import parse_schedule

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;"


def test_corners_of_the_envelope() -> None:
    points = [(0.0, 1.0), (1.0, 0.9), (2.0, 0.2), (3.0, 0.1), (4.0, 0.0)]
    assert corners(points) == [(0, 2), (2, 4)]


def test_rows_that_grow_are_left_to_the_end() -> None:
    assert corners([(0.0, 1.0), (1.0, 0.1), (2.0, 3.0), (3.0, 0.0)]) == [(0, 1), (1, 3)]


def test_a_break_is_a_sink_and_a_source() -> None:
    db = sash.connect()
    db.execute(STREAM + "CREATE MATERIALIZED VIEW few AS SELECT k + 1 AS k FROM s [RANGE 5 SECONDS] WHERE v % 100 = 0;")
    graph = db._running().graph
    fragments = {state.fragment for state in graph.table.states}
    db.schedule("memory")
    db.push("s", [(second, second, second) for second in range(300)])
    db.push("s", [(second, second, second) for second in range(300, 600)])
    assert len(fragments) == 1 and graph.breaks
    broken = {node.number for node in graph.nodes if node.spec in graph.breaks}
    assert len({state.fragment for state in graph.table.states}) == 1 + len(broken)
    assert all(not graph.table[number].successors for number in broken)
    db.schedule("dfs")
    assert not graph.breaks and {state.fragment for state in graph.table.states} == fragments


@pytest.mark.parametrize("schedule", ["dfs", "bfs", "batch:16"])
def test_a_fork_keeps_one_copy_until_all_have_read_it(schedule: str) -> None:
    """b is silent, so what a union reads from s waits; the other reader of s does not, and the rows are there once."""
    db = sash.connect(schedule=schedule)
    db.execute(STREAM + """
        CREATE STREAM b (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
        CREATE MATERIALIZED VIEW both AS SELECT k FROM s UNION ALL SELECT k FROM b;
        CREATE MATERIALIZED VIEW one AS SELECT k FROM s;
        CREATE MATERIALIZED VIEW other AS SELECT k FROM s UNION ALL SELECT k + 1 FROM b;
        """)
    graph = db._running().graph
    db.push("s", [(second, second, 0) for second in range(100)])
    assert db.changes("one").num_rows == 99  # the last instant is open
    assert db.changes("both").num_rows == db.changes("other").num_rows == 0
    assert graph.buffered == 99
    db.push("b", [(50, 1)])
    assert db.changes("both").num_rows == 50 and graph.buffered == 49
    db.end()
    assert db.changes("both").num_rows == db.changes("other").num_rows == 101 and graph.buffered == 0


def test_a_wrong_schedule_is_refused() -> None:
    with pytest.raises(sash.SashError, match="schedules are: auto, dfs"):
        parse_schedule("batch:0")
    with pytest.raises(sash.SashError, match='"fifo" is not a schedule'):
        sash.connect(schedule="fifo")
