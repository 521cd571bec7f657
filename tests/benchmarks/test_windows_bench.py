"""The benchmark measures two ways to the same changes; how fast they are is not tested here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import slides, windows
from benchmarks.__main__ import main
from sash.deltas import Delta
from sash.errors import SashError


@pytest.mark.parametrize("query", windows.QUERIES, ids=lambda query: query.name)
@pytest.mark.parametrize("window", [1, 50, 1000])
def test_engine_and_bare_loop_give_the_same_changes(
    query: windows.Query, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "STEP", 300)
    measured = windows.measure(query, window, repeat=1, least_rows=2000)
    assert measured.changes > 0
    assert measured.rows >= 2000
    assert measured.engine[0] > 0 and measured.bare[0] > 0


@pytest.mark.parametrize(("window", "slide"), [(10, 1), (49, 7), (1_000, 250), (1_000, 1_000), (1_300, 1_300)])
def test_jumping_windows_too(window: int, slide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STEP", 300)
    measured = windows.measure(replace(slides.QUERY, slide=slide, keys=400), window, repeat=1, least_rows=8_000)
    assert measured.changes > 0 and measured.engine[0] > 0 and measured.bare[0] > 0


def test_other_changes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    union = next(query for query in windows.QUERIES if query.name == "union all")
    wrong = windows.Query("wrong", union.sql, windows.bare_two.bare_except, 2)
    with pytest.raises(SashError, match="gives other changes"):
        windows.measure(wrong, 100, repeat=1, least_rows=1000)


def test_a_checksum_sees_rows_instants_and_weights_but_no_order() -> None:
    def delta(*changes: tuple[int, int, int]) -> Delta:
        rows, ts, weight = (np.array(part, np.int64) for part in zip(*changes, strict=True))
        return Delta(rows.reshape(-1, 1), ts, np.zeros_like(ts), weight)

    base = windows.checksum(delta((1, 5, 1), (2, 5, -1)))
    assert base == windows.checksum(delta((2, 5, -1), (1, 5, 1)))
    others = [((1, 5, 1), (3, 5, -1)), ((1, 5, 1), (2, 6, -1)), ((1, 5, 1), (2, 5, 1)), ((1, 5, -1), (2, 5, 1))]
    assert base not in {windows.checksum(delta(*other)) for other in others}


def test_the_command_writes_numbers_and_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(windows, "SIZES", (10, 100, 1000))
    monkeypatch.setattr(windows, "LEAST_ROWS", 500)
    monkeypatch.setattr(windows, "QUERIES", windows.QUERIES[:2])
    result = CliRunner().invoke(main, ["windows", "--quick", "--repeat", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "count and sum" in result.output
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert [one["window"] for one in numbers["windows"]] == [10, 100, 10, 100]
    assert "| count and sum |" in (tmp_path / "tables.md").read_text()
    assert (tmp_path / "windows.png").read_bytes().startswith(b"\x89PNG")


def test_a_benchmark_that_is_not_there() -> None:
    result = CliRunner().invoke(main, ["nonsense"])
    assert result.exit_code == 2 and "'nonsense' is not one of " in result.output
