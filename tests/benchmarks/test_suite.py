"""The workloads of `./run bench engine` and the peers: that they measure what they say; how fast it is is not tested here."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import comparing, engine, traffic, windows
from benchmarks.__main__ import main
from benchmarks.bars import draw_bars
from benchmarks.registry import BENCHMARKS, choose
from benchmarks.report import Options


@pytest.mark.parametrize("query", engine.WORKLOADS, ids=lambda query: query.name)
def test_engine_and_bare_loop_give_the_same_changes(query: windows.Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "STEP", 700)
    few_keys = replace(query, keys=40)
    assert windows.measure(few_keys, 300, repeat=1, least_rows=2000).changes > 0


def test_joins_at_once_give_the_changes_of_joins_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SECONDS", (1, 2, 3))
    measured, shared = engine.measure_joins(8_000, 1)
    assert measured.changes > 0 and "3 joins over windows of 1, 2, 3 s" in shared


def test_the_queries_of_the_demo_are_measured_one_by_one() -> None:
    assert list(traffic.views()) == ["talkers", "links", "suspects"]
    (report,) = traffic.run(Options(rows=3_000, repeat=1))
    assert [line[0] for line in report.lines] == ["talkers", "links", "suspects", "all three"]
    assert all(float(str(line["ratio"])) > 0 for line in report.numbers)


def test_bars_are_drawn_for_those_who_can(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_bars(["join", "except"], {"sash": [[2.0, 3.0], [1.0]], "other": [[1.0], []]}, "rows/s", tmp_path / "bars.png")
    assert (tmp_path / "bars.png").stat().st_size > 1_000


def test_the_suite_is_what_runs_without_a_name() -> None:
    assert [one.name for one in choose(())] == [one.name for one in BENCHMARKS if one.in_suite]
    assert [one.name for one in choose(("windows",))] == ["windows"]


def test_an_unknown_peer_is_told() -> None:
    result = CliRunner().invoke(main, ["peers", "--peers", "storm"])
    assert result.exit_code == 2 and 'unknown peer "storm"; peers are: spark, duckdb' in result.output


def test_a_peer_reads_the_files_and_says_what_it_cannot(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    comparing.write_input(tmp_path, 2_000, 100)
    scripts = Path(comparing.__file__).parent / "peers"
    words = [sys.executable, str(scripts / "duckdb_slides.py"), "aggregate", str(tmp_path)]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    assert '"seconds"' in told.stdout and '"results"' in told.stdout
    spark = next(peer for peer in comparing.PEERS if peer.name == "spark memory")
    assert "not supported" in str(comparing.run_peer(spark, "except", tmp_path, Options())["cannot"])
