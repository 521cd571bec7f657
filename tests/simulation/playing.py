"""A workload is played to its end, through all faults; what comes out is compared with what came out without any."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sash.database import on_spark as spark_database
from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.folders import folder
from sash.folders.folder import Folder
from sash.runtime.packets import Cargo
from sash.sources import csv, lines
from sash.spark import arenas, checkpoint, epochs, jobs, merging, planner, running_job, tidying
from sash.spark.outputs import output_name
from sash.spark.trials import shown
from simulation.bucket import Bucket
from simulation.disk import Disk
from simulation.faults import Fault, Faults
from simulation.query import AtOnce, PlayedFrame, SimulatedHost
from simulation.store import Store
from simulation.workload import Action, Do, Frame, FrameRow, Workload
from simulation.world import Killed, Process, World, Wrong

MOST_TRIES = 6  # of one action, after the last fault: then it is refused for good
RIVAL_DRAINS = 2  # that another driver waits for before it goes


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
        self.folder = _home() / "world"
        self.folder.mkdir()
        self.world = World(seed, self.folder, workload.machines)
        self.faults = Faults(seed, self.world, operations, kinds)
        self.store = self.faults.store = self._made_store()
        self.faults.rival = self._begin_rival
        self.outcome = Outcome(faults=self.faults.happened, log=self.world.log)
        self.db: SparkDatabase | None = None
        self.is_running = False
        self.is_strewn = False  # somebody may have written files that nobody wanted any more
        self._rivals = 0
        self.frame = PlayedFrame()

    def _made_store(self) -> Store:
        if self.workload.is_on_disk:
            return Disk(self.folder, self.faults.operation, self.faults.done)
        return Bucket(self.faults.operation, self.faults.done)

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
        if self._until_done(len(self.workload.actions), Action(Do.FILES)) and self._come_to_rest():
            self._take_outcome()
        if self.world.wrong is not None:
            raise Wrong(self.world.wrong)

    def _come_to_rest(self) -> bool:
        """Those that were left behind end as well. Another driver goes on, as one of them may have taken the job over, and removes what
        they left in the folders as it begins to run, unless the job is at its end."""
        is_strewn = bool(self.world.beside)
        self.world.finish_others()
        self.faults.stop()
        if self.db is None or not (is_strewn or self._rivals):
            self.is_strewn = is_strewn
            return True
        self.is_strewn = is_strewn and self.db.is_finished
        self._bury()
        return self._until_done(len(self.workload.actions), Action(Do.FILES))

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
                        self.db.execute(action.text)  # type: ignore[union-attr]
                        is_given = True
                self._do(place, action)
                return True
            except Killed:
                self._bury()
            except SashError as refusal:
                last = str(refusal).replace(self.store.base, "run")
                self.world.log.append(f"refusal: {last}")
                self.outcome.refusals[_general(last)] += 1
                tries += 1
                if "wait for its end" in last:
                    self.world.finish_others()
                self._begin_again(tries)
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
        self.world.driver = self.world.process = Process("driver", 0, self._arenas())
        self.db = self._opened()
        self.is_running = False

    def _arenas(self) -> str:
        """Where a driver has its arenas: to find those of the one before it is worse than what really happens."""
        return self.world.driver.arenas if self.world.chance.random() < 0.5 else f"-{self.outcome.restarts}"

    def _opened(self) -> SparkDatabase:
        _forget()
        work, base = self.workload, self.store.base
        db = SparkDatabase(
            None, checkpoint=f"{base}/point", output=f"{base}/out", shards=work.shards, batch_rows=work.batch_rows, base=self.folder
        )  # type: ignore[arg-type]
        db.execute(work.sql.replace("{base}", base))
        if work.frame is not None:
            places = {"partition": "partition", "position": "position"} if work.frame is Frame.PLACED else {}
            db.stream("e", self.frame, **places)  # type: ignore[arg-type]
        return db

    def _begin_rival(self, steps: int) -> None:
        """Another driver of the same job, on whatever machine, which knows nothing of this one; so many steps come at once."""
        self._rivals += 1
        process = Process(f"rival {self._rivals}", self.world.chance.randrange(self.workload.machines), f"-rival-{self._rivals}")
        rival = self.world.begin_beside(process, self._run_rival)
        for _ in range(steps):
            rival.step()

    def _run_rival(self) -> None:
        db = self._opened()
        try:
            if not db.is_finished:
                db.start()
                for _ in range(RIVAL_DRAINS):
                    db.drain()
        finally:
            if db._host is not None:
                db._host._held.close()  # as the locks of a process go with it

    def _drain(self) -> None:
        assert self.db is not None
        if not self.db.is_finished:
            if not self.is_running:
                self.db.start()
                self.is_running = True
            self.db.drain()

    def _begin_again(self, tries: int) -> None:
        """After a refusal: in the same process, or, after some tries for certain, in another."""
        is_same = self.world.chance.random() < 0.5 and tries < MOST_TRIES // 2
        if is_same and self.db is not None and self.db._host is not None:
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
            self.store.place(f"run/{name}", text.encode())
        for rows in action.frame:
            self.frame.batches.append([_frame_table(rows)])

    def _events(self) -> set[str]:
        return set(self.store.files("point/control"))

    def _is_taken(self, action: Action, before: set[str]) -> bool:
        """Whether a statement that was cut short is on record: who gave it looks, and gives it again if not."""
        found = [data for name, data in self.store.files("point/control").items() if name not in before]
        word = b'"job"' if "VIEW" in action.text else b'"advance"' if "ADVANCE" in action.text else b'"tables"'
        return any(word in data for data in found)

    def _take_outcome(self) -> None:
        assert self.db is not None
        host = self.db._running()
        late = [output_name(stream.name, kind) for stream in host.job.streams for kind in (Cargo.LATE, Cargo.DEAD)]
        try:
            for view in shown(host.job):
                self.outcome.changes[view.name] = self._rows(output_name(view.name, Cargo.CHANGES))
                self.outcome.answers[view.name] = _canonical(host.final(view.name))
            self.outcome.late |= {name: rows for name in late if (rows := self._rows(name))}
        except SashError as refusal:
            self.outcome.refused = str(refusal)

    def _rows(self, name: str) -> bytes:
        """Of an output; where the store did damage, or a job is at its end and somebody woke up later, as Sash's own readers see it:
        what a write that came years late left in the folder is seen by others."""
        assert self.db is not None
        host = self.db._running()
        if self.faults.is_damaged or self.is_strewn:
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
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of late rows, in every run
            patch.setattr(spark_database, "SparkHost", host)
            patch.setattr(spark_database, "check_streaming", lambda name, frame: None)
            patch.setattr(spark_database, "check_places", lambda *told: None)
            self.store.enter(patch)
            patch.setattr(epochs, "time", SimpleNamespace(strftime=lambda form: "then"))
            patch.setattr(arenas, "fcntl", self.world)
            patch.setattr(arenas, "_boot", self.world.boot)
            patch.setattr(checkpoint, "_ASKING", _NoLock())
            patch.setattr(planner, "time", SimpleNamespace(time_ns=lambda: 0, monotonic=lambda: 1.0))
            patch.setattr(tempfile, "tempdir", str(self.folder))
            patch.setattr(tidying, "Thread", AtOnce)
            patch.setattr(tidying, "EVERY", 2)
            patch.setattr(merging, "FEW_BATCHES", 3)
            patch.setattr(merging, "FEW", 2)
            patch.setattr(running_job, "POLL", 0.0)  # who waits for a batch runs it
            yield


class _NoLock:
    """In a world one process has one thread."""

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        return


@cache
def _home() -> Path:
    """Where this process plays one run after the other; dead letters name their files, so it is always the same place."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="sash-simulation-", dir=memory))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return home


def _forget() -> None:
    """A new process knows nothing of the files that others have read."""
    jobs.forget_jobs()
    folder._lasting.clear()
    for remembered in (lines._ends_of, lines._whole, csv._read_header):
        remembered.cache_clear()


def _frame_table(rows: tuple[FrameRow, ...]) -> pa.Table:
    types = (pa.timestamp("us"), pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.table(columns, names=["ts", "k", "v", "partition", "position"])


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
