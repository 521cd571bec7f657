"""What a small push costs is what it calls: no more than was kept in the repository."""

from __future__ import annotations

import json

import pytest

from benchmarks import calls

KEPT = json.loads(calls.KEPT.read_text())


@pytest.mark.parametrize("case", calls.CASES, ids=lambda case: case.name)
def test_a_push_calls_no_more_than_before(case: calls.Case) -> None:
    assert calls.risen({case.name: case.calls()}, KEPT) == []


def test_every_case_is_kept() -> None:
    assert sorted(KEPT) == sorted(case.name for case in calls.CASES)


def test_calls_are_exact() -> None:
    case = calls.CASES[1]
    assert case.calls() == case.calls()


def test_what_is_well_above_is_told() -> None:
    kept = {"a push": 100.0}
    assert calls.risen({"a push": 114.0, "another": 999.0}, kept) == []
    assert calls.risen({"a push": 116.0}, kept) == ["a push: 116 calls a push, 100 were kept"]
