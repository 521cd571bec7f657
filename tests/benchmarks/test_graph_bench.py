"""The experiments of the query graph, on the simulated clock: what the paper says must come out, on any machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import graph
from benchmarks.graph import Sizes

SIZES = Sizes(2.0, 0.0, (1, 20), (1, 4), (50,))


def values(found: list[graph.Measured]) -> dict[tuple[object, str], float]:
    return {(one.x, one.line): one.value for one in found}


def test_time_on_demand_ends_idle_waiting() -> None:
    found = values(list(graph.idle("simulated", 3.0)))
    for schedule in ("dfs", "bfs:1"):
        assert found[schedule, "rows alone"] > 200 * found[schedule, "on demand"]


def test_bursts_are_as_the_formulas_say() -> None:
    for one in graph.burst_delays("simulated", 1.0, SIZES):
        assert one.expected is not None and one.value == pytest.approx(one.expected, rel=0.02)


def test_direct_arcs_spare_messages() -> None:
    found = list(graph.large("simulated", 1.0, SIZES))
    delay, messages = values(found), {(one.x, one.line): one.messages for one in found}
    assert delay[1, "direct"] < delay[1, "punctuation"] and 2 * delay[4, "direct"] < delay[4, "punctuation"]
    assert messages[4, "direct"] <= messages[1, "direct"] * 1.1 and messages[4, "punctuation"] > 2 * messages[1, "punctuation"]


def test_a_slide_makes_no_bursts_on_demand() -> None:
    found = values(list(graph.slides("simulated", 1.5, SIZES)))
    assert found[50, "rows alone"] > 2 * found[50, "on demand"]


def test_a_report_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    report = graph._report("bursts", list(graph.burst_delays("simulated", 0.5, SIZES)))
    assert report.draw is not None and report.lines[0][:3] == ["1", "simulated", "1.00"]
    report.draw(tmp_path / "bursts.png")
    assert (tmp_path / "bursts.png").stat().st_size > 1000
