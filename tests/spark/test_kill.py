"""A run that is killed outright, again and again, ends with what an undisturbed run gives, byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import counting
import numpy as np
import pytest
from jobs import played, write_files
from pyspark.sql import SparkSession

from sash.folders.folder import PARTIAL
from sash.spark.host import SparkHost

CHILD = """
import sys
from pathlib import Path
from sash.spark.session import local_session
from jobs import played

played(lambda: local_session("2"), Path(sys.argv[1]), 40, lambda batch: print(batch, flush=True))
"""


def play_and_kill(folder: Path, batch: int, delay: float) -> None:
    """In a process of its own, whose whole family is killed once it has told of a batch."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        assert any(int(line) >= batch for line in child.stdout)
        time.sleep(delay)
        os.killpg(child.pid, signal.SIGKILL)


def files(folder: Path) -> dict[str, bytes]:
    """Those that are finished: what a kill cut short lies hidden beside them, for a later start to remove."""
    finished = (path for path in sorted(folder.rglob("*")) if path.is_file() and not PARTIAL.fullmatch(path.name))
    return {str(path.relative_to(folder)): path.read_bytes() for path in finished}


def test_killed_twice(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    played(spark, calm, 40)
    play_and_kill(killed, 1, 0.15)
    play_and_kill(killed, 6, 0.3)
    told: list[int] = []
    played(spark, killed, 40, told.append)
    assert told[0] >= 6
    assert files(killed / "out") == files(calm / "out")


@pytest.mark.parametrize("lost", ["arenas", "nothing"])
def test_a_stopped_run_goes_on(spark: SparkSession, tmp_path: Path, lost: str) -> None:
    """Between two runs the host may lose its arenas."""
    expected = counting.write_events(tmp_path / "a.csv", 500)

    def host() -> SparkHost:
        job = counting.job(counting.stream("*.csv"))
        return SparkHost(
            spark, job, tmp_path, tmp_path / "cp", batch_rows=100, flush=False, make_engine=counting.Counting
        )

    first = host()
    first.run_to_end()
    if lost == "arenas":
        for path in first.arenas.iterdir():
            path.unlink()
    expected += counting.write_events(tmp_path / "b.csv", 500, seed=1, start=1000)
    second = host()
    second.run_to_end()
    table = second.view("counts")
    assert np.bincount(table.column("key"), table.column("n"), counting.KEYS).tolist() == expected.tolist()
