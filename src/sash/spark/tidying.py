"""Tidying: outputs and their manifest stay as small as the history that somebody wants to have.

    answers     put down now and then, as after the last batch that is committed, so that a restart reads few changes
    forgetting  what a bounded history has no room for; it begins with an answer on record, which late readers get first
    merging     small files become large ones (`merging.py`), and control events are folded (`folding.py`), in a thread

An answer is put down when as many changes have come as it has rows, so it costs about what the changes cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from threading import Thread

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.planner.job import Job
from sash.runtime.history_limit import History
from sash.runtime.live import LiveView
from sash.runtime.packets import Cargo, changes_schema
from sash.spark.forgetting import after_answer, forgotten
from sash.spark.ledger import Ledger
from sash.spark.manifest import Kept, Part
from sash.spark.merging import BARRIER, NO_PARQUET, Merge, due, exchanged, merged
from sash.spark.output_files import put_part, put_rows
from sash.spark.output_folder import Leaving, older_files
from sash.spark.outputs import is_changes, output_name
from sash.spark.trials import shown

EVERY = 32  # batches between two times
RETAIN = 3  # batches before the newest one whose files are left alone: a task that was given up may still be writing them
AT_ONCE = 32 << 20  # bytes of merged files that are exchanged together


@dataclass(frozen=True)
class _Merged:
    """A file that is ready to take the place of others; without data, the file stays and is merged no more."""

    output: str
    merge: Merge
    data: pa.Buffer | None


class Tidying:
    """Keeps a ledger small. One thread at a time merges; whoever changes outputs otherwise waits for it."""

    def __init__(self, ledger: Ledger, history: History, fold: Callable[[int], None]) -> None:
        self._ledger = ledger
        self._history = history
        self.histories: dict[str, History] = {}  # of outputs of which another one is wanted
        self._fold = fold
        self._thread: Thread | None = None
        self._failure: SashError | None = None
        self._next = 0

    def before_batch(self, batch: int, job: Job, live: Mapping[str, LiveView]) -> None:
        """All batches before this one are committed, and `live` are the answers after them."""
        self._raise()
        if batch >= self._next and (self._thread is None or not self._thread.is_alive()):
            self._next = batch + EVERY
            self._put_answers(job, live, batch - 1)
            self._forget(batch)
            self._thread = Thread(target=self._merge_beside, args=(batch - 1 - RETAIN,), daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """The job is at its end: merge all that can be merged, and let nothing lie beside it."""
        self.wait()
        last = self._ledger.manifest.batch
        self._merge(last, is_end=True)
        with self._ledger.changing():
            found = [self._strays(name, last) for name in self._ledger.manifest.outputs]
            self._ledger.put_base([leaving for leaving in found if leaving.files])

    def wait(self) -> None:
        """Until nobody merges."""
        self.join()
        self._raise()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def history_of(self, output: str) -> History:
        return self.histories.get(output, self._history)

    def _raise(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _put_answers(self, job: Job, live: Mapping[str, LiveView], batch: int) -> None:
        ledger = self._ledger
        with ledger.changing():
            for view in shown(job):
                name = output_name(view.name, Cargo.CHANGES)
                kept = ledger.manifest.outputs.get(name)
                if kept is None or view.name not in live or kept.since >= batch or not _is_due(kept):
                    continue
                rows = live[view.name].rows()
                table = _stamped(rows, kept.greatest or 0).cast(changes_schema(view.schema))
                answer = put_rows(ledger.record.answers, f"{name}-{batch:08d}-by-{ledger.epoch:08d}", batch, table)
                ledger.manifest = ledger.manifest.with_output(name, after_answer(kept, answer, self.history_of(name)))

    def _forget(self, batch: int) -> None:
        """What is on record of outputs that nobody minds any more, and what has no room."""
        ledger = self._ledger
        with ledger.changing():
            before = ledger.manifest
            outputs = {
                name: forgotten(kept, self.history_of(name), is_view=is_changes(name)) for name, kept in before.outputs.items()
                if kept.ended is None or kept.ended > batch - RETAIN
            }
            ledger.manifest = replace(before, outputs=outputs)
            leaving = list(_gone(before.outputs, outputs, ledger.output))
            answers = {part.file for kept in outputs.values() for part in kept.answers}
            old = [name for name in ledger.record.answers.names() if name not in answers]
            ledger.put_base([*leaving, Leaving(ledger.record.answers, tuple(old))])

    def _merge_beside(self, last: int) -> None:
        try:
            self._fold(last)
            self._merge(last)
        except SashError as error:
            self._failure = error
        except OSError:
            return  # a store that does not answer now may do so the next time

    def _merge(self, last: int, *, is_end: bool = False) -> None:
        ready: list[_Merged] = []
        while found := list(self._due(last, is_end=is_end)):
            for output, merge in found:
                is_one = len(merge.parts) == 1
                data = None if is_one else merged(self._ledger.output.child(output), merge)
                ready.append(_Merged(output, merge, data))
                if sum(one.data.size for one in ready if one.data is not None) >= AT_ONCE:
                    self._exchange(ready, last)
                    ready = []
            self._exchange(ready, last)
            ready = []

    def _due(self, last: int, *, is_end: bool) -> Iterator[tuple[str, Merge]]:
        for name, kept in self._ledger.manifest.outputs.items():
            if kept.ended is None:
                yield from ((name, merge) for merge in due(kept, last, self.history_of(name), is_end=is_end))

    def _exchange(self, ready: list[_Merged], last: int) -> None:
        """Put merged files in the place of those that they are made of, and of what else lies there of batches up to `last`."""
        if not ready:
            return
        ledger = self._ledger
        folders = {one.output: ledger.output.child(one.output) for one in ready if one.data is not None}
        for folder in folders.values():
            folder.put(BARRIER, [NO_PARQUET])
        parts = [_put(folders.get(one.output), one) for one in ready]
        with ledger.changing():
            for one, part in zip(ready, parts, strict=True):
                kept = exchanged(ledger.manifest.kept(one.output), one.merge, part)
                ledger.manifest = ledger.manifest.with_output(one.output, kept)
            ledger.put_base([self._strays(name, last, BARRIER) for name in folders])

    def _strays(self, output: str, last: int, *more: str) -> Leaving:
        """Files of batches up to `last` that are of no part: what was merged, and what a task that had been given up put down
        after its batch had been merged.

        They are found before it is asked whether this driver still is the one that runs: its successor may merge the same ones.
        """
        folder = self._ledger.output.child(output)
        return Leaving(folder, (*older_files(folder, self._ledger.manifest.kept(output), last + 1), *more))


def _put(folder: Folder | None, one: _Merged) -> Part:
    if folder is None or one.data is None:
        return replace(one.merge.parts[0], level=one.merge.level)
    return put_part(folder, one.merge.part(), one.data)


def _is_due(kept: Kept) -> bool:
    """Whether enough has changed since the newest answer."""
    return kept.changed > 0 and kept.changed >= (kept.answers[-1].rows if kept.answers else 0)


def _stamped(rows: pa.Table, instant: int) -> pa.Table:
    """An answer as changes: all its rows come at one instant."""
    ops, instants = pa.array(np.ones(rows.num_rows, np.int8)), pa.array(np.full(rows.num_rows, instant))
    return pa.Table.from_arrays([ops, instants.cast(pa.timestamp("us")), *rows.columns], names=["_op", "_ts", *rows.column_names])


def _gone(before: Mapping[str, Kept], after: Mapping[str, Kept], output: Folder) -> Iterator[Leaving]:
    """Files that are on record no more."""
    for name, kept in after.items():
        files = {part.file for part in kept.parts}
        gone = [part.file for part in before[name].parts if part.file not in files]
        if gone:
            yield Leaving(output.child(name), tuple(gone))
