"""Aggregates together and apart: what the benchmark compares is what it says."""

from __future__ import annotations

from benchmarks import aggregates
from benchmarks.aggregates import APART, TOGETHER, database, push, without_slices
from sash.operators.shared_groups.operator import SharedGroups


def test_only_one_of_the_two_shares_slices() -> None:
    together, _ = database(8, TOGETHER)
    with without_slices():
        apart, _ = database(8, APART)
    for db, streams in ((together, TOGETHER), (apart, APART)):
        push(db, streams, 0)
    found = [[node.operator for node in db._running().graph.nodes] for db in (together, apart)]
    assert [any(isinstance(one, SharedGroups) for one in operators) for operators in found] == [True, False]
    aggregates.check(together, apart, 8)
    assert len(together.changes("q0"))
