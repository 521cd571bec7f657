"""The patterns benchmark: its input, its tables and its figures, over windows that are small enough for a test."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import patterns, patterns_joins, patterns_report
from benchmarks.papers.plans import Stores
from benchmarks.patterns import Measured, Run, TooLong, Turns, measure
from benchmarks.patterns_input import QUERIES, SRC, TS, UNIT, generated, read_log, recorded
from benchmarks.report import Options
from sash.errors import SashError


def test_tables_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = dict.fromkeys(Stores, (300,))
    monkeypatch.setattr(patterns_report, "QUICK_SIZES", small)
    monkeypatch.setattr(patterns_report, "RECORDED_SIZES", small)
    monkeypatch.setattr(patterns_joins, "LATE", (200, 300))
    monkeypatch.setattr(patterns_joins, "SHARES", (0.05, 0.5))
    log = tmp_path / "connections.csv.gz"
    lines = [f"{place % 3},h{place % 97},h{place % 5}" for place in range(2_400)]
    log.write_bytes(gzip.compress("\n".join(["service,orig_h,resp_h", *lines]).encode()))
    reports = list(patterns_report.run(Options(quick=True, rows=300, repeat=1, connections=log)))
    assert [len(report.lines) for report in reports] == [len(QUERIES), 3, 8, len(QUERIES), 3, 8, 30, 2]
    assert all(len(line) == len(report.columns) for report in reports for line in report.lines)
    engine = reports[0]
    assert {number["strategy"] for number in engine.numbers} == set(patterns_report.STRATEGIES)
    assert engine.draw is not None
    pytest.importorskip("matplotlib").use("Agg")
    engine.draw(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    delays = [float(str(line[1])) for line in reports[-1].lines]
    assert delays[0] > delays[1]


def test_the_input_is_the_same_again() -> None:
    one, two = generated(500), generated(500)
    assert all((left == right).all() for left, right in zip(one.links, two.links, strict=True))
    assert one.few != one.many and len(one.table)


def test_a_log_must_have_the_columns(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SashError, match="has no column orig_h, resp_h, service"):
        read_log(tmp_path / "log.csv")


def test_a_query_of_one_link_has_the_whole_log() -> None:
    log = pa.table({name: [str(place % 7) for place in range(60)] for name in ("service", "orig_h", "resp_h")})
    assert [recorded(log, "log", links, 100).round for links in (1, 2, 3)] == [60, 30, 20]


def test_a_log_is_played_again() -> None:
    log = pa.table({name: [str(place) for place in range(9)] for name in ("service", "orig_h", "resp_h")})
    first, second = recorded(log, "log", 2, 10).links
    assert first[:, SRC].tolist() == [0, 2, 4, 6, 0, 2, 4, 6, 0, 2]
    assert second[:, SRC].tolist() == [1, 3, 5, 7, 1, 3, 5, 7, 1, 3]
    assert first[:, TS].tolist() == [UNIT * place for place in range(10)]


def test_how_a_run_is_cut_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    query, input_ = QUERIES[1], generated(900)
    found = set()
    for changes, least in ((1 << 18, 1 << 10), (5, 7)):
        monkeypatch.setattr(patterns, "CHANGES", changes)
        monkeypatch.setattr(patterns, "LEAST_STEP", least)
        run = Run(query, input_, 300, "auto", Stores.ENGINE)
        found.add(run.play(300, 600)[1])
        run.close()
    assert len(found) == 1 and found != {0}


def test_what_leaves_a_join() -> None:
    """The shapes of figures 8 and 9: what goes up when rows leave falls with the pairs of each, by messages; probes are half."""
    leaving: dict[str, list[float]] = {}
    probes: dict[str, list[int]] = {}
    for number in patterns_joins.join_work(Options(quick=True)).numbers:
        leaving.setdefault(str(number["strategy"]), []).append(number["leaving"] / number["positive"])  # type: ignore[operator]
        probes.setdefault(str(number["strategy"]), []).append(number["probes"])  # type: ignore[arg-type]
    assert all(0.7 < share <= 1 for share in leaving["negative"])
    assert leaving["time-message"] == sorted(leaving["time-message"], reverse=True)
    assert leaving["time-message"][-1] < 0.4 * leaving["time-message"][0] < 0.4
    assert all(merged < 0.1 * alone for merged, alone in zip(leaving["piggyback"], leaving["time-message"], strict=True))
    assert leaving["input-triggered"] == leaving["direct"] == [0.0] * 5
    assert all(few < 0.57 * many for few, many in zip(probes["time-message"], probes["negative"], strict=True))


def test_turns() -> None:
    input_ = generated(200)
    assert len(measure(QUERIES[2], input_, 100, 100, Stores.ENGINE, Turns(3, 9))[0].nanoseconds) == 3
    assert len(measure(QUERIES[2], input_, 100, 100, Stores.ENGINE, Turns(3, 9, enough=60))[0].nanoseconds) == 9


def test_ratios_are_taken_turn_by_turn() -> None:
    """One turn was slow for all."""
    slow, fast = ([30.0, 900.0, 33.0], [20.0, 450.0, 22.0])
    one, two = (Measured("q", 1, Stores.ENGINE, strategy, times) for strategy, times in (("negative", slow), ("auto", fast)))
    assert one.over(two) == 1.5 and one.over(one) == 1.0


def test_what_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLong):
        measure(QUERIES[0], generated(200), 100, 100, Stores.ENGINE, Turns(longest=0))
    monkeypatch.setattr(patterns_report, "QUICK_SIZES", dict.fromkeys(Stores, (100,)))
    monkeypatch.setattr(patterns_report, "LONGEST", 0)
    report = next(patterns_report.run(Options(quick=True, rows=100)))
    assert not report.lines and "Query 3 over 100 rows takes more than 0 seconds, and is left out" in report.notes
