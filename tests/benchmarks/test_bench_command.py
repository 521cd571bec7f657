"""What `./run bench` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.registry import Benchmark
from benchmarks.report import Options, Report
from benchmarks.running import bench

COLUMNS = ("query, window", *(f"number {place}" for place in range(12)))


def run(options: Options) -> Iterator[Report]:
    numbers = [f"{place * 1_000_003:,}" for place in range(1, 13)]
    yield Report("many columns", COLUMNS, [["Query 1, many results, 200,000", *numbers]], [{"n": 1}], ["a note"])


def test_no_number_is_cut_off_where_the_screen_is_narrow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    bench([Benchmark("made", __name__, "something")], Options(), tmp_path)
    printed = capsys.readouterr().out
    assert "Query 1, many results, 200,000" in printed and "12,000,036" in printed and "…" not in printed
    assert "| 12,000,036 |" in (tmp_path / "tables.md").read_text()
