"""Peers in Rust: that their changes are compared with ours; how fast they are is not tested here."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import dataflows
from benchmarks.dataflows import Played, Program, Sash, Sums, interval
from benchmarks.public import WORKLOADS, Step, steps, strict_input
from benchmarks.report import Options
from sash.errors import SashError

ANSWERS = """#!/bin/sh
while read count; do echo '{"nanoseconds": 2000, "rows": 4, "changes": 3, "checksum": 5}'; done
"""
FEW = replace(WORKLOADS[0], keys=20, window=50)


def batch(*changes: tuple[int, int, float]) -> pa.RecordBatch:
    weights, instants, values = zip(*changes, strict=True)
    columns = [pa.array(weights, pa.int8()), pa.array(instants).view(pa.timestamp("us")), pa.array(values, pa.float64())]
    return pa.RecordBatch.from_arrays(columns, names=["_op", "_ts", "m"])


def summed(*changes: tuple[int, int, float]) -> Sums:
    weights, instants, rows = dataflows.lanes([batch(*changes)])
    return dataflows.sums(weights, dataflows.mixed(0, instants, rows))


def test_changes_that_cancel_out_at_an_instant_are_none() -> None:
    assert summed((1, 5, 2.5), (-1, 5, 2.5), (1, 6, 3.0)) == summed((1, 6, 3.0))
    assert summed((1, 5, 2.5), (1, 5, 2.5)).changes == 2


def test_another_row_instant_or_weight_gives_another_checksum() -> None:
    one = summed((1, 5, 2.5)).checksum
    assert one not in {summed((1, 5, 3.0)).checksum, summed((1, 6, 2.5)).checksum, summed((-1, 5, 2.5)).checksum}


def test_what_is_read_does_not_depend_on_the_steps() -> None:
    input_ = strict_input(FEW, 400)
    once, often = Sash(FEW), Sash(FEW)
    once.play(list(steps(input_, 0, 400, 400)))
    found = Sums(0, 0)
    for step in steps(input_, 0, 400, 100):
        often.play([step])
        found += often.take()
    assert found == once.take() and found.changes > 400


def test_the_interval_of_few_turns_is_wide() -> None:
    low, high = interval([2.0, 2.0, 2.0])
    assert math.isclose(low, 2.0) and math.isclose(high, 2.0)
    assert interval([2.0]) == (0.0, math.inf)
    assert interval([1.0, 4.0])[0] < 1 < 4 < interval([1.0, 4.0])[1]


def test_a_program_is_told_how_many_steps_to_play(tmp_path: Path) -> None:
    (script := tmp_path / "peer").write_text(ANSWERS)
    script.chmod(0o755)
    with Program(script, FEW, tmp_path) as program:
        assert program.play(2) == Played(2e-6, 4, Sums(3, 5)) == program.play(1)


def test_other_changes_than_ours_are_an_error(tmp_path: Path) -> None:
    (script := tmp_path / "peer").write_text(ANSWERS)
    script.chmod(0o755)
    with Program(script, FEW, tmp_path) as program, pytest.raises(SashError, match='"count and sum": peer gives Sums'):
        dataflows.turn(FEW, Sash(FEW), {"peer": program}, first_step())


def test_a_program_that_ends_is_told(tmp_path: Path) -> None:
    (script := tmp_path / "peer").write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    with Program(script, FEW, tmp_path) as program, pytest.raises(SashError, match="peer ended with 3"):
        program.play(1)


def test_without_cargo_a_peer_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (report,) = dataflows.run(["differential"], Options(repeat=1))
    assert not report.lines and report.notes == ["differential: there is no cargo, which builds it; see https://rustup.rs"]


def first_step() -> list[Step]:
    return list(steps(strict_input(FEW, 200), 0, 200, 200))
