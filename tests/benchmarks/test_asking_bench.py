"""The benchmark of questions asks what it says, of rows that are there."""

from __future__ import annotations

import pytest

from benchmarks import asking


@pytest.mark.parametrize("subject", asking.SUBJECTS, ids=lambda subject: subject.name)
def test_questions_are_answered_while_rows_come(subject: asking.Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "RATE", 1_000)
    monkeypatch.setattr(asking, "PUSHED", 100)
    measured = asking.measure(subject, 3)
    assert min(measured.middle, measured.first, measured.mean, measured.push, measured.wall_middle) > 0
