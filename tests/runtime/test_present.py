"""Time that moves though no row arrives."""

from __future__ import annotations

import sash
from sash.runtime.graph import Graph
from sash.testing.clock import FakeClock
from sash.testing.tables import Change, from_arrow


def ops(db: sash.Database, view: str) -> list[tuple[int, tuple[object, ...]]]:
    changes: list[Change] = from_arrow(db.changes(view))
    return [(change.op, change.row) for change in changes]


def test_the_present_comes_to_streams_that_are_stamped_at_arrival() -> None:
    clock = FakeClock(100)
    db = sash.connect(clock=clock)
    db.execute("CREATE STREAM s (k STRING); CREATE MATERIALIZED VIEW v AS SELECT k FROM s [RANGE 5 SECONDS];")
    db.push("s", [("ann",)])
    clock.advance(4)
    db.poll()
    assert ops(db, "v") == [(1, ("ann",))]
    clock.advance(2)
    db.poll()
    assert ops(db, "v") == [(1, ("ann",)), (-1, ("ann",))]
    db.push("s", [("bob",)])  # what comes later is stamped later, and not late
    assert ops(db, "v")[2:] == [(1, ("bob",))] and db.late("s").num_rows == 0


def test_nobody_asks_for_the_time_when_nobody_waits() -> None:
    clock = FakeClock(100)
    db = sash.connect(clock=clock)
    db.execute("CREATE STREAM s (k STRING); CREATE MATERIALIZED VIEW v AS SELECT k FROM s;")
    db.push("s", [("ann",)])
    clock.advance(60)
    host = db._running()
    before = host.clocks
    db.poll()
    assert host.clocks == before


def test_an_idle_stream_follows_the_others_and_one_without_a_rule_does_not() -> None:
    for rule, expected in (("IDLE AFTER 5 SECONDS", [(1, ("ann",))]), ("", [])):
        clock = FakeClock(100)
        db = sash.connect(clock=clock)
        db.execute(f"""
            CREATE STREAM a (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
            CREATE STREAM b (ts TIMESTAMP, k STRING) TIMESTAMP BY ts {rule};
            CREATE MATERIALIZED VIEW v AS SELECT k FROM a UNION ALL SELECT k FROM b;
            """)
        db.push("a", [(1, "ann"), (2, "bob")])
        clock.advance(3)
        db.poll()
        assert ops(db, "v") == []
        clock.advance(3)
        db.poll()
        assert ops(db, "v") == expected


def test_only_those_who_wait_are_told() -> None:
    """A filter of a silent stream is not run, whatever the time."""
    ran: list[str] = []
    db = sash.connect(clock=(clock := FakeClock(100)))
    db.execute("""
        CREATE STREAM a (k INT); CREATE STREAM b (k INT);
        CREATE MATERIALIZED VIEW v AS SELECT k FROM a WHERE k > 1 UNION ALL SELECT k FROM b WHERE k > 1;
        """)
    graph: Graph = db._running().graph
    graph.watch(lambda node, count, delta: ran.append(type(node.spec).__name__))
    db.push("a", [(5,)])
    assert ops(db, "v") == [(1, (5,))] and ran.count("FilterSpec") == 1
    messages = graph.messages
    assert messages > 0
    clock.advance(10)
    db.poll()
    assert graph.messages == messages
