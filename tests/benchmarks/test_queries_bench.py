"""Equal queries cost next to nothing, also when they are many."""

from __future__ import annotations

import pytest

from benchmarks import queries


def test_an_equal_query_costs_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "BATCH_SECONDS", 0.02)
    equal = queries.measure("equal", 40, lambda _: queries._query("a", 10, 5))
    assert equal.create_ratio < 0.2  # in truth far below 0.01, but who knows what else runs here
    different = queries.measure("different", 4, queries._different)
    assert different.bytes > 0
