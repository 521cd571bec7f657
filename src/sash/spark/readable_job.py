"""A job whose views are read: as they are now, as far as they are final, at an instant in the past, and their changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.errors import SashError, choices
from sash.folders.folder import Folder
from sash.planner.job import View
from sash.runtime.access import Read, Wanted
from sash.runtime.instants import Instants, check_kept, moment, together
from sash.runtime.kept import undone
from sash.runtime.live import LiveView, ReadRows, Relations, Weighed
from sash.runtime.packets import Cargo, changes_schema
from sash.runtime.subscribing import Wishes, begun_with, not_kept
from sash.spark.arenas import BEFORE_ALL
from sash.spark.changes_source import FORMAT as CHANGES_FORMAT
from sash.spark.changes_source import OPTION, ChangesSource
from sash.spark.outputs import output_name, write_answer
from sash.spark.reading import look_here
from sash.spark.registration import register
from sash.spark.running_job import RunningJob
from sash.spark.session_views import session_schema
from sash.spark.sink_feed import FileFeed
from sash.spark.subscription import FileSubscription
from sash.spark.trials import shown
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape


class ReadableJob(RunningJob):
    """A job that is asked for its views."""

    _is_closed = False

    def view(self, name: str) -> pa.Table:
        """The answer of a view over all rows taken in so far, final or not."""
        return self.answer(name)[0]

    def answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, and at which instant it is."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            return self._live()[name].rows(self._ahead(name)), self._instants_of(view)

    def answers(self, names: Sequence[str]) -> tuple[dict[str, pa.Table], Instants]:
        """The same of several views, which are at one instant if they read the same streams."""
        views = self._of_one_instant(names)
        with self._explained(), self._between_batches:
            return {name: self._live()[name].rows(self._ahead(name)) for name in names}, self._together(views)

    def at_one_instant(self, names: Sequence[str], ask: Callable[[ReadRows], Relations]) -> tuple[Relations, Instants]:
        """What is made of rows of some views, each row once with its weight, that are read one after the other; as above."""

        def read(one: Read) -> Weighed:
            live = self._live()[one.view]
            live.keep_indexes(one.wanted.indexes)
            return live.weighed(one.wanted, live.lanes(self._ahead(one.view)))

        views = self._of_one_instant(names)
        with self._explained(), self._between_batches:
            return ask(read), self._together(views)

    def _of_one_instant(self, names: Sequence[str]) -> list[View]:
        views = [self._view(name) for name in names]
        if len(times := {view.time for view in views if any(view.time)}) > 1:
            listed = "; ".join(", ".join(time) for time in sorted(times))
            raise SashError(
                f"on Spark, views that read different streams are at different instants: {listed}",
                "create a materialized view that reads them all, and ask that one",
            )
        self._check_alive()
        return views

    def _together(self, views: Sequence[View]) -> Instants:
        """Of views that are at one instant; one that reads no stream goes by the others."""
        timed = [view for view in views if any(view.time)]
        return together([self._instants_of(view) for view in timed or views])

    def select(self, name: str, wanted: Wanted) -> tuple[list[pa.Array], Instants]:
        """The columns of the rows of a view that are wanted, in no order, and at which instant."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()[name]
            live.keep_indexes(wanted.indexes)
            return live.select(wanted, live.lanes(self._ahead(name))), self._instants_of(view)

    def ranges(self, name: str, shape: IndexShape, indexes: Collection[IndexShape]) -> tuple[Ranges, Instants]:
        """How many rows of a view there are in the ranges of one of its indexes, all of which are told; and at which instant."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()[name]
            live.keep_indexes(indexes)
            return live.ranges(shape, live.lanes(self._ahead(name))), self._instants_of(view)

    def answers_at(self, names: Sequence[str], instant: int) -> tuple[dict[str, pa.Table], Instants]:
        """The same at an instant in the past that is final, from the changes in the outputs."""
        views, found = [self._view(name) for name in names], {}
        self._check_alive()
        with self._explained(), self._between_batches:
            live = self._live()
            for view in views:
                own = self._instants_of(view)
                kept = self.ledger.manifest.kept(output_name(view.name, Cargo.CHANGES)).complete_from
                check_kept(view.name, instant, own.final_before if kept is None else kept, own.now)
                if instant >= own.final_before:
                    raise SashError(
                        f'on Spark, view "{view.name}" is final before {moment(own.final_before)}: {moment(instant)} is open',
                        "ask for an earlier instant, or leave AS OF out",
                    )
                found[view.name] = live[view.name].rows(undone(self._changes_of(view), instant))
        return found, together([replace(self._instants_of(view), now=instant) for view in views if any(view.time)])

    def _changes_of(self, view: View) -> Iterator[pa.RecordBatch]:
        """All that are kept, as they are on record."""
        changelog, schema = self.ledger.changelog(output_name(view.name, Cargo.CHANGES)), changes_schema(view.schema)
        for piece in changelog.pieces(None, self.ledger.manifest.batch):
            if not piece.is_answer:
                yield from changelog.read(piece, schema)

    def has_begun(self, names: Sequence[str], at: int | None = None) -> bool:
        """Whether a stream has had a row; also if none of these views reads any. Of an instant in the past, whether one of the
        views has held something by then."""
        return not any(any(self._view(name).time) for name in names) or self.progress.event_time is not None

    def final(self, name: str) -> pa.Table:
        """The answer of a view as far as it is final."""
        return self.final_answer(name)[0]

    def final_answer(self, name: str) -> tuple[pa.Table, Instants]:
        """The same, and up to which instant that is."""
        view = self._view(name)
        self._check_alive()
        with self._explained(), self._between_batches:
            return self._live()[name].rows(), self._instants_of(view)

    def write_final(
        self, names: Container[str], present: Callable[[str, pa.Table], pa.Table], folder: Path | str | None = None
    ) -> None:
        """Write the answers of views, as they are presented, to their files, beside the changes or elsewhere."""
        target = self._settings.output if folder is None else Folder.of(folder)
        for view in (view for view in shown(self.job) if view.name in names):
            write_answer(target, view, present(view.name, self.final(view.name)))

    def complete_since(self, name: str) -> int | None:
        """From when on a view is right for all rows that ever came; None: never."""
        return self.ledger.complete_since(name)

    def changes_since(self, name: str) -> int:
        """The instant from which on every change of a view is kept."""
        view = self._view(name)
        with self._between_batches:
            since = self.ledger.manifest.kept(output_name(name, Cargo.CHANGES)).complete_from
            return self._instants_of(view).final_before if since is None else since

    def changes(self, name: str) -> DataFrame:
        """The changelog of a view, as a streaming DataFrame."""
        view = self._view(name)
        schema = session_schema(self._spark, changes_schema(view.schema))
        register(self._spark, ChangesSource)
        changelog = self.ledger.changelog(output_name(name, Cargo.CHANGES))
        return self._spark.readStream.format(CHANGES_FORMAT).schema(schema).option(OPTION, changelog.to_text()).load()

    def subscribe(self, name: str, timeout: float | None, wishes: Wishes) -> FileSubscription:
        """The changes of a view, as they come."""
        view = self._view(name)
        self._check_alive()  # not with the lock that a query needs to begin again
        changelog, schema = self.ledger.changelog(output_name(name, Cargo.CHANGES)), changes_schema(view.schema)
        if wishes.since is not None and wishes.since < (kept := self.changes_since(name)):
            raise not_kept(name, wishes.since, kept)
        with self._between_batches:
            first = [begun_with(self._live()[name].rows(), self._final_before(view) - 1, schema)] if wishes.snapshot else []
            last = None if wishes.since is not None else self.ledger.manifest.batch
            return FileSubscription(
                changelog, schema, last, first, self.ledger.came, self._may_come, lambda: self._final_before(view), wishes,
                timeout,
            )

    def _may_come(self) -> bool:
        """Whether changes may come; what the query died of, if it did, for who would wait for them."""
        query = self._query
        if query is not None and not query.isActive and (failure := query.exception()) is not None:
            with self._explained():
                raise failure
        return not self._is_closed

    def _final_before(self, view: View) -> int:
        with self._between_batches:
            return self._instants_of(view).final_before

    def sink_feed(self, name: str) -> FileFeed:
        """The changes of a view for a sink."""
        schema = changes_schema(self._view(name).schema)
        return FileFeed(self.ledger.changelog(output_name(name, Cargo.CHANGES)), schema, self.ledger.came)

    def _view(self, name: str) -> View:
        for view in shown(self.job):
            if view.name == name:
                return view
        raise SashError(f'unknown view "{name}"', f"views are: {choices(view.name for view in shown(self.job))}")

    def _live(self) -> Mapping[str, LiveView]:
        if not self._answers.live and self._query is None:
            self.ledger.read()
        self._answers.begin(self.job, self._version + 1)
        return self._answers.live

    def _ahead(self, name: str) -> list[pa.Table]:
        """The net changes of a view that rows already in would make, were time to go on to the last of them."""
        version = self._version
        if version == BEFORE_ALL or self.is_finished or self.progress.is_end:
            return []
        # A shard that has to be made again for it goes through the versions of the job from the first one on.
        first, settings, code = self.first_job, self._settings, dict(self._code)
        job = self.job.on(first.shards)
        look = partial(look_here, job, first, settings, self._readers.arenas, self._make_engine, code, version)
        return self._readers.ahead(version, name, look)
