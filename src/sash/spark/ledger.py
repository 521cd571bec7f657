"""The ledger: the driver's side of the outputs, which keeps the manifest.

    batch N answered     its files are put down; only then does Spark commit the batch
    a view comes         its changes begin with that batch, or with those of another view that has the same query
    a view goes          its files stay where they are, and nobody minds them any more
    a restart            every file must be as the manifest says; what a crash left beside them is removed

Files leave the manifest before they leave their folder, and are written before they are in it. Whoever removes some has put down
a base since it last knew that it is the driver that runs, and knows it still: else another one may have read the base before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.planner.job import Job, View
from sash.runtime.live import LiveView
from sash.runtime.packets import Cargo, Packet
from sash.schema import BEGINNING
from sash.spark.changelog import Changelog
from sash.spark.epochs import NONE
from sash.spark.manifest import WAY_OUT, Kept, Manifest, ManifestFolder, Part
from sash.spark.merging import copied
from sash.spark.output_files import put_rows, read_batches, read_part
from sash.spark.output_folder import Leaving, check_output, clear, older_files
from sash.spark.outputs import output_name, put_empty, told_files
from sash.spark.sealed import SealedFolder
from sash.spark.trials import shown


class Ledger:
    """What is on record of the outputs of a job."""

    def __init__(self, checkpoint: SealedFolder, output: Folder) -> None:
        self.record = ManifestFolder.of(checkpoint)
        self.output = output
        self.manifest = Manifest()
        self.came = threading.Condition()  # is told of every batch
        self._lock = threading.RLock()
        self._is_rebased = False  # the next batch is put down as a base: more has changed than it adds
        self._leaving: list[Leaving] = []
        self.epoch = NONE  # of this driver
        self.fence: Callable[[], None] = lambda: None  # raises an error when another driver has taken over

    def begin(self, job: Job) -> None:
        """Begin anew: nothing of an earlier run stays, and folders of changes can be read before the first change.

        It is checked all the time whether they are still to be emptied: another driver may have begun to fill them.
        """
        for view in shown(job):
            clear(self._folder(view), self.fence)
            put_empty(self.output, view)
        for stream in job.streams:
            for cargo in (Cargo.LATE, Cargo.DEAD):
                clear(self.output.child(output_name(stream.name, cargo)), self.fence)
        self.manifest = Manifest(outputs={output_name(view.name, Cargo.CHANGES): Kept() for view in shown(job)})
        self.put_base()

    def read(self) -> None:
        """Know what is on record, without a look at the files: another run may be at work on them."""
        self.manifest = self.record.read()

    def open(self, committed: int, job: Job) -> None:
        """Go on with what is on record, if it is whole; what a batch had begun that is not on record will be done again."""
        with self._lock:
            self._leaving = []
            self.put_base(self._left_over(committed))
        self._put_empty(job)

    def open_finished(self, committed: int, job: Job) -> None:
        """What is on record of a job that nobody runs any more must be there; it stays as it is."""
        for files in self._left_over(committed):
            files.leave()
        self._put_empty(job)

    def _left_over(self, committed: int) -> list[Leaving]:
        """What a crash has left beside all that is on record, which must be there."""
        self.read()
        if self.manifest.batch < committed:
            raise SashError(
                f"the manifest of the outputs, {self.record.folder.place}, ends with batch {self.manifest.batch},"
                f" but batch {committed} has been answered",
                WAY_OUT,
            )
        there = ((name, kept) for name, kept in self.manifest.outputs.items() if kept.ended is None)
        return [check_output(self.output.child(name), kept, self.manifest.batch) for name, kept in there]

    def _put_empty(self, job: Job) -> None:
        for view in shown(job):
            put_empty(self.output, view)

    def take(self, batch: int, told: Iterable[Packet], now: int | None) -> None:
        """Put down what the shards wrote; late and dead rows count as of the time `now`."""
        added = {name: [_timed(part, now) for part in parts] for name, parts in told_files(told).items()}
        with self._lock:
            self.manifest = self.manifest.with_batch(batch, added)
            if self._is_rebased:
                self.put_base()
            else:
                self.fence()
                self.record.put_batch(batch, added)
        with self.came:
            self.came.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Alone with the manifest."""
        with self._lock:
            yield

    def put_base(self, leaving: Iterable[Leaving] = ()) -> None:
        """Put everything down as it is; then these files can leave their folders."""
        with self._lock:
            self.fence()
            self.record.put_base(self.manifest, self.epoch, self.fence)
            self._is_rebased = False
            going, self._leaving = [*self._leaving, *leaving], []
        for files in going:
            files.leave()

    def make_room(self, view: View) -> None:
        """A view has been asked for: its folder can be read before the first change."""
        there = self.manifest.outputs.get(output_name(view.name, Cargo.CHANGES))
        if there is None or there.ended is not None:  # else it takes another's place, whose files leave when it does
            clear(self._folder(view), self.fence)
        put_empty(self.output, view)

    def begin_view(self, view: View, batch: int, complete: int | None, twin: View | None) -> None:
        """The changes of a view begin with a batch, unless it has a twin, whose changes are also its own.

        What is there of earlier batches was another view's of the same name. It is on record with the batch.
        """
        name, folder = output_name(view.name, Cargo.CHANGES), self._folder(view)
        with self._lock:
            kept = Kept(since=batch - 1, complete=complete)
            theirs = None if twin is None else self.manifest.outputs.get(output_name(twin.name, Cargo.CHANGES))
            if twin is not None and theirs is not None:
                kept = self._copied(theirs.before(batch), twin, view, batch)
            self.manifest = self.manifest.with_output(name, kept)
            self._is_rebased = True
            self._leaving.append(Leaving(folder, tuple(older_files(folder, kept, batch))))
        put_empty(self.output, view)

    def end_views(self, before: Job, job: Job, batch: int) -> None:
        """Views that the next version of a job does not have any more."""
        gone = {view.name for view in shown(before)} - {view.name for view in shown(job)}
        with self._lock:
            for name in (output_name(view, Cargo.CHANGES) for view in gone):
                self.manifest = self.manifest.with_output(name, replace(self.manifest.kept(name), ended=batch))
                self._is_rebased = True

    def complete_since(self, view: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        found = self.manifest.outputs.get(output_name(view, Cargo.CHANGES))
        return BEGINNING if found is None else found.complete

    def restore(self, view: View, live: LiveView, last: int) -> None:
        """Fill an answer with what a view held after a batch."""
        name = output_name(view.name, Cargo.CHANGES)
        self.changelog(name).restore(live, self.manifest.kept(name), last)

    def changelog(self, name: str) -> Changelog:
        """An output as its readers see it."""
        return Changelog(self.record, self.output, name)

    def read_all(self, name: str) -> Iterator[pa.Table]:
        """All rows of an output that are kept."""
        kept = self.manifest.kept(name)
        yield from (rows.table for rows in read_batches(self.output.child(name), kept.parts, kept.since, self.manifest.batch))

    def _copied(self, kept: Kept, twin: View, view: View, batch: int) -> Kept:
        """What a twin has, in files of the view's own."""
        mark, answers = f"-of-{batch:08d}", []
        for answer in kept.answers:
            (rows,) = read_part(self.record.answers, answer)
            file = f"{output_name(view.name, Cargo.CHANGES)}-{answer.last:08d}{mark}"
            answers.append(put_rows(self.record.answers, file, answer.last, rows.table))
        parts = copied(self._folder(twin), kept.parts, self._folder(view), mark)
        return replace(kept, parts=parts, answers=tuple(answers), ended=None)

    def _folder(self, view: View) -> Folder:
        return self.output.child(output_name(view.name, Cargo.CHANGES))


def _timed(part: Part, now: int | None) -> Part:
    return part if part.greatest is not None else replace(part, least=now, greatest=now)
