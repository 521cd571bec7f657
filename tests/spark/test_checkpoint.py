"""A checkpoint belongs to one job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import counting
import pytest

from sash.errors import SashError
from sash.spark.arenas import run_lock
from sash.spark.checkpoint import events_after, find_checkpoint, make_checkpoint
from sash.spark.sealed import SealedFolder

JOB = counting.job(counting.stream("events.csv"))


@pytest.fixture
def folder(tmp_path: Path) -> SealedFolder:
    folder = SealedFolder.of(tmp_path / "cp")
    assert find_checkpoint(folder, JOB) is None
    make_checkpoint(folder, JOB)
    return folder


def test_the_same_job_finds_its_checkpoint(folder: SealedFolder) -> None:
    found = find_checkpoint(folder, counting.job(counting.stream("events.csv")))
    assert found is not None
    assert not found.is_finished
    found.finish()
    assert found.is_finished


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (replace(JOB, shards=4), "has 2 shards, the job 4; run with --shards 2"),
        (replace(JOB, streams=(counting.stream("other.csv"),)), 'another job: stream "events" has changed'),
        (replace(JOB, views=(replace(JOB.views[0], name="other"),)), 'another job: view "counts" is gone'),
        (replace(JOB, views=(*JOB.views, replace(JOB.views[0], name="more"))), 'another job: view "more" is not in it'),
        (replace(JOB, ports=JOB.ports * 2), "another plan of the same job"),
    ],
)
def test_another_job_is_refused(folder: SealedFolder, job: object, message: str) -> None:
    with pytest.raises(SashError, match=message):
        find_checkpoint(folder, job)  # type: ignore[arg-type]


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SashError, match="is not empty, and not a checkpoint"):
        find_checkpoint(SealedFolder.of(tmp_path), JOB)


def test_events_keep_their_order(folder: SealedFolder) -> None:
    found = find_checkpoint(folder, JOB)
    assert found is not None
    for time in range(12):
        found.ask({"advance": time})
    assert [event["advance"] for event in events_after(found.folder, 3)] == list(range(3, 12))


def test_one_runner_at_a_time(tmp_path: Path) -> None:
    with run_lock(tmp_path), pytest.raises(SashError, match="another run is using this checkpoint"), run_lock(tmp_path):
        pass
    with run_lock(tmp_path):
        pass
