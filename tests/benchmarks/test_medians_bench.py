"""The benchmark of percentiles asks for as many as it says, and all of them are answered."""

from __future__ import annotations

import pytest

import sash
from benchmarks import medians


@pytest.mark.parametrize("subject", medians.SUBJECTS, ids=lambda subject: subject.name)
def test_every_figure_is_there(subject: medians.Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(medians, "RATE", 1_000)
    monkeypatch.setattr(medians, "PUSHED", 100)
    monkeypatch.setattr(medians, "CALLS", medians.CALLS[::9])
    one, every = medians.measure(subject, 2)
    assert len(one) == len(every) == 2 and min(*one, *every) > 0
    with sash.connect() as db:
        db.execute(subject.sql(len(medians.CALLS)))
        db.push("s", [(second, 7, float(second)) for second in range(4)])
        answers = [db.view(name).to_pylist() for name in db.materialized()]
        figures = [value for (row,) in answers for name, value in row.items() if name != "k"]
        shown = 4 if subject.window == medians.AT_EVERY_ROW else 3  # the last slide is not over
        assert len(figures) == len(medians.CALLS) and figures[0] == (shown - 1) / 2 and figures[1:] == sorted(figures[1:])
