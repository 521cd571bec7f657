"""None of many damaged files goes unnoticed; `SASH_DAMAGED_FILES=10000` tries more of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from damage import trials
from damage.damages import DAMAGES
from damage.trials import Field
from lengths import count

FILES = int(os.environ.get("SASH_DAMAGED_FILES", count(24, 60)))


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    made = Field()
    yield made
    made.close()


def test_what_is_compared_is_worth_it(field: Field) -> None:
    for (story, end), told in field.expected.items():
        kinds = {key.split()[0] for key in told}
        assert kinds >= {"changes", "answer", "complete", "history", "files", "file", "late", "dead"}
        assert end == "finished" or kinds >= {"view", "subscription"}
        assert len(told["changes of counts"].splitlines()) > 50 and all(told.values()), story


def test_no_damaged_file_goes_unnoticed(field: Field) -> None:
    summary = field.play(range(FILES))
    assert not summary.wrong, "\n".join(f"seed={seed}: {wrong}" for seed, wrong in summary.wrong.items())
    assert summary.total == FILES
    assert summary.exact.total() > FILES // 4
    assert summary.refused.total() > FILES // 10


def test_all_that_can_happen_happens(field: Field) -> None:
    kinds = {field.damaged(seed).rpartition(" ") for seed in range(300)}
    assert {damage for *_, damage in kinds} == {damage.__name__ for damage in DAMAGES}
    found = {kind.removeprefix("point/") for kind, *_ in kinds}
    assert found >= {"job.json", "asked.json", "folded.json", "finished.json", "epochs", "control", "jobs", "tables", "files/s", "files/r"}
    assert found >= {"manifest", "manifest/answers", "shards/log", "shards/answers", "shards/snapshots", "shards/pages"}
    assert found >= {f"out/{name}.parquet" for name in ("counts.changes", "priced.changes", "s.late", "r.dead")}


def test_arenas_that_are_damaged_while_they_are_used_are_made_again(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "ARENAS_SHARE", 1.0)
    summary = field.play(range(FILES // 4))
    assert not summary.wrong and not any(kind.startswith(trials.ARENAS) for kind in summary.refused)
    assert sum(count for kind, count in summary.exact.items() if kind.startswith(trials.ARENAS)) > FILES // 8


def test_a_crash_is_seen(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends in the middle of a trial is counted, and the trials after it are played."""

    def dying(self: Field, seed: int) -> tuple[str, str, str]:
        if seed == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return "a file", "exact", ""

    monkeypatch.setattr(Field, "trial", dying)
    summary = field.play(range(6))
    assert list(summary.wrong) == [3]
    assert "crash" in summary.wrong[3]
    assert summary.exact.total() == 5
