"""What a checkpoint knows of views and tables that came and went after its beginning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from sash.physical.choose import Choice
from sash.physical.job import Job, View
from sash.runtime.live import LiveView
from sash.runtime.packets import batch_body
from sash.schema import BEGINNING, FOREVER
from sash.spark.checkpoint import events_after, fingerprint
from sash.spark.folder import Folder
from sash.spark.jobs import JobVersion, newest_job, put_job, read_job
from sash.spark.keeper import JOB, SINCE
from sash.spark.offsets import TABLES
from sash.spark.outputs import begin_changes, copy_changes, prepare_view, read_changes
from sash.spark.trials import shown

COMPLETE = "complete"  # the folder that says from when on later views are complete

Facts = list[dict[str, int | None]]


@dataclass(frozen=True)
class Versions:
    """The versions of the job of a checkpoint, the rows of its tables, and its outputs."""

    checkpoint: Folder
    output: Folder

    @property
    def newest(self) -> int:
        """The number of the version that was last asked for; 0 while nothing has changed."""
        return newest_job(self.checkpoint)

    @property
    def statements(self) -> list[str]:
        """What was said to change the job, since its beginning."""
        return [read_job(self.checkpoint, number).sql for number in range(1, self.newest + 1)]

    def add(self, before: Job, job: Job, sql: str, fresh: Job | None, choices: Mapping[str, Choice]) -> int:
        """Put another version down, and make room for the changes of its new views; its number.

        Without a `fresh` job, who begins with it must say what had to be said before.
        """
        number = self.newest + 1
        if number == 1:
            put_job(self.checkpoint, 0, JobVersion(before, "", fingerprint(before)))
        had = {view.name for view in before.views}
        for view in shown(job):
            if view.name not in had:
                prepare_view(self.output, view)
        said = read_job(self.checkpoint, number - 1).fingerprint if fresh is None else fingerprint(fresh)
        put_job(self.checkpoint, number, JobVersion(job, sql, said, choices))
        return number

    def put_rows(self, tables: Mapping[str, pa.RecordBatch]) -> dict[str, str]:
        """Put rows of tables down; the names of the files."""
        folder, files = self.checkpoint.child(TABLES), {}
        for name, rows in tables.items():
            files[name] = f"{len(folder.names()):08d}.arrow"
            folder.put(files[name], [batch_body(rows)])
        return files

    def table_changes(self, name: str) -> Iterator[pa.RecordBatch]:
        """The changes of a table that were asked for, in their order."""
        for event in events_after(self.checkpoint, 0):
            if JOB not in event and name in event.get("tables", {}):
                with pa.ipc.open_stream(self.checkpoint.child(TABLES).read(event["tables"][name])) as reader:
                    yield reader.read_next_batch()

    def complete_since(self, name: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        data = self.checkpoint.child(COMPLETE).read(f"{name}.json")
        return BEGINNING if data is None else json.loads(bytes(data))["since"]

    def first_answer(self, view: View, before: Job, batch: int, facts: Facts) -> LiveView:
        """A new view holds nothing before its first batch, but one that joins others of its spec all that these hold."""
        live, since = LiveView(view.schema), [fact[f"{SINCE}{view.name}"] for fact in facts if f"{SINCE}{view.name}" in fact]
        complete: int | None = max((moment for moment in since if moment is not None), default=BEGINNING)
        twin = next((other for other in before.views if other.spec == view.spec), None)
        begin_changes(self.output, view, batch)
        if twin is not None:
            copy_changes(self.output, twin, view, batch)
            live.add_changelog(read_changes(self.output, view, batch))
            complete = self.complete_since(twin.name)
        told = {"since": None if complete == FOREVER else complete}
        self.checkpoint.child(COMPLETE).put(f"{view.name}.json", [json.dumps(told).encode()])
        return live
