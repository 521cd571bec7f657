"""The patterns benchmark: its input, its tables and its figures, over windows that are small enough for a test."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from sash.bench import patterns_report
from sash.bench.patterns_input import QUERIES, generated, read_log, recorded
from sash.bench.report import Options
from sash.errors import SashError
from sash.physical.papers import Stores


def test_tables_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = dict.fromkeys(Stores, (300,))
    monkeypatch.setattr(patterns_report, "QUICK_SIZES", small)
    monkeypatch.setattr(patterns_report, "RECORDED_SIZES", small)
    monkeypatch.setattr(patterns_report, "PLAYED", (200, 300))
    monkeypatch.setattr(patterns_report, "SHARES", (0.05, 0.5))
    log = tmp_path / "connections.csv.gz"
    lines = [f"{place % 3},h{place % 97},h{place % 5}" for place in range(2_400)]
    log.write_bytes(gzip.compress("\n".join(["service,orig_h,resp_h", *lines]).encode()))
    reports = list(patterns_report.run(Options(quick=True, rows=300, connections=log)))
    assert [len(report.lines) for report in reports] == [len(QUERIES), 3, 8, len(QUERIES), 3, 8, 12, 2]
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
    assert [len(recorded(log, "log", links).links[0]) for links in (1, 2, 3)] == [60, 30, 20]
