"""A step that makes far more changes than it has rows needs memory for a part of them."""

from __future__ import annotations

import tracemalloc

import pytest

import sash
from sash.operators import output_chunks
from sash.operators.shared_join import operator as shared_join
from sash.operators.shared_join import outputs
from sash.runtime import cycle

STREAMS = "CREATE STREAM a (ts TIMESTAMP, k INT, v BIGINT) TIMESTAMP BY ts; CREATE STREAM b (ts TIMESTAMP, k INT, v BIGINT) TIMESTAMP BY ts;"
PAIRS = "SELECT a.v, b.v AS w FROM a [RANGE 1 HOUR] JOIN b [RANGE {}] ON a.k = b.k"
ROWS = 800
LEAST_BYTES = 5 * 8  # of a change: two values, masks, instant, weight


@pytest.mark.parametrize("windows", [["1 HOUR"], ["1 HOUR", "2 HOURS"]], ids=["a join", "a shared join"])
def test_many_pairs_take_little_memory(windows: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (output_chunks, outputs, shared_join, cycle):
        monkeypatch.setattr(module, "MOST", 1 << 13)
    monkeypatch.setattr(output_chunks, "LARGEST", 1 << 12)
    monkeypatch.setattr(outputs, "LARGEST", 1 << 12)
    db = sash.connect(history="none")
    db.execute(STREAMS + "".join(f"CREATE MATERIALIZED VIEW v{n} AS {PAIRS.format(size)};" for n, size in enumerate(windows)))
    rows = [(f"2024-01-01 00:{second // 60:02}:{second % 60:02}", 1, second) for second in range(ROWS)]
    db.push("a", rows)
    db.push("b", rows[: ROWS // 2])
    db.view("v0")  # the memory that stays is there
    tracemalloc.start()
    db.push("b", rows[ROWS // 2 :])
    db.advance("2024-01-01 00:30:00")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    pairs = ROWS * ROWS * len(windows)
    assert db.progress.changes == pairs
    assert peak < pairs * LEAST_BYTES / 2
