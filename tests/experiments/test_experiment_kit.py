"""Verdicts, runs that are kept, the report and the command."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from experiments import __main__ as command
from experiments import registry
from experiments.claims import Bound, Claim, Verdict, flat, median_interval, pairwise, rising
from experiments.figure import Figure, Line, Panel, Paper
from experiments.results import Results, fingerprint
from experiments.running import run_figure
from experiments.tables import Cell, Measured, Table
from sash.errors import SashError


@pytest.mark.parametrize(
    ("ratios", "low", "high", "verdict"),
    [
        ([0.8, 0.9, 0.95], 0, 1, "confirmed"), ([0.8, 0.9, 1.05], 0, 1, "undecided"), ([1.1, 1.2], 0, 1, "refuted"),
        ([2, 3], 4, math.inf, "refuted"), ([4, 3], 4, math.inf, "undecided"), ([1, 1], 1, 1, "confirmed"),
    ],
)  # fmt: skip
def test_a_verdict_is_where_the_interval_lies(ratios: list[float], low: float, high: float, verdict: str) -> None:
    assert Bound("x", ratios, low, high).verdict == Verdict(verdict)


def test_the_interval_of_a_median_leaves_out_extremes_where_turns_are_many() -> None:
    assert median_interval([3, 1, 2]) == (1, 3) and median_interval([5, 4, 3, 2, 1]) == (1, 5)
    assert median_interval(range(10)) == (1, 8)  # 97.9 %
    assert median_interval(range(20)) == (5, 14)  # 95.9 %; the next would be 88.5
    assert median_interval([7]) == (7, 7)


def test_counts_are_judged_by_all_turns() -> None:
    ratios = [1.0] * 9 + [2.0]
    assert Bound("x", ratios, 1, 1).verdict == Verdict.CONFIRMED and Bound("x", ratios, 1, 1, is_exact=True).verdict == Verdict.UNDECIDED


TABLE = Table(Measured(setting, system, turn, {"ms": value + turn / 10}) for turn in range(3)
              for setting, system, value in (("one", "a", 1.0), ("one", "b", 2.0), ("two", "a", 4.0), ("two", "b", 2.0)))  # fmt: skip
ONE_A, ONE_B, TWO_A, TWO_B = (Cell(setting, system, "ms") for setting in ("one", "two") for system in "ab")


def test_a_claim_is_as_good_as_its_worst_bound() -> None:
    holds = Claim("§1", "a is fast", lambda table: pairwise(table, [ONE_A], [ONE_B], high=1)).judged(TABLE)
    fails = Claim("§1", "a is fast", lambda table: pairwise(table, [ONE_A, TWO_A], [ONE_B, TWO_B], high=1)).judged(TABLE)
    assert holds.verdict == Verdict.CONFIRMED and fails.verdict == Verdict.REFUTED
    assert holds.told == "a / b (one, ms): 0.5 to 0.545 (at most 1)"
    assert Claim("§1", "it took 4 s", cannot="another machine").judged(TABLE).verdict == Verdict.NOT_RUNNABLE
    with pytest.raises(AssertionError, match="bounds, or a reason"):
        Claim("§1", "nothing to judge")


def test_flatness_and_growth() -> None:
    assert flat(TABLE, [ONE_B, TWO_B], "b", 1.01).verdict == Verdict.CONFIRMED
    assert [bound.verdict for bound in rising(TABLE, [ONE_A, TWO_A], low=4.5)] == [Verdict.REFUTED]


def test_what_was_not_measured_is_an_error() -> None:
    with pytest.raises(SashError, match="nothing measured"):
        TABLE.series(Cell("three", "a", "ms"))


@dataclass(frozen=True)
class Point:
    size: int

    def __str__(self) -> str:
        return f"size {self.size}"


def made_figure(calls: list[tuple[int, str, int]]) -> Figure:
    """b takes twice as long as a."""

    def measure(setting: Point, system: str, turn: int) -> dict[str, float]:
        calls.append((setting.size, system, turn))
        return {"ms": setting.size * (2.0 if system == "b" else 1.0) + turn}

    def below(table: Table) -> Iterator[Bound]:
        return pairwise(table, [Cell("size 3", "a", "ms")], [Cell("size 3", "b", "ms")], high=1)

    lines = [Line(system, [(size, Cell(f"size {size}", system, "ms")) for size in (3, 5)]) for system in "ab"]
    return Figure(
        "fig1", "Made up", "Nothing is measured.", ("a", "b"), lambda is_quick: [Point(3), Point(5)], measure,
        lambda is_quick: [Panel("one & only", "size", "ms", lines)], lambda is_quick: [Claim("§1", "a < b", below), Claim("§2", "4 s", cannot="no <clock>")],
        turns=3, quick_turns=2,
    )  # fmt: skip


def test_systems_take_turns_and_what_is_kept_is_not_run_again(tmp_path: Path) -> None:
    calls: list[tuple[int, str, int]] = []
    figure, results = made_figure(calls), Results(tmp_path / "kept.jsonl", "1")
    first = run_figure(figure, results, False, 2, lambda what: None)
    assert calls == [(3, "a", 0), (3, "b", 0), (5, "a", 0), (5, "b", 0), (3, "b", 1), (3, "a", 1), (5, "b", 1), (5, "a", 1)]
    assert [one.verdict for one in first.judged] == [Verdict.CONFIRMED, Verdict.NOT_RUNNABLE]

    lines = results.path.read_text().splitlines(keepends=True)
    results.path.write_text("".join(lines[:6]) + lines[6][:20])  # interrupted in the last setting
    del calls[:]
    again = run_figure(figure, results, False, 2, lambda what: None)
    assert calls == [(5, "b", 1), (5, "a", 1)]
    assert again.table.series(Cell("size 5", "b", "ms")) == first.table.series(Cell("size 5", "b", "ms"))

    del calls[:]
    run_figure(figure, Results(results.path, "other sources"), False, 1, lambda what: None)
    assert len(calls) == 4


def test_a_fingerprint_is_of_what_sources_do(tmp_path: Path) -> None:
    def of(text: str) -> str:
        path = tmp_path / "module.py"
        path.write_text(text)
        return fingerprint([SimpleNamespace(__file__=str(path))])  # type: ignore[list-item]

    assert of('"""A."""\nx = 1  # one\n') == of('"""B."""\nx  =  1\n') != of('"""A."""\nx = 2\n')


def test_the_command_makes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    paper = Paper("009", "A <paper>", (registry,), (made_figure([]),), lambda: None)
    monkeypatch.setattr(registry, "PAPERS", (paper,))
    done = CliRunner().invoke(command.main, ["009/fig1", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text()
    assert "A &lt;paper&gt;" in page and "no &lt;clock&gt;" in page and page.count("<svg") == 1 and "quick run, 2 turns" in page
    assert "src=" not in page and 'href="http' not in page.replace('xmlns:xlink="http', "")
    verdicts = json.loads((tmp_path / "verdicts.json").read_text())
    assert [one["verdict"] for one in verdicts] == ["confirmed", "not runnable"]
    assert (tmp_path / "009" / "fig1.png").stat().st_size > 1000


def test_an_unknown_experiment_is_named() -> None:
    done = CliRunner().invoke(command.main, ["001/fig77"])
    assert done.exit_code == 2 and "no experiment is called 001/fig77; there are: 001, 001/buffers" in done.output


@pytest.mark.parametrize("paper", registry.PAPERS, ids=lambda paper: paper.number)
def test_settings_of_a_paper_have_names_of_their_own_and_claims_their_bounds(paper: Paper) -> None:
    """Every cell that a panel shows and a claim reads is measured, in both sizes."""
    for figure in paper.figures:
        for is_quick in (True, False):
            settings = figure.settings(is_quick)
            assert len(set(map(str, settings))) == len(settings)
            measured = {(str(setting), system) for setting in settings for system in figure.systems if figure.runs(setting, system)}
            cells = [cell for panel in figure.panels(is_quick) for line in panel.lines for _, cell in line.points]
            assert cells and {(cell.setting, cell.system) for cell in cells} <= measured
            assert figure.claims(is_quick)
