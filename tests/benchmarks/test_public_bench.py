"""What is measured through the public interface is what the engine alone does; how fast it is is not tested here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks import public
from benchmarks.report import Options
from sash.schema import BIGINT

WINDOW = 300


def small(workload: public.Workload) -> public.Workload:
    sql = tuple(one.replace("60000000 MICROSECONDS", f"{WINDOW * 1000} MICROSECONDS") for one in workload.sql)
    return replace(workload, sql=sql, keys=40, window=WINDOW, bare=workload.bare and replace(workload.bare, keys=40))


def alone(workload: public.Workload, steps: list[public.Step], until: int) -> Counter[tuple[object, ...]]:
    runner, found = public.Alone(workload), Counter[tuple[object, ...]]()
    for step in steps:
        for number, delta in enumerate(runner.deltas(step)):
            values = len(runner._views[number].schema.names)
            for row, ts, weight in zip(delta.rows[:, :values].tolist(), delta.ts.tolist(), delta.weight.tolist(), strict=True):
                if ts < until:
                    found[number, ts, 1 if weight > 0 else -1, *row] += abs(weight)
    return found


def through(workload: public.Workload, steps: list[public.Step], reader: str, until: int) -> Counter[tuple[object, ...]]:
    runner, found = public.Public(workload, reader, history="all"), Counter[tuple[object, ...]]()
    for step in steps:
        runner.step(step)
    for number in range(len(workload.sql)):
        table = runner.db.changes(f"answer{number}")
        columns = [table.column(1).cast("int64"), table.column(0), *table.columns[2:]]
        for ts, sign, *row in zip(*(column.to_pylist() for column in columns), strict=True):
            if ts < until:
                found[number, ts, sign, *row] += 1
    return found


@pytest.mark.parametrize("workload", [one for one in public.WORKLOADS if "median" not in one.name], ids=lambda one: one.name)
@pytest.mark.parametrize("reader", ["nobody", "live"])
def test_both_give_the_same_changes(workload: public.Workload, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "NOW_AND_THEN", 100)
    mine = small(workload)
    assert all(type_ == BIGINT for view in public.Alone(mine)._views for type_ in view.schema.types)
    input_ = public.strict_input(mine, 1200)
    steps = list(public.steps(input_, 0, 1200, 170))
    until = min(int(lines[-1, 0]) for lines in input_.rows)
    expected = alone(mine, steps, until)
    assert through(mine, steps, reader, until) == expected and expected


def test_turns_are_measured_for_every_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "FILLING", 200)
    measured = public.measure(small(public.COUNT_AND_SUM), 100, turns=2, rows=300)
    assert [one.reader for one in measured] == list(public.READERS)
    assert all(len(one.public) == len(one.engine) == len(one.bare) == 2 and min(one.shares) > 0 for one in measured)
    assert 1 < measured[0].changes < 8


def test_views_of_one_workload_are_not_one_view() -> None:
    many = public.ONE_OF_MANY.copies(7)
    assert len(public.Alone(many)._views) == 7


def test_a_report_has_the_share_of_the_engine_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "FILLING", 200)
    monkeypatch.setattr(public, "_quick_jobs", lambda: {"workloads": [(small(public.WORKLOADS[2]), 1000, ("nobody",))]})
    (report,) = public.run(Options(quick=True, rows=2000, repeat=1))
    assert report.columns[4] == "of engine" and report.lines[0][:4] == ["distinct", "1", "1,000", "nobody"]
    assert float(str(report.numbers[0]["ratio"])) > 0
