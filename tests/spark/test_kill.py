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
from jobs import JOB, write_files
from pyspark.sql import SparkSession

from sash.database.on_spark import SparkDatabase
from sash.spark.host import SparkHost

CHILD = """
import sys
from pathlib import Path
from jobs import JOB
from sash.spark.session import local_session
from sash.database.on_spark import SparkDatabase

folder = Path(sys.argv[1])
db = SparkDatabase(
    lambda: local_session("2"), checkpoint=folder / "cp", output=folder / "out", shards=2, batch_rows=40,
    base=folder.parent,
    on_progress=lambda progress: print(progress.batch, flush=True),
)
db.execute(JOB)
db.run()
db.write_answers()
print("end", flush=True)
"""


def run_child(folder: Path, kill_at: int | None, delay: float) -> list[str]:
    """Run, and kill the whole family once it has told of a batch; what it told."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    told = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            told.append(line.strip())
            if kill_at is not None and line.strip().isdigit() and int(line) >= kill_at:
                time.sleep(delay)
                os.killpg(child.pid, signal.SIGKILL)
                break
    return told


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_killed_twice(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    db = SparkDatabase(spark, checkpoint=calm / "cp", output=calm / "out", shards=2, batch_rows=40, base=tmp_path)
    db.execute(JOB)
    db.run()
    db.write_answers()
    for kill_at, delay in ((1, 0.15), (6, 0.3)):
        assert "end" not in run_child(killed, kill_at, delay)
    told = run_child(killed, None, 0)
    assert told[-1] == "end"
    assert int(told[0]) >= 6
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
