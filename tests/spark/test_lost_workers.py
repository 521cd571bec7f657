"""Workers and executors that are killed in the middle of a job, and tasks that may run twice, change neither its end nor a byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from jobs import played, write_files
from pyspark.sql import SparkSession
from test_kill import files

from lengths import LONG
from soak.measures import descendants, is_java

HERE = Path(__file__).parent
CLUSTER = "local-cluster[2,1,1024]"
EAGER = ("spark.speculation=true", "spark.speculation.interval=50ms", "spark.speculation.quantile=0.1",
         "spark.speculation.multiplier=1.1", "spark.speculation.minTaskRuntime=100ms",
         "spark.speculation.efficiency.enabled=false")  # fmt: skip

Killer = Callable[[int, int], None]  # of a process' family, after a batch


@pytest.fixture(scope="module")
def calm(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm")
    write_files(folder)
    played(spark, folder / "calm", 80)
    return folder


def run(folder: Path, master: str, kill: Killer, *more: str) -> dict[str, int]:
    """What the job tells at its end."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", ""), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths}
    command = [sys.executable, str(HERE / "killed_job.py"), str(folder), master, *more]
    told: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                told.append(line.strip())
                if told[-1].isdigit():
                    kill(child.pid, int(told[-1]))
        finally:
            if child.poll() is None and told[-1:] != ["end"]:
                os.killpg(child.pid, signal.SIGKILL)
    assert told[-1:] == ["end"], told
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in told if line.count(" ")}


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def test_single_workers_are_killed(calm: Path) -> None:
    """In a session of the user's that tries no task twice: those that run tasks, and the one that plans batches."""
    killed: set[str] = set()

    def kill(family: int, batch: int) -> None:
        kind = ("pyspark.worker", "python_streaming_source_runner")[batch % 2]
        workers = [pid for pid in descendants(family) if not is_java(pid) and command_of(pid).strip().endswith(kind)]
        for pid in workers[1:] or workers if 1 <= batch <= 4 else ():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed.add(kind)
        time.sleep(0.05)

    told = run(calm / "killed", "local[2]", kill)
    assert len(killed) == 2
    assert told["begun again"] > 0
    assert files(calm / "killed/out") == files(calm / "calm/out")


@pytest.mark.parametrize("settings", [(), EAGER] if LONG else [EAGER], ids=lambda settings: "speculation" if settings else "plain")
def test_an_executor_is_killed(calm: Path, settings: tuple[str, ...]) -> None:
    """With slow tasks of which Spark may begin a second attempt. It runs those on other machines only, of which a test has none: two
    attempts at once are played in `tests/simulation`."""
    killed: list[int] = []

    def kill(family: int, batch: int) -> None:
        found = [pid for pid in descendants(family) if is_java(pid) and "CoarseGrainedExecutorBackend" in command_of(pid)]
        if batch == 2:
            os.kill(found[0], signal.SIGKILL)
            killed.extend(found)

    folder = calm / f"cluster-{len(settings)}"
    run(folder, CLUSTER, kill, *settings)
    assert len(killed) == 2
    assert files(folder / "out") == files(calm / "calm/out")
