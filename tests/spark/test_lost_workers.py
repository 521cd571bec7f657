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
from random import Random

import pytest
from jobs import JOB, changelogs, played, write_files
from pyspark.sql import SparkSession
from test_kill import files

from lengths import LONG
from sash.database.embedded import EmbeddedDatabase
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow
from soak.measures import descendants, is_java

HERE = Path(__file__).parent
EAGER = ("spark.speculation=true", "spark.speculation.interval=50ms", "spark.speculation.quantile=0.1",
         "spark.speculation.multiplier=1.1", "spark.speculation.minTaskRuntime=100ms",
         "spark.speculation.efficiency.enabled=false")  # fmt: skip

ROWS = 16  # a batch, of the long run
Killer = Callable[[int, int], None]  # of a process' family, after a batch


@pytest.fixture(scope="module")
def calm(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calm")
    write_files(folder)
    played(spark, folder / "calm", 80)
    return folder


def run(folder: Path, master: str, kill: Killer, batch_rows: int, shards: int, *more: str) -> dict[str, int]:
    """What the job tells at its end."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", ""), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths}
    command = [sys.executable, str(HERE / "killed_job.py"), str(folder), master, str(batch_rows), str(shards), *more]
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

    told = run(calm / "killed", "local[2]", kill, 80, 2)
    assert len(killed) == 2
    assert told["begun again"] > 0
    assert files(calm / "killed/out") == files(calm / "calm/out")


def executors_of(family: int) -> list[int]:
    return [pid for pid in descendants(family) if is_java(pid) and "CoarseGrainedExecutorBackend" in command_of(pid)]


@pytest.mark.parametrize("settings", [(), EAGER] if LONG else [EAGER], ids=lambda settings: "speculation" if settings else "plain")
def test_executors_are_killed(calm: Path, settings: tuple[str, ...]) -> None:
    """With slow tasks of which Spark may begin a second attempt. It runs those on other machines only, of which a test has none: two
    attempts at once are played in `tests/simulation`. Until one is killed, all shards stay where they are."""
    killed: list[int] = []

    def kill(family: int, batch: int) -> None:
        for pid in executors_of(family)[: {3: 2, 5: 1}.get(batch, 0)]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    folder = calm / f"cluster-{len(settings)}"
    told = run(folder, "local-cluster[2,1,1024]", kill, 80, 2, "spark.locality.wait=60s", *settings)
    assert len(killed) >= 2
    assert told["moved by 3"] == 0 < told["moved"] < told["answers"] > told["rebuilt"] > 0
    assert files(folder / "out") == files(calm / "calm/out")


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not LONG, reason="takes minutes; ./run test --long tests/spark/test_lost_workers.py -k fifty")
def test_fifty_executors_are_killed(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One to three at random in every batch, while those before are still coming back. What is written is what the same batches write
    on one machine, to the byte, and each changelog is that of the embedded engine."""
    write_files(tmp_path)
    played(spark, tmp_path / "calm", ROWS, shards=6)
    embedded = EmbeddedDatabase(base=tmp_path)
    embedded.execute(JOB)
    embedded.run()
    random, killed = Random(3), 0

    def kill(family: int, batch: int) -> None:
        nonlocal killed
        time.sleep(random.uniform(0, 1))
        found = executors_of(family)
        for pid in random.sample(found, min(random.randint(1, 3), len(found), 50 - killed)):
            os.kill(pid, signal.SIGKILL)
            killed += 1

    told = run(tmp_path / "killed", "local-cluster[4,1,1024]", kill, ROWS, 6)
    with capsys.disabled():
        print(f"\n{killed} kills: {({name: count for name, count in told.items() if 'by' not in name})}")
    assert killed == 50
    assert files(tmp_path / "killed/out") == files(tmp_path / "calm/out")
    for name, found in changelogs(tmp_path / "killed/out").items():
        assert_same(from_arrow(embedded.changes(name)), found)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not LONG, reason="takes minutes; ./run test --long tests/spark/test_lost_workers.py -k stay")
@pytest.mark.parametrize(("executors", "memory"), [(3, 900), (4, 1024)])
def test_shards_stay_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], executors: int, memory: int) -> None:
    write_files(tmp_path)
    master = f"local-cluster[{executors},1,{memory}]"
    told = run(tmp_path / "quiet", master, lambda family, batch: None, 20, 6, f"spark.executor.memory={memory}m")
    with capsys.disabled():
        print(f"\n{master}: {({name: count for name, count in told.items() if 'by' not in name})}")
    assert told["answers"] > 200 and told["places"] == executors
    assert max(told["moved"], told["rebuilt"]) * 20 < told["answers"]
