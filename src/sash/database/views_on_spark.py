"""The views of a job on Spark: how they come and go while it runs, and after a restart, and are planned anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from sash.database.answer import Rows
from sash.database.common_joins import moved
from sash.database.replan import Replanner
from sash.database.sinks_on_spark import SinksOnSpark
from sash.errors import SashError
from sash.operators.spec import PortSpec, parts
from sash.plan.nodes import Plan
from sash.planner.choose import Choice
from sash.planner.job import Job, View
from sash.planner.join_sharing import Seen
from sash.planner.placement import Expiry
from sash.runtime.history_limit import parse_history
from sash.spark.frame_streams import as_read
from sash.spark.host import SparkHost
from sash.spark.trials import shown
from sash.sql.catalog import ViewDefinition
from sash.sql.define import Definition, define
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import CreateAggregate, CreateIndex, CreateStream, CreateView, Drop, Statement
from sash.sql.syntax.text_positions import quoted


class ViewsOnSpark(SinksOnSpark):
    """A database whose statements change a job that may run."""

    def __init__(
        self, base: Path | str | None, expiry: str, schedule: str, join_schedule: str, indexes: str, shards: int | None,
        *, backfill: bool, is_shown: bool,
    ) -> None:
        super().__init__(base, expiry, schedule, join_schedule, indexes)
        self._shards = shards
        self._backfill = backfill
        self._is_shown = is_shown  # in the session, as temporary views
        self._declared: list[str] = []  # statements since the start that no version of the job has on record
        self._replanner = Replanner()

    def _execute(self, sql: str) -> Rows | None:
        result = super()._execute(sql)
        self._catch_up()
        return result

    def _carry_out(self, statement: Statement) -> Rows | None:
        self._catch_up()
        self._follow_plans()
        return super()._carry_out(statement)

    def _catch_up(self) -> None:
        """What is on record, the session knows by now: whatever becomes of the batch that brings it, it is not undone."""
        if self._host is not None:
            self._host.catch_up()

    def _define(self, statement: Definition) -> None:
        """What is declared while the job runs is put down with the next view, which may read it."""
        super()._define(statement)
        if isinstance(statement, CreateStream) and statement.name.text.lower() in self.catalog.streams:
            declared = self._stream(statement.name.text)
            self.catalog.streams[declared.name.lower()] = as_read(declared)
        is_materialized = isinstance(statement, CreateView) and statement.is_materialized
        if self._host is not None and not is_materialized:
            self._declared.append(statement.source.sql)

    def _define_index(self, statement: CreateIndex | Drop) -> None:
        """An index of a view is no part of the job. One of a window is: what is said of it is put down with the next change."""
        name, declared = statement.name.text.lower(), self._declared
        if isinstance(statement, CreateIndex):
            is_of_window = statement.window is not None
        else:
            is_of_window = name in self.catalog.indexes and self.catalog.indexes[name].view.lower() in self.catalog.windows
        if self._host is not None and is_of_window:
            self._declared = [*declared, statement.source.sql]
        try:
            super()._define_index(statement)
        except SashError:
            self._declared = declared
            raise

    def _view_created(self, view: ViewDefinition, replaces: str | None = None) -> None:
        if view.history is not None:
            parse_history(view.history)  # an error if it says nothing
        columns = ", ".join(map(quoted, view.plan.schema.names))
        how = "CREATE" if replaces is None else "CREATE OR REPLACE"
        kept = "" if view.history is None else f" WITH (history = '{parse_history(view.history)}')"
        said = f"{how} MATERIALIZED VIEW {quoted(view.name)} ({columns}){kept} AS {view.sql}"
        self._run_view(view, said, replaces)

    def _view_dropped(self, name: str) -> None:
        self._end_view(name, f"DROP VIEW {quoted(name)}")

    def _window_created(self, window: ViewDefinition) -> None:
        self._run_view(window, "")

    def _window_dropped(self, name: str) -> None:
        self._end_view(name, "")

    def _run_view(self, view: ViewDefinition, said: str, replaces: str | None = None) -> None:
        """Let the job have one more, which this statement makes, if it is not one of those that are put down with it."""
        if self._host is None:
            return
        self._must_remember()
        placed = self.queries.place(
            view, self._shards or 1, self.expiry, self.statistics, self._host.versions.newest + 1, remembers=True
        )
        self._check_frames(placed)
        streams, before = tuple(self.catalog.streams.values()), self._host.steering.newest

        def make(job: Job) -> Job:
            return job.with_view(placed, streams, replaces)

        tables = self._rows_of_new_ports(before, make(before))
        self._change(make, said, tables)
        self._present(self._host, view)
        if replaces is not None:
            self.queries.remove(replaces)
        self.queries.add(placed, view.plan)

    def _end_view(self, name: str, said: str) -> None:
        if self._host is None:
            return
        self._must_remember()
        self._change(lambda job: job.without_view(name), said, {})
        self._host.hide(name)
        self.queries.remove(name)

    def _present(self, host: SparkHost, view: ViewDefinition) -> None:
        """A view has come: so much of its past is kept, and the session sees it, if that is wanted."""
        if view.history is not None:
            host.keep_history(view.name, parse_history(view.history))
        if self._is_shown and view.name.lower() in self.catalog.views:
            host.show(view.name, view.plan.schema)

    def _change(self, make: Callable[[Job], Job], sql: str, tables: Mapping[str, pa.RecordBatch]) -> None:
        """Put a change of the job on record; nothing has changed where that is refused."""
        assert self._host is not None
        self._host.change(make, ";\n".join([*self._declared, sql]), self._fresh_job(), tables)
        self._declared = []

    def _must_remember(self) -> None:
        if not self._backfill:
            raise SashError("the views of this job cannot change", "connect without backfill=False")

    def _check_frames(self, view: View) -> None:
        assert self._host is not None
        steering = self._host.steering
        known = {stream.name for stream in (*steering.first.streams, *steering.newest.streams)}
        for part in parts(view.spec):
            stream = part.stream if isinstance(part, PortSpec) else None
            spec = self.catalog.streams.get((stream or "").lower())
            if spec is not None and spec.name not in known and not spec.is_table and spec.path is None:
                raise SashError(
                    f'stream "{spec.name}" was not read when the job began, and has no files',
                    "let a view read it before start(), or declare it WITH (format = …, path = …)",
                )

    def _fresh_job(self) -> Job:
        """The job of all views, as if it began now."""
        return replace(self.planned(self._shards or 1), remembers=self._backfill)

    def _go_on_with(self, host: SparkHost, job: Job) -> None:
        """A checkpoint may know of views that came and went after its beginning, which this session has not been told."""
        for sql in host.versions.statements if job != host.steering.newest and host.is_first(job) else ():
            for statement in parse_statements(sql):
                if not self._is_declared(statement):
                    define(statement, self.catalog)  # type: ignore[arg-type]
        for view in shown(host.steering.newest):
            self.queries.add(view, self._view(view.name).plan)
        host.on_batch = self._maybe_replan if self.expiry is Expiry.AUTO and self._backfill else None

    def _is_declared(self, statement: Statement) -> bool:
        """Whether this session has said itself what the checkpoint knows besides its materialized views."""
        if isinstance(statement, CreateStream):
            return self.catalog.streams.get(statement.name.text.lower()) == as_read(self._with_messages(statement).spec)
        if isinstance(statement, CreateAggregate):
            return statement.name.text.lower() in self.catalog.macros and not statement.or_replace
        if isinstance(statement, CreateView) and not statement.is_materialized and not statement.or_replace:
            return statement.name.text.lower() in self.catalog.views
        if isinstance(statement, CreateIndex):
            return statement.name.text.lower() in self.catalog.indexes
        if isinstance(statement, Drop) and statement.kind == "INDEX":
            return statement.name.text.lower() not in self.catalog.indexes
        return isinstance(statement, Drop) and statement.kind != "AGGREGATE" and self.catalog.find(statement.name.text) is None

    def _follow_plans(self) -> None:
        """Views may have been planned anew since the last statement."""
        for view in shown(self._host.steering.newest) if self._host is not None else ():
            if view.name in self.queries.views and self.queries.views[view.name] != view:
                self.queries.remove(view.name)
                self.queries.add(view, self._view(view.name).plan)

    def _maybe_replan(self, rows: int) -> None:
        """Between two batches: try other plans, if the streams have come to look very different from what was thought."""
        host = self._host
        if host is None or not self._replanner.is_due(rows):
            return
        statistics, views = host.statistics(), [view for view in list(self.catalog.views.values()) if view.is_materialized]
        host.look_afresh()
        running = {view.name: view.spec for view in host.steering.newest.views}

        def current(view: ViewDefinition) -> Choice | None:
            """None for a view that has no other plan, or that came later and is not run as it would be by itself."""
            choice = host.steering.choice_of(view.name) or self._chosen(view.plan)
            if choice.is_only or running.get(view.name) != choice.placed(self._shards or 1, self.expiry)[0]:
                return None
            return choice

        found = self._replanner.found(statistics, views, current, self._shards or 1)
        better = {View(view.name, *choice.placed(self._shards or 1, self.expiry)): choice for view, choice in found}
        if not better:
            running_so = {view.name: choice for view in views if (choice := current(view)) is not None}
            better = moved(running_so, self._shards or 1, Seen(replace(statistics, operators={}), host.shares()))
        if better:
            host.steering.try_plans(better)

    def _chosen(self, plan: Plan) -> Choice:
        return self.queries.chosen(plan, self._shards or 1, self.expiry, self.statistics)

    def _indexes_changed(self) -> None:
        """The driver has indexes of the answers that it holds; a question makes them, or drops those that are gone."""
