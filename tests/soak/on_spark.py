"""The load on Spark: files come into folders and are taken away again, views are read and come and go."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import deque
from inspect import signature
from pathlib import Path
from shutil import rmtree
from statistics import median

from pyspark.sql import SparkSession

from sash.database.on_spark import SparkDatabase
from sash.spark.session import local_session
from soak import measures
from soak.load import STREAMS, VIEWS, Load, Row, Tick, created
from soak.trend import Room

ROOMS = {
    "driver memory MB": Room(0.05, 10),
    "worker memory MB": Room(0.1, 30),
    "heap after collection MB": Room(0.05, 8),
    "descriptors": Room(0.05, 30),
    "threads": Room(0.05, 20),
    "batch ms": Room(0.3, 300),
    "checkpoint files": Room(0.1, 20),
    "checkpoint MB": Room(0.1, 2),
    "output files": Room(0.1, 20),
    "output MB": Room(0.1, 2),
    "temporary files": Room(0.1, 30),
    "temporary MB": Room(0.1, 8),
}
PATHS = {name: f" WITH (format = '{form}', path = '{name}/*')" for name, form in (("s", "csv"), ("r", "json"))}
LEFT = 20  # files of a stream that lie in its folder
OUTPUT_GROWS = ("output MB",)  # with all of its history


class OnSpark:
    """A database on a session of its own."""

    pause = 1.0  # seconds between two ticks

    def __init__(self, history: str, session: SparkSession | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sash-soak-"))
        self.rooms = {name: room for name, room in ROOMS.items() if history != "all" or name not in OUTPUT_GROWS}
        for name in ("s", "r", "tmp"):
            (self._folder / name).mkdir()
        self._is_own = session is None
        self._spark = session or self._own_session()
        self._db = SparkDatabase(
            self._spark, checkpoint=self._folder / "checkpoint", output=self._folder / "output", shards=2, base=self._folder,
            **({"history": history} if "history" in signature(SparkDatabase).parameters else {}),  # type: ignore[arg-type]
        )
        self._db.execute(STREAMS.format(**PATHS) + created(VIEWS))
        self._files: deque[Path] = deque()
        self._number = 0
        self._is_started = False

    def _own_session(self) -> SparkSession:
        """One whose temporary files can be counted."""
        os.environ["SPARK_LOCAL_DIRS"] = os.environ["TMPDIR"] = tempfile.tempdir = str(self._folder / "tmp")
        return local_session("2,4")

    def tick(self, tick: Tick) -> None:
        self._put("s", "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in tick.rows["s"]) + "nonsense\n")
        self._put("r", "".join(json.dumps(dict(zip(("ts", "k", "w"), row, strict=True))) + "\n" for row in tick.rows["r"]))
        if not self._is_started:
            self._db.start()
            self._is_started = True
        for statement in tick.statements:
            self._db.execute(statement)

    def _put(self, stream: str, text: str) -> None:
        self._number += 1
        hidden = self._folder / stream / f".{self._number}"
        hidden.write_text(text)
        self._files.append(hidden.rename(self._folder / stream / f"{self._number:08d}.{'csv' if stream == 's' else 'json'}"))

    def _take_away(self) -> None:
        """Files that have been read; all have been, after a check."""
        while len(self._files) > LEFT:
            self._files.popleft().unlink()

    def measure(self) -> dict[str, float]:
        pids = measures.descendants(os.getpid())
        java = [pid for pid in pids if measures.is_java(pid)]
        workers = [pid for pid in pids[1:] if pid not in java]
        found = {
            "driver memory MB": measures.memory(pids[:1]),
            "worker memory MB": measures.memory(workers),
            "heap after collection MB": self._heap(),
            "descriptors": float(measures.descriptors([pids[0], *java])),
            "threads": float(measures.threads([pids[0], *java])),
            "batch ms": self._batch_time(),
        }
        for name, place in (("checkpoint", "checkpoint"), ("output", "output"), ("temporary", "tmp")):
            found[f"{name} files"], found[f"{name} MB"] = measures.files(self._folder / place)
        return found

    def _batch_time(self) -> float:
        """Of the last batches that had rows."""
        query = self._db._running()._query
        batches = [] if query is None else [told for told in query.recentProgress[-10:] if told["numInputRows"]]
        return float(median(told["durationMs"]["triggerExecution"] for told in batches)) if batches else 0.0

    def _heap(self) -> float:
        machine = self._spark._jvm
        machine.java.lang.System.gc()
        runtime = machine.java.lang.Runtime.getRuntime()
        return float(runtime.totalMemory() - runtime.freeMemory()) / measures.MB

    def check(self, load: Load, view: str) -> None:
        self._db.drain()
        load.check(view, self._answer(view))
        self._take_away()

    def _answer(self, view: str) -> list[Row]:
        return [tuple(row.values()) for row in self._db.view(view).to_arrow().to_pylist()]

    def close(self) -> None:
        self._db.close()
        if self._is_own:
            self._spark.stop()
            time.sleep(1)  # until the workers have gone
        rmtree(self._folder, ignore_errors=True)
