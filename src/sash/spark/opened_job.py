"""A job with its checkpoint and its outputs, as one driver knows them: what is on record, and how far it was answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.planner.job import Job
from sash.planner.read_plan import Code
from sash.runtime.history_limit import ALL, DEFAULT
from sash.runtime.history_limit import History as HistoryLimit
from sash.runtime.progress import Progress
from sash.sources.listing import list_files
from sash.spark.arenas import BEFORE_ALL, arenas_on_this_machine, remove_arenas_of
from sash.spark.checkpoint import Checkpoint, find_checkpoint, fingerprint, make_checkpoint, newest_event
from sash.spark.epochs import NONE, check_epoch, check_unclaimed, claim_epoch, newest_epoch
from sash.spark.failures import explain
from sash.spark.folding import fold
from sash.spark.job_changes import JobChanges
from sash.spark.jobs import job_at
from sash.spark.layout import read_layout
from sash.spark.ledger import Ledger
from sash.spark.offsets import offset_of, spark_folder
from sash.spark.pipeline import is_one_machine, on_workers
from sash.spark.planner import is_file_stream
from sash.spark.reading import Readers
from sash.spark.sealed import SealedFolder
from sash.spark.settings import Settings
from sash.spark.temporary import TemporaryFolder
from sash.spark.tidying import Tidying
from sash.spark.versions import Versions


def new_tag() -> str:
    """Tells the arenas of one host from those of others."""
    return uuid4().hex[:8]


@dataclass(frozen=True)
class Opening:
    """What is asked for when a job is opened. It runs on so many shards, and is planned for those that its checkpoint began
    with."""

    base: Path
    checkpoint: Path | str | None
    output: Path | str | None
    batch_rows: int | None
    flush: bool
    until: int | None
    frames: Mapping[str, DataFrame]
    code: Code | None
    early: Sequence[tuple[str, pa.RecordBatch]]
    history: HistoryLimit | None
    shards: int | None


class OpenedJob:
    """A job that is found in its checkpoint, or has a new one."""

    def __init__(self, spark: SparkSession, job: Job, opening: Opening) -> None:
        self.job = job
        self.progress = Progress()
        self._spark = spark
        self._frames = dict(opening.frames)
        self._shards = opening.shards
        self._flush = opening.flush
        self._code: Code = {} if opening.code is None else opening.code  # that the user has registered; it may grow
        self._temporary = TemporaryFolder() if opening.checkpoint is None else None
        place = SealedFolder.of(opening.checkpoint or "" if self._temporary is None else self._temporary.path)
        target = Folder.of(opening.output) if opening.output is not None else place.plain.child("output")
        self._checkpoint = self._open(place, opening.base, len(opening.early))
        folder = self._checkpoint.folder
        self._tag = new_tag()
        self._settings = Settings(
            str(opening.base), folder, target, self._arenas_in(NONE), frozenset(self._frames), opening.batch_rows,
            flush=opening.flush and not self._frames, until=opening.until, layout=read_layout(folder),
        )
        self._is_unsure = False  # whether a statement is on record
        self._number = 0  # of the version of the job that runs
        self.ledger = self._open_ledger(folder, target)
        limit = opening.history or (DEFAULT if opening.output is None else ALL)
        self._tidying = Tidying(self.ledger, limit, lambda batch: fold(folder, batch))
        self.versions = Versions(folder, self.ledger, self._code)
        self._readers = Readers(folder)
        self.steering = JobChanges(job, self._checkpoint, self.versions, self._frames)
        if self.versions.newest:
            self._number, self.job = self._job_of_next_batch()
        self._ask_early(opening.early[: self._checkpoint.early])

    def _open(self, folder: SealedFolder, base: Path, early: int) -> Checkpoint:
        """Mistakes of the user come out here, before anything starts."""
        for stream in self.job.streams:
            if is_file_stream(stream, self._frames):
                list_files(stream, base)
        found = find_checkpoint(folder, self.job)
        self.is_new = found is None
        checkpoint = make_checkpoint(folder, self.job, early) if found is None else found
        self._epoch_seen = NONE if self.is_new else newest_epoch(checkpoint.folder)  # who finds a new one may run it at once
        return checkpoint

    def _open_ledger(self, checkpoint: SealedFolder, output: Folder) -> Ledger:
        ledger = Ledger(checkpoint, output)

        def has_begun() -> bool:
            return bool(spark_folder(checkpoint).child("offsets").names()) or ledger.record.is_there

        if self.is_new or not has_begun():
            # Who made the checkpoint may have died before its outputs were ready, or be about to go on: it is told.
            self._claim_epoch(ledger)
            if not has_begun():  # it may have gone on in the meantime
                ledger.begin(self.job)
        ledger.read()
        return ledger

    def _claim_epoch(self, ledger: Ledger) -> None:
        settings = self._settings
        if settings.epoch != NONE:
            check_epoch(settings.checkpoint, settings.epoch)
            return
        epoch = claim_epoch(settings.checkpoint, self._epoch_seen)
        self._settings = replace(settings, epoch=epoch, arenas=self._arenas_in(epoch))
        ledger.epoch, ledger.fence = epoch, partial(check_epoch, settings.checkpoint, epoch)

    def _ask_early(self, early: Sequence[tuple[str, pa.RecordBatch]]) -> None:
        """Ask for the first changes of tables. A driver that died among them left the rest to the next; and two that do so at
        once ask for each of them once, as every change has its number."""
        for number in range(newest_event(self._settings.checkpoint) + 1, len(early) + 1):
            name, rows = early[number - 1]
            with self._on_record():
                self._checkpoint.ask_as(number, {"tables": self.versions.put_rows({name: rows}, number)})

    @property
    def is_finished(self) -> bool:
        """Has the end of the input been taken in?"""
        return self._checkpoint.is_finished

    @property
    def arenas(self) -> Path:
        """Where the arenas of this host lie, on a machine that runs its tasks."""
        return Path(on_workers(self._spark, partial(arenas_on_this_machine, self._settings.arenas))[0])

    def _arenas_in(self, epoch: int) -> Path:
        """A name that no arenas of others have: what they left is not trusted."""
        return Path(f"{self._checkpoint.number}-{epoch}-{self._tag}")

    def _remove_arenas(self) -> None:
        with suppress(Exception):  # Spark may be gone; then its folders are
            remove_arenas_of(self._settings.arenas)  # those that were made again in this process
            if self._readers.arenas is not None and is_one_machine(self._spark):
                remove_arenas_of(self._readers.arenas)
            else:
                on_workers(self._spark, partial(remove_arenas_of, self._settings.arenas))

    @contextmanager
    def _on_record(self) -> Iterator[None]:
        """A statement is put on record. Where that fails half way, this process no longer knows what the checkpoint knows."""
        try:
            yield
        except BaseException:
            self._is_unsure = True
            raise

    def _check_sure(self) -> None:
        if self._is_unsure:
            raise SashError(
                "an earlier statement could not be put on record, or not be seen to be",
                "connect again, with the same checkpoint, which knows whether it was taken",
            )

    def _check_mine(self) -> None:
        checkpoint, epoch = self._settings.checkpoint, self._settings.epoch
        if epoch == NONE:
            check_unclaimed(checkpoint, self._epoch_seen)
        else:
            check_epoch(checkpoint, epoch)

    @property
    def first_job(self) -> Job:
        """The job that the checkpoint began with, as it runs."""
        return self._settings.layout.of(self.steering.first)

    def _job_of_next_batch(self) -> tuple[int, Job]:
        """The version of the job that runs next, which need not be the newest."""
        folder = self._settings.checkpoint
        offset = offset_of(folder, self._version)
        number = 0 if offset is None else offset.job
        return number, job_at(folder, number, self.steering.first, self._code)

    def is_first(self, job: Job) -> bool:
        """Whether this is the job that the checkpoint began with."""
        return fingerprint(job) == fingerprint(self.steering.first)

    @property
    def run(self) -> tuple[str, int]:
        """The checkpoint, and which of its drivers this is; one that has nothing to run goes on for the last one."""
        epoch = self._settings.epoch
        return self._checkpoint.number, newest_epoch(self._settings.checkpoint) if epoch == NONE else epoch

    @property
    def _version(self) -> int:
        """The last batch that was answered by all shards."""
        return self.progress.batch if self.progress.batch >= 0 else self._committed

    @property
    def _committed(self) -> int:
        commits = spark_folder(self._settings.checkpoint).child("commits").names()
        return max((int(name) for name in commits if name.isdigit()), default=BEFORE_ALL)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """An error of a task, or of Spark itself, as one clear message."""
        try:
            yield
        except (PySparkException, Py4JJavaError) as failure:
            told = explain(failure)
            raise told from told.__cause__
