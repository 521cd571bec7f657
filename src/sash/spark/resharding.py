"""Another number of shards: the state after the last batch is spread anew before the next one runs.

    old shards, made again from snapshots and logs ─▶ new shards (`runtime/spreading.py`) ─▶ a snapshot of each, in a folder of
    their own ─▶ the layout says that they count (`layout.py`) ─▶ the old ones go

Whoever dies on the way leaves the old shards as they were. What new shards hold is compared with the answers on record; a job
that cannot be spread is refused, with the view that stands in the way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from sash.errors import SashError
from sash.planner.job import Job, View
from sash.planner.read_plan import Code
from sash.runtime.instants import moment, told_instants
from sash.runtime.live import LiveView
from sash.runtime.shard import Shard
from sash.runtime.spreading import Made, comes_to_its_answer, spread, stateful_parts, views_that_cannot
from sash.schema import BEGINNING
from sash.spark.arenas import BEFORE_ALL
from sash.spark.jobs import job_at
from sash.spark.layout import Layout, put_layout, read_layout
from sash.spark.ledger import Ledger
from sash.spark.offsets import identity_of, offset_of
from sash.spark.own_folder import own_folder
from sash.spark.settings import Settings
from sash.spark.shard_task import ShardTask
from sash.spark.store import History
from sash.spark.trials import is_trial, shown
from sash.stores.arena import Arena


@dataclass(frozen=True)
class Resharding:
    """From the layout of a checkpoint to another one, after its last batch; `fence` is an error for who was replaced."""

    settings: Settings
    first: Job  # as the checkpoint began, with the number of shards that it was planned for
    code: Code
    ledger: Ledger
    fence: Callable[[], None]
    batch: int

    def to(self, shards: int | None) -> Layout:
        """The layout with so many shards; without a number, the one that is there."""
        before = read_layout(self.settings.checkpoint)
        has = before.shards or self.first.shards
        if shards is None or shards == has:
            return before
        after = Layout(before.generation + 1, shards)
        after.folder(self.settings.checkpoint).remove()  # what somebody left who died on the way
        if self.batch != BEFORE_ALL:
            if self.first.shards == 1:
                raise self._refused(has, shards, "its plan was made for one shard, and does not say by which keys to spread rows")
            with TemporaryDirectory(dir=own_folder()) as place:
                self._spread(before, after, Path(place), has)
        self.fence()
        put_layout(self.settings.checkpoint, after)
        before.folder(self.settings.checkpoint).remove()
        return after

    def _spread(self, before: Layout, after: Layout, place: Path, has: int) -> None:
        self.ledger.read()
        version, job = self._job()
        self._check_complete(job, has, after.shards)
        held: dict[str, list[pa.RecordBatch]] = {}
        with ExitStack() as opened:
            old = partial(self._old, before, after, job, place, opened)
            for made in spread(after.of(job), old, lambda level, shard: Arena.open(place / f"new-{level}-{shard}.arena")):
                for name, batch in made.held:
                    held.setdefault(name, []).append(batch)
                self._put(after, made, place / f"new-{made.level}-{made.shard}.arena", version)
        for view in job.first_views:
            if not is_trial(view.name) and comes_to_its_answer(view):
                self._compare(view, held.get(view.name, []), has, after.shards)
        told = self._history(before, 1, 0).answer(self.batch)
        if told is not None:  # who asks at which instant the answers are looks there
            self._history(after, 1, 0).put_answer(self.batch, told)

    def _job(self) -> tuple[int, Job]:
        """The version of the job that the last batch ran."""
        offset = offset_of(self.settings.checkpoint, self.batch)
        number = 0 if offset is None else offset.job
        return number, job_at(self.settings.checkpoint, number, self.first, self.code)

    def _old(
        self, before: Layout, after: Layout, job: Job, place: Path, opened: ExitStack, level: int
    ) -> list[tuple[Shard, Arena]]:
        """The old shards of a level after the last batch."""
        opened.close()  # those of the level below
        running, settings = before.of(self.first), replace(self.settings, layout=before, arenas=place / "old")
        found: list[tuple[Shard, Arena]] = []
        for number in range(running.shards):
            task = ShardTask(running, settings, Shard, level, number, self.code)
            engine, arena = opened.enter_context(task.after(self.batch))
            assert isinstance(engine, Shard)
            found.append((engine, arena))
        for view in views_that_cannot(job, level, [shard for shard, _ in found]):
            if not is_trial(view.name):  # what is tried is compared before it counts
                reason = f'view "{view.name}" holds what came of rows that are no longer in memory'
                raise self._refused(running.shards, after.shards, reason)
        return found

    def _check_complete(self, job: Job, has: int, wanted: int) -> None:
        """What a view that came later never saw, a view that is filled now would see."""
        instants = told_instants(self._history(read_layout(self.settings.checkpoint), 1, 0).answer(self.batch) or ())
        for view in shown(job):
            since = self.ledger.complete_since(view.name)
            final = instants[view.time].final_before if view.time in instants else BEGINNING
            if stateful_parts(view) and (since is None or since > final):
                when = "never will" if since is None else f"will have from {moment(since)} on"
                reason = f'view "{view.name}" came later, and has not seen all rows that it looks back at; it {when}'
                raise self._refused(has, wanted, reason)

    def _put(self, after: Layout, made: Made, path: Path, version: int) -> None:
        made.arena.array("job", (1,))[0] = version
        contents = made.arena.describe()
        made.arena.close()
        self._history(after, made.level, made.shard).put_snapshot(self.batch, path, contents)
        path.unlink()

    def _compare(self, view: View, held: list[pa.RecordBatch], has: int, wanted: int) -> None:
        made, known = LiveView(view.schema), LiveView(view.schema)
        for batch in held:
            made.add(pa.Table.from_batches([batch]))
        self.ledger.restore(view, known, self.batch)
        if not made.rows().equals(known.rows()):
            raise self._refused(has, wanted, f'view "{view.name}" holds other rows when it is filled anew')

    def _history(self, layout: Layout, level: int, shard: int) -> History:
        checkpoint = self.settings.checkpoint
        return History(layout.folder(checkpoint).child(str(level), str(shard)), partial(identity_of, checkpoint))

    def _refused(self, has: int, wanted: int, reason: str) -> SashError:
        return SashError(
            f"the checkpoint {self.settings.checkpoint.place} cannot go on with {wanted} shards instead of {has}: {reason}",
            f"run with --shards {has}, or leave it out, or give another --checkpoint folder",
        )
