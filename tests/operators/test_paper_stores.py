"""The stores of the papers give what the engine's own give: lists are slow, not wrong."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.plans import Stores
from benchmarks.patterns import Run, measure, strategies
from benchmarks.patterns_input import QUERIES, Input, Query, favorites

JOIN = QUERIES[1]
PLAYED = [query for query in QUERIES if query.name.startswith("Query") and query != QUERIES[0]]
CUTS = [(start, min(start + 97, 700)) for start in range(0, 700, 97)]


def made(rows: int, values: int, seed: int) -> Input:
    """Links whose rows often share an instant with those of another link."""
    chance = np.random.default_rng(seed)
    links = []
    for _ in range(3):
        lanes = np.zeros((rows, 5), np.int64)
        lanes[:, 0] = np.arange(rows) * 1000 + chance.integers(0, 2, rows)
        lanes[:, 1:4] = chance.integers(0, (2, values, values), (rows, 3))
        links.append(lanes)
    return Input("made", tuple(links), favorites(links[0], 0.5), few=0, many=1, round=rows)


@pytest.mark.parametrize("query", PLAYED, ids=lambda query: query.name)
@pytest.mark.parametrize("values", [1, 6, 300])
def test_lists_give_the_same_changes(query: Query, values: int) -> None:
    input_ = made(700, values, values)
    for strategy in strategies(query, Stores.PAPERS):
        engine, papers = (Run(query, input_, 150, strategy, stores) for stores in (Stores.ENGINE, Stores.PAPERS))
        for start, stop in CUTS:
            mine, theirs = engine.step(start, stop), papers.step(start, stop)
            assert [one.tolist() for one in (mine.ts, mine.weight)] == [one.tolist() for one in (theirs.ts, theirs.weight)]
            assert mine.rows.tolist() == theirs.rows.tolist()


@pytest.mark.parametrize("strategy", ["auto", "negative"])
def test_the_result_of_a_negation_holds_the_answer(strategy: str) -> None:
    input_, query = made(700, 6, 6), next(query for query in PLAYED if query.name == "Query 3")
    run = Run(query, input_, 150, strategy, Stores.IN_ORDER)
    answer = sum(int(run.step(start, stop).weight.sum()) for start, stop in CUTS)
    (kept,) = (one.state_rows for one in run.operators() if one.name.endswith("Result"))
    assert kept == answer > 0


def test_the_benchmark_checks_that_strategies_agree() -> None:
    """Also with so many pairs that a calendar is laid out anew between two messages."""
    found = {one.strategy: one for one in measure(JOIN, made(3_000, 40, 5), 1_000, 2_000, Stores.ENGINE)}
    assert len(found) == 6 and all(one.median > 0 for one in found.values())
    assert found["negative"].facts["probes"] > 1.5 * found["time-message"].facts["probes"]
    assert found["auto"].facts["state_bytes"] < found["negative"].facts["state_bytes"]
