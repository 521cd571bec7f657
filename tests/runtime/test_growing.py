"""Views that come one by one: what was looked at stays so, and each is as if it had been there from the start."""

from __future__ import annotations

import random

import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.runtime import one_pass, readers
from sash.runtime.node import Node

STREAM = "CREATE STREAM s (ts TIMESTAMP, k BIGINT, g STRING, v BIGINT) TIMESTAMP BY ts;"
KEEPER = "CREATE MATERIALIZED VIEW keeper AS SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR];"
KINDS = (
    "SELECT COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 20 SECONDS] WHERE k = {n}", "SELECT k, v FROM s [RANGE 9 SECONDS] WHERE v > {n}",
    "SELECT g, MAX(v) AS m FROM s [RANGE 30 SECONDS] WHERE k = {n} AND g <> 'g{n}' GROUP BY g", "SELECT DISTINCT v FROM s [RANGE {m} SECONDS]",
    "SELECT a.v, b.g FROM s [RANGE {m} SECONDS] a JOIN s [RANGE 5 SECONDS] b ON a.k = b.k WHERE a.v = {n}",
    "SELECT k, COUNT(*) AS n FROM s [RANGE {m} SECONDS SLIDE 1 SECOND] GROUP BY k", "SELECT v FROM s [RANGE 20 SECONDS] WHERE g = 'g{n}'",
)  # fmt: skip


def query(number: int) -> str:
    return KINDS[number % len(KINDS)].format(n=number // len(KINDS), m=number // len(KINDS) + 1)


def rows(chance: random.Random, at: int, count: int) -> list[tuple[object, ...]]:
    return [(at, chance.randrange(8), f"g{chance.randrange(5)}", chance.randrange(10)) for _ in range(count)]


def database(views: int) -> EmbeddedDatabase:
    db = EmbeddedDatabase()
    db.execute(STREAM + KEEPER)
    for number in range(views):
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS {query(number)}")
    return db


@pytest.mark.parametrize("size", [1, 5, 100])  # rows of a push: few are sieved, more are not
def test_views_that_come_between_pushes_are_as_if_there_from_the_start(size: int) -> None:
    count, chance = 70, random.Random(size)
    growing, whole = database(0), database(count)
    for step in range(count + 20):
        if step < count:
            growing.execute(f"CREATE MATERIALIZED VIEW q{step} AS {query(step)}")
        some = rows(chance, step // 2, size)
        for db in (growing, whole):
            db.push("s", some)
        if step % 9 == 8:
            for number in range(min(step + 1, count)):
                mine, its = (db.view(f"q{number}").to_arrow() for db in (growing, whole))
                assert mine.sort_by([(name, "ascending") for name in mine.schema.names]).equals(
                    its.sort_by([(name, "ascending") for name in its.schema.names])
                ), query(number)
    for number in range(0, count, 3):
        for db in (growing, whole):
            db.execute(f"DROP VIEW q{number}")
    for db in (growing, whole):
        db.push("s", rows(random.Random(5), count, size))
    for number in set(range(count)) - set(range(0, count, 3)):
        mine, its = (db.view(f"q{number}").to_arrow() for db in (growing, whole))
        assert sorted(map(str, mine.to_pylist())) == sorted(map(str, its.to_pylist()))


def test_what_was_looked_at_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Node] = []
    look = readers.look_at_readers

    def counted(node: Node, nodes: list[Node]) -> None:
        looked.append(node)
        look(node, nodes)

    monkeypatch.setattr(readers, "look_at_readers", counted)
    monkeypatch.setattr(one_pass, "look_at_readers", counted)
    db = database(0)
    for number in range(64):
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS SELECT COUNT(*) AS n FROM s [RANGE 9 SECONDS] WHERE k = {number}")
        db.push("s", [(number, number, "g", 1)])
    nodes = db._running().graph.nodes
    most_read = max(nodes, key=lambda node: len(node.output.arcs))
    assert len(most_read.output.arcs) > 60
    assert looked.count(most_read) < 10  # as readers doubled
    here = set(nodes)  # beside those of views that are filled aside
    assert len([node for node in looked if node in here]) < len(nodes) + 20
    assert [db.view(f"q{number}").to_arrow()["n"].to_pylist() for number in (0, 55, 63)] == [[0], [1], [1]]


def test_figures_of_filters_that_are_tested_together_are_complete() -> None:
    """Also of those that came while others were there."""
    db = database(0)
    for number in range(12):
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS SELECT v FROM s [RANGE 9 SECONDS] WHERE v > {number}")
        db.push("s", [(number, 1, "g", 5)])
    filters = [one for one in db.metrics()["operators"] if one["operator"] == "Filter"]
    # The last row is not final, and neither was the one before a view when that came.
    assert sorted(sum(arc["positive"] for arc in one["arcs"]) for one in filters) == sorted([11, *range(1, 12)])
