"""The benchmark of indexes asks the same of all engines, and each has the indexes that it says."""

from __future__ import annotations

import pytest

from benchmarks import indexes
from benchmarks.report import Options


@pytest.mark.parametrize("subject", indexes.SUBJECTS, ids=lambda subject: subject.name)
def test_all_give_the_same(subject: indexes.Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "ROWS", 3_000)
    monkeypatch.setattr(indexes, "KEYS", 50)
    engines = [indexes.Engine(subject, which) for which in (indexes.NONE, *subject.indexes, indexes.CHOSEN, indexes.AUTOMATIC)]
    for engine in engines:
        engine.push(100)
    answers = [[engine.ask().to_pylist() for _ in range(20)] for engine in engines]
    assert all(answer == answers[0] for answer in answers) and any(answers[0])
    for engine in engines:
        engine.close()


def test_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "ROWS", 3_000)
    monkeypatch.setattr(indexes, "SUBJECTS", indexes.SUBJECTS[:1])
    (report,) = indexes.run(Options(repeat=2))
    ((name, quickest, *_),) = report.lines
    assert name == "one of many keys" and quickest != indexes.CHOSEN
    assert len(report.numbers[0]["ratios"][indexes.CHOSEN]) == 2  # type: ignore[index]
