"""What a checkpoint knows of views and tables that came and went after its beginning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sash.planner.choose import Choice
from sash.planner.job import Job, View
from sash.planner.read_plan import Code
from sash.runtime.live import LiveView
from sash.runtime.packets import batch_body
from sash.schema import BEGINNING, FOREVER
from sash.spark.checkpoint import fingerprint, newest_event
from sash.spark.folding import followed_to, table_changes
from sash.spark.jobs import JobVersion, newest_job, put_job, read_fingerprint, read_job, read_sql
from sash.spark.ledger import Ledger
from sash.spark.offsets import TABLES
from sash.spark.sealed import SealedFolder
from sash.spark.shard_task import SINCE
from sash.spark.trials import shown

Facts = list[dict[str, int | None]]


@dataclass(frozen=True)
class Versions:
    """The versions of the job of a checkpoint, the rows of its tables, and the ledger of its outputs."""

    checkpoint: SealedFolder
    ledger: Ledger
    code: Code = field(default_factory=dict)  # of the user, that plans may call

    @property
    def newest(self) -> int:
        """The number of the version that was last asked for; 0 while nothing has changed."""
        return newest_job(self.checkpoint)

    def read(self, number: int) -> JobVersion:
        return read_job(self.checkpoint, number, self.code)

    @property
    def statements(self) -> list[str]:
        """What was said to change the job, since its beginning."""
        return [read_sql(self.checkpoint, number) for number in range(1, self.newest + 1)]

    def add(
        self, before: Job, job: Job, sql: str, fresh: Job | None, choices: Mapping[str, Choice], tables: Mapping[str, str]
    ) -> int:
        """Put another version down, and make room for the changes of its new views; its number.

        Without a `fresh` job, who begins with it must say what had to be said before.
        """
        number = self.newest + 1
        if number == 1:
            put_job(self.checkpoint, 0, JobVersion(before, "", fingerprint(before)))
        had = {view.name for view in before.views}
        for view in shown(job):
            if view.name not in had:
                self.ledger.make_room(view)
        said = read_fingerprint(self.checkpoint, number - 1) if fresh is None else fingerprint(fresh)
        put_job(self.checkpoint, number, JobVersion(job, sql, said, choices, tables))
        return number

    def put_rows(self, tables: Mapping[str, pa.RecordBatch], number: int | None = None) -> dict[str, str]:
        """Put rows of tables down, for the event of that number, or the next; the names of the files."""
        folder, files = self.checkpoint.child(TABLES), {}
        number = newest_event(self.checkpoint) + 1 if number is None else number
        for name, rows in tables.items():
            body = batch_body(rows)
            # Named by what is in it as well, so that no other file is ever taken for it.
            files[name] = f"{number:08d}-{hashlib.sha256(body).hexdigest()[:16]}.arrow"
            folder.put(files[name], [body])
        return files

    def table_changes(self, name: str) -> Iterator[pa.RecordBatch]:
        """The changes of a table that were asked for, in their order."""
        return table_changes(self.checkpoint, name)

    def followed_to(self, name: str) -> Any:
        """How far the source of a table was read, when its last change was put down."""
        return followed_to(self.checkpoint, name)

    def first_answer(self, view: View, before: Job, batch: int, facts: Facts) -> LiveView:
        """A new view holds nothing before its first batch, but one that joins others of its spec all that these hold."""
        live, since = LiveView(view.schema), [fact[f"{SINCE}{view.name}"] for fact in facts if f"{SINCE}{view.name}" in fact]
        complete: int | None = max((moment for moment in since if moment is not None), default=BEGINNING)
        twin = next((other for other in before.views if other.spec == view.spec), None)
        self.ledger.begin_view(view, batch, None if complete == FOREVER else complete, twin)
        if twin is not None:
            self.ledger.restore(view, live, batch - 1)
        return live
