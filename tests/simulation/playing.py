"""A workload is played to its end, through all faults; what comes out is compared with what came out without any."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sash.database import on_spark as spark_database
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.runtime.packets import Cargo
from sash.sources import listing
from sash.spark import arenas, checkpoint, folder, jobs, merging, planner, tidying
from sash.spark import host as hosting
from sash.spark.folder import Folder
from sash.spark.outputs import output_name
from sash.spark.trials import shown
from simulation.bucket import Bucket
from simulation.faults import Fault, Faults
from simulation.query import AtOnce, SimulatedHost
from simulation.workload import Action, Do, Workload
from simulation.world import Killed, Process, World, Wrong

MOST_TRIES = 6  # of one action, after the last fault: then it is refused for good
BASE = "sim://run"


@dataclass
class Outcome:
    """What a run left behind."""

    changes: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)
    reads: dict[int, bytes] = field(default_factory=dict)
    late: dict[str, bytes] = field(default_factory=dict)
    operations: int = 0
    restarts: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    refused: str | None = None  # for good
    faults: Counter[Fault] = field(default_factory=Counter)
    is_damaged: bool = False
    log: list[str] = field(default_factory=list)


def _read_plainly(folder: Folder) -> pa.Table:
    """As somebody does who knows nothing of Sash: every file that is there."""
    tables = [pq.read_table(pa.BufferReader(folder.read(name))) for name in folder.names()]
    return pa.concat_tables(tables) if tables else pa.table({})


class Player:
    """One run."""

    def __init__(self, workload: Workload, seed: int, operations: int, kinds: tuple[Fault, ...]) -> None:
        self.workload = workload
        self.folder = Path(tempfile.mkdtemp(prefix="sash-simulation-", dir=_memory()))
        self.world = World(seed, self.folder, workload.machines)
        self.faults = Faults(seed, self.world, operations, kinds)
        self.bucket = self.faults.bucket = Bucket(self.faults.operation, self.faults.done)
        self.outcome = Outcome(faults=self.faults.happened, log=self.world.log)
        self.db: SparkDatabase | None = None
        self.is_running = False

    def play(self) -> Outcome:
        try:
            with self._patched():
                self._play()
        finally:
            self.world.kill_others()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.outcome.operations = self.faults.number
        self.outcome.is_damaged = self.faults.is_damaged
        return self.outcome

    def _play(self) -> None:
        for place, action in enumerate(self.workload.actions):
            self._put_files(action)
            if not self._until_done(place, action):
                return
        if self._until_done(len(self.workload.actions), Action(Do.FILES)):
            self.world.finish_others()
            self._take_outcome()

    def _until_done(self, place: int, action: Action) -> bool:
        """Do it, again and again if need be; False when it is refused for good."""
        tries, faults = 0, sum(self.faults.happened.values())
        is_given = False  # a statement
        events = self._events()
        while True:
            try:
                self._connect()
                if action.do is Do.EXECUTE:
                    self._drain()
                    if not is_given:
                        self.db.execute(action.text.format(base=BASE))  # type: ignore[union-attr]
                        is_given = True
                self._do(place, action)
                return True
            except Killed:
                self._bury()
            except SashError as refusal:
                self.world.log.append(f"refusal: {refusal}")
                self.outcome.refusals[_general(str(refusal))] += 1
                self._begin_again()
                tries += 1
                last = str(refusal)
            is_given = is_given or (action.do is Do.EXECUTE and self._is_taken(action, events))
            if sum(self.faults.happened.values()) > faults:
                tries, faults = 0, sum(self.faults.happened.values())
            if tries >= MOST_TRIES:
                self.outcome.refused = last
                return False

    def _do(self, place: int, action: Action) -> None:
        assert self.db is not None
        match action.do:
            case Do.FILES | Do.EXECUTE:
                self._drain()
            case Do.READ:
                self._drain()
                self.outcome.reads[place] = _canonical(self.db.view(action.text).to_arrow())
            case Do.RESTART:
                self._drain()
                self._bury()
                self._connect()
                self._drain()
            case Do.RUN:
                self.db.stop()
                self.is_running = False
                self.db.run()

    def _connect(self) -> None:
        if self.db is not None:
            return
        self.world.driver = Process("driver", 0)
        self.world.local.process = None
        jobs.forget_jobs()
        work = self.workload
        self.db = SparkDatabase(
            None, checkpoint=f"{BASE}/point", output=f"{BASE}/out", shards=work.shards, batch_rows=work.batch_rows, base=self.folder
        )  # type: ignore[arg-type]
        self.db.execute(work.sql.replace("{base}", BASE))
        self.is_running = False

    def _drain(self) -> None:
        assert self.db is not None
        if not self.db.is_finished:
            if not self.is_running:
                self.db.start()
                self.is_running = True
            self.db.drain()

    def _begin_again(self) -> None:
        """After a refusal: in the same process, or in another."""
        if self.db is not None and self.db._host is not None and self.world.chance.random() < 0.5:
            self.db.stop()
            self.is_running = False
        else:
            self._bury()

    def _bury(self) -> None:
        """The process is gone: its locks are free, its attempts of tasks go on."""
        self.outcome.restarts += 1
        self.world.driver.is_dead = True
        if self.db is not None and self.db._host is not None:
            self.db._host._held.close()
        self.db = None

    def _put_files(self, action: Action) -> None:
        for name, text in action.files:
            self.bucket.place(f"run/{name}", text.encode())

    def _events(self) -> set[str]:
        return {name for name in self.bucket.objects if name.startswith("run/point/control/")}

    def _is_taken(self, action: Action, before: set[str]) -> bool:
        """Whether a statement that was cut short is on record: who gave it looks, and gives it again if not."""
        found = [self.bucket.objects[name].data for name in self._events() - before]
        word = b'"job"' if "VIEW" in action.text else b'"advance"' if "ADVANCE" in action.text else b'"tables"'
        return any(word in data for data in found)

    def _take_outcome(self) -> None:
        self.faults.stop()
        assert self.db is not None
        host = self.db._started()
        late = [output_name(stream.name, kind) for stream in host.job.streams for kind in (Cargo.LATE, Cargo.DEAD)]
        try:
            for view in shown(host.job):
                self.outcome.changes[view.name] = self._rows(output_name(view.name, Cargo.CHANGES))
                self.outcome.answers[view.name] = _canonical(host.final(view.name))
            self.outcome.late |= {name: rows for name in late if (rows := self._rows(name))}
        except SashError as refusal:
            self.outcome.refused = str(refusal)

    def _rows(self, name: str) -> bytes:
        """Of an output; where the store did damage, as Sash's own readers see it: what a write that came years late left in the
        folder is seen by others."""
        assert self.db is not None
        host = self.db._started()
        if self.faults.is_damaged:
            tables = [table for table in host.ledger.read_all(name) if table.num_rows]
            return _canonical(pa.concat_tables(tables)) if tables else b""
        return _canonical(_read_plainly(host._settings.output.child(name)))

    @contextmanager
    def _patched(self) -> Iterator[None]:
        """The world instead of this machine."""
        import pytest

        host = type("Host", (SimulatedHost,), {
            "world": self.world, "faults": self.faults, "snapshot_every": self.workload.snapshot_every,
        })
        files, remote = fs.PyFileSystem(self.bucket), listing._remote
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of late rows, in every run
            patch.setattr(spark_database, "SparkHost", host)
            patch.setattr(listing, "_remote", lambda root: (files, root[6:]) if root.startswith("sim://") else remote(root))
            patch.setattr(folder, "object_store", lambda place, name: (self.bucket, f"{place.path}/{name}"))
            patch.setattr(arenas, "fcntl", self.world)
            patch.setattr(arenas, "_boot", self.world.boot)
            patch.setattr(checkpoint, "_ASKING", _NoLock())
            patch.setattr(planner, "time", SimpleNamespace(time_ns=lambda: 0, monotonic=lambda: 1.0))
            patch.setattr(tempfile, "tempdir", str(self.folder))
            patch.setattr(tidying, "Thread", AtOnce)
            patch.setattr(tidying, "EVERY", 2)
            patch.setattr(merging, "FEW_BATCHES", 3)
            patch.setattr(merging, "FEW", 2)
            patch.setattr(hosting, "POLL", 0.0)  # who waits for a batch runs it
            yield


class _NoLock:
    """In a world one process has one thread."""

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _canonical(table: pa.Table) -> bytes:
    """The rows as bytes, in one order."""
    names = [f"c{place}" for place in range(table.num_columns)]
    table = table.rename_columns(names).combine_chunks()
    if names:
        first = [name for name in names[1:2] if table.num_columns > 2] + names
        table = table.sort_by([(name, "ascending") for name in first])
    return "\n".join(map(str, table.to_pylist())).encode()


def _general(message: str) -> str:
    import re

    return re.sub(r"\d+", "N", message)[:120]


def difference(expected: Outcome, actual: Outcome) -> str | None:
    """The first thing that is not as it should be."""
    for what in ("changes", "answers", "reads", "late"):
        wanted, found = getattr(expected, what), getattr(actual, what)
        for key in sorted(set(wanted) | set(found), key=str):
            if wanted.get(key) != found.get(key):
                return f"{what} of {key}:\nexpected\n{_text(wanted.get(key))}\nactual\n{_text(found.get(key))}"
    return None


def _text(data: bytes | None) -> str:
    return "nothing" if data is None else data.decode()


__all__ = ["Any", "Outcome", "Player", "Wrong", "difference"]
