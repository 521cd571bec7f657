"""A graph whose operators come and go."""

from __future__ import annotations

import numpy as np

import sash
from sash.deltas import Delta
from sash.operators.spec import PortSpec, Spec
from sash.runtime.graph import Feed, Graph
from sash.runtime.node import Node
from sash.runtime.schedule import parse_schedule
from sash.scalar.failures import Failures
from sash.schema import FOREVER
from sash.stores.arena import Arena
from sash.stores.interner import Interner

SQL = """
CREATE STREAM a (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW one AS SELECT k FROM a [RANGE 5 SECONDS];
CREATE MATERIALIZED VIEW two AS SELECT a.k FROM a [RANGE 5 SECONDS] JOIN b [RANGE 5 SECONDS] ON a.k = b.k;
CREATE MATERIALIZED VIEW three AS SELECT k FROM b [RANGE 5 SECONDS];
"""


def feed(count: int, start: int, clock: int, width: int) -> Feed:
    rows, ts = np.zeros((count, width), np.int64), np.arange(start, start + count)
    return Feed(Delta(rows, ts, np.full(count, FOREVER), np.ones(count, np.int64)), clock)


def test_operators_come_and_go_while_rows_wait() -> None:
    db = sash.connect()
    db.execute(SQL)
    job = db.planned(1)
    one, two, three = (job.view(name).spec for name in ("one", "two", "three"))
    ports = {str(port.stream): port.spec for port in job.ports}
    graph = Graph([two], Arena.anonymous(), interner := Interner(Arena.anonymous()), Failures())

    def step(a: int, b: int, a_clock: int, b_clock: int, *sinks: object) -> dict[object, int]:
        feeds: dict[PortSpec, Feed] = {
            ports["a"]: feed(a, a_clock - a, a_clock, ports["a"].layout.width),
            ports["b"]: feed(b, b_clock - b, b_clock, ports["b"].layout.width),
        }
        found = graph.step(feeds, sinks, {})  # type: ignore[arg-type]
        return {spec: len(found[spec].delta) for spec in sinks}  # type: ignore[index]

    assert step(10, 0, 10, 0, two) == {two: 0}
    waiting = graph.buffered
    assert waiting == 10
    graph.add(one)
    assert step(5, 0, 15, 0, one, two) == {one: 5, two: 0}  # the new reader sees only what comes
    assert graph.keep([one]) and two not in graph.specs
    assert step(5, 5, 20, 5, one) == {one: 5}
    assert graph.buffered == 0
    graph.add(three)
    assert step(0, 7, 20, 12, one, three) == {one: 0, three: 7}
    assert graph.keep([three]) and all(state.number == place for place, state in enumerate(graph.table.states))
    assert step(0, 3, 20, 15, three) == {three: 3}
    assert {owner for owner, holders in interner._holders.items() if holders} <= {spec.fingerprint for spec in graph.specs}


CHAIN = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW some AS SELECT v AS w FROM a [RANGE 5 SECONDS] WHERE k >= 0;
CREATE MATERIALIZED VIEW more AS SELECT k AS w FROM a [RANGE 5 SECONDS] WHERE k >= 0;
"""


def chain_of(schedule: str, both: bool = False) -> tuple[Graph, PortSpec, list[Spec]]:
    db = sash.connect()
    db.execute(CHAIN)
    job = db.planned(1)
    sinks = [job.view(name).spec for name in (("some", "more") if both else ("some",))]
    arena = Arena.anonymous()
    return Graph(sinks, arena, Interner(arena), Failures(), schedule=parse_schedule(schedule)), job.ports[0].spec, sinks


def heirs(graph: Graph) -> list[tuple[str, str]]:
    assert graph.table
    return [(_name(node), _name(node.heir)) for node in graph.nodes if node.heir is not None]


def _name(node: Node) -> str:
    return type(node.operator).__name__


def test_rows_are_handed_over_to_an_only_reader() -> None:
    graph, port, (sink,) = chain_of("auto")
    assert heirs(graph) == [("Filter", "TimeWindow"), ("TimeWindow", "Project")]
    lying: list[tuple[str, int, int]] = []
    graph.watch(lambda node, count, delta: lying.append((_name(node), count, graph.buffered)))
    result = graph.step({port: feed(9, 0, 9, port.layout.width)}, [sink], {"a": 0})[sink]
    assert len(result.delta) == 9 and result.clock == 9
    assert [(name, count) for name, count, _ in lying[:3]] == [("Filter", 9), ("TimeWindow", 9), ("Project", 9)]
    assert not any(waiting for name, _, waiting in lying if name in ("Filter", "TimeWindow"))
    assert [one.out.positive for one in graph.metrics() if one.name in ("Filter", "TimeWindow", "Project")] == [9, 9, 9]


def test_rows_with_several_readers_wait_for_all() -> None:
    graph, port, (some, more) = chain_of("auto", both=True)
    assert heirs(graph) == [("Filter", "TimeWindow")]
    found = graph.step({port: feed(9, 0, 9, port.layout.width)}, [some, more], {"a": 0})
    assert [len(found[sink].delta) for sink in (some, more)] == [9, 9]
    graph.keep([more])
    assert heirs(graph) == [("Filter", "TimeWindow"), ("TimeWindow", "Project")]


def test_schedules_that_say_who_is_next_are_kept() -> None:
    for schedule in ("dfs", "bfs", "rr", "batch:10", "memory"):
        assert heirs(chain_of(schedule)[0]) == []
    graph, _, (sink,) = chain_of("auto")
    graph.break_at([sink.inputs[0].inputs[0]])
    assert heirs(graph) == [("Filter", "TimeWindow")]
