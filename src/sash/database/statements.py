"""Statements, carried out: what is declared, shown and explained, whatever host will run it.

The public methods of a database, which call these, are in `database.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.database.answer import Answer, Rows, in_order
from sash.database.automatic_indexes import AutomaticIndexes
from sash.database.following import Follower, Following
from sash.database.indexes import indexes_table
from sash.database.options import check_expiry, check_indexes
from sash.database.queries import Queries
from sash.database.questions import Questions
from sash.database.sinks import Sinks
from sash.errors import SashError, as_text, choices
from sash.operators.shared_join.schedules import parse_join_schedule
from sash.plan.explain import explain_patterns
from sash.plan.nodes import Plan, scans
from sash.plan.statistics import NOTHING_KNOWN, Statistics
from sash.plan.streams import StreamSpec
from sash.plan.user_aggregates import UserAggregate
from sash.planner.choose import Choice, choose
from sash.planner.explain import Counts, explain_streams, explain_view
from sash.planner.job import Job, plan_job
from sash.planner.placement import Expiry
from sash.runtime.schedule import parse_schedule
from sash.scalar.build import function_names
from sash.scalar.user_functions import UserFunction
from sash.sources.declared_messages import declared
from sash.sql.bind import bind
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows, bind_change
from sash.sql.catalog import Catalog, SinkDefinition, ViewDefinition, kind_of
from sash.sql.define import Definition, define, view_of
from sash.sql.questions import Question
from sash.sql.references import references
from sash.sql.syntax.parse import parse_query_text, parse_statements
from sash.sql.syntax.statements import (
    Advance,
    CreateAggregate,
    CreateIndex,
    CreateSink,
    CreateStream,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    ParsedQuery,
    Query,
    Show,
    Statement,
    Update,
)
from sash.sql.syntax.text_positions import Name, at, within
from sash.sql.syntax.type_names import parse_type
from sash.turns import Turns, in_turn

SHOWN_SHARDS = 2  # EXPLAIN shows how rows are spread; two shards are enough for that


class StatementExecutor(ABC):
    """A catalog and the statements that change it."""

    def __init__(
        self, base: Path | str | None, expiry: str, schedule: str, join_schedule: str, indexes: str = "auto"
    ) -> None:
        check_expiry(expiry)
        check_indexes(indexes)
        self.turns = Turns()
        self.base = Path.cwd() if base is None else Path(base)  # relative paths of sources start here
        self.expiry = Expiry(expiry)
        self.catalog = Catalog()
        self.statistics = NOTHING_KNOWN
        self.queries = Queries()
        self._schedules: dict[str, str] = {}  # by view; "": of all others
        self._set_schedule(schedule, "", join_schedule)
        self.questions = Questions()
        self.automatic_indexes = AutomaticIndexes(is_on=indexes == "auto")
        self.sinks = Sinks()
        self.following = Following(self.base, self._apply_followed)

    def _execute(self, sql: str) -> Rows | None:
        """Carry out statements, one after the other; what the last one gives, if it gives rows."""
        if (answer := self._answer_known(as_text(sql, "SQL"))) is not None:
            return answer
        if self._repeats_a_query(sql):
            return None
        result: Rows | None = None
        for statement in parse_statements(sql):
            result = self._carry_out(statement)
        return result

    def _register(self, name: str, code: Callable[..., Any], returns: str, parameters: Sequence[str] | None) -> None:
        if as_text(name, "the name of a function").lower() in self.catalog.code or name.lower() in function_names():
            raise SashError(f'there is a function "{name}" already', "choose another name")
        self.questions.forget()
        self.queries.forget_templates()
        if parameters is None:
            self.catalog.code[name.lower()] = UserAggregate(name, parse_type(returns), code)
        else:
            types = tuple(parse_type(parameter) for parameter in parameters)
            self.catalog.code[name.lower()] = UserFunction(name, types, parse_type(returns), code)

    @abstractmethod
    def _view_created(self, view: ViewDefinition, replaces: str | None = None) -> None:
        """A materialized view is in the catalog: run it, perhaps in place of another, whose rows in memory it begins with; if it
        cannot be run, an error, and nothing has changed."""

    @abstractmethod
    def _view_dropped(self, name: str) -> None:
        """A materialized view is not in the catalog any more."""

    @abstractmethod
    def complete_since(self, name: str) -> datetime | None:
        """From when on a view is right for all rows that ever came; None: never."""

    @abstractmethod
    def _apply_followed(self, spec: StreamSpec, follower: Follower, fetched: Any) -> None:
        """Put down what has changed in a table that follows something outside."""

    @abstractmethod
    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None: ...

    @abstractmethod
    def _advance(self, statement: Advance) -> None: ...

    @abstractmethod
    def _answer(self, question: Question) -> Answer:
        """What a SELECT gives now."""

    @abstractmethod
    def _approximate(self, query: ParsedQuery) -> Answer:
        """What SELECT APPROXIMATE gives now."""

    @abstractmethod
    def _answer_known(self, sql: str) -> Answer | None:
        """The same of a text that was asked before, perhaps with other constants, or that is like one; None: it must be read."""

    @abstractmethod
    def _sink_created(self, sink: SinkDefinition) -> None:
        """A sink is in the catalog: write its view there, from now on or from the start on; an error if that cannot be."""

    @abstractmethod
    def _sink_dropped(self, name: str) -> None:
        """A sink is not in the catalog any more: what it has written stays."""

    @abstractmethod
    def _indexes_changed(self) -> None:
        """Indexes of views have come or gone in the catalog, or views that have some."""

    def _carry_out(self, statement: Statement) -> Rows | None:
        if isinstance(statement, CreateSink) or (isinstance(statement, Drop) and statement.kind == "SINK"):
            self._define_sink(statement)
        elif isinstance(statement, CreateIndex) or (isinstance(statement, Drop) and statement.kind == "INDEX"):
            self._define_index(statement)
        elif isinstance(statement, CreateStream | CreateView | CreateAggregate | Drop):
            self._define(statement)
        elif isinstance(statement, Advance):
            self._advance(statement)
        elif isinstance(statement, Insert | Update | Delete):
            self._change_rows(bind_change(statement, self.catalog))
        elif isinstance(statement, Show):
            return Rows(self._show(statement.kind))
        elif isinstance(statement, Describe):
            return Rows(self._describe(statement.name.text))
        elif isinstance(statement, Explain):
            return Rows(pa.table({"plan": self._explained(statement).splitlines()}), shown=None)
        elif isinstance(statement, Query):
            if statement.query.is_approximate:
                return self._approximate(statement.query)
            return self._answer(self.questions.bound(statement.query, self.catalog))
        return None

    def _define(self, statement: Definition) -> None:
        """A view that cannot be run is refused at once, and nothing is changed."""
        self.questions.forget()
        views, macros, indexes = dict(self.catalog.views), dict(self.catalog.macros), self.catalog.indexes
        streams = dict(self.catalog.streams)
        if isinstance(statement, CreateStream):
            statement = self._with_messages(statement)
        if not define(statement, self.catalog):
            return
        if not isinstance(statement, CreateView) or statement.name.text.lower() in views:
            self.queries.forget_templates()
        if streams != self.catalog.streams:
            self._keep_following(streams)
        if macros != self.catalog.macros:
            self.queries.forget_texts()
        name = statement.name.text
        old, new = views.get(name.lower()), self.catalog.views.get(name.lower())
        if old is new:
            return
        try:
            with within(statement.source.text), at(statement.name):
                self._view_changed(old, new)
        except BaseException:
            self.catalog.views, self.catalog.indexes = views, indexes
            raise
        if indexes:
            self._indexes_changed()
        if old is not None:
            self.queries.forget(self.catalog)
        if isinstance(statement, CreateView) and new is not None and new.is_materialized and not statement.columns:
            self.queries.learn_text(new)

    def _with_messages(self, statement: CreateStream) -> CreateStream:
        """What is said of messages is looked at now, and files that it names are read."""
        if statement.spec.encoding is None or (statement.if_not_exists and self.catalog.find(statement.name.text) is not None):
            return statement
        with within(statement.source.text), at(statement.name):
            return replace(statement, spec=declared(statement.spec, self.base))

    def _define_index(self, statement: CreateIndex | Drop) -> None:
        """A window of a stream is kept from its first index on, and goes with its last one."""
        self.questions.forget()
        indexes, windows = dict(self.catalog.indexes), self.catalog.windows
        self.catalog.windows = dict(windows)
        if not define(statement, self.catalog):
            return
        try:
            with within(statement.source.text), at(statement.name):
                self._windows_changed(windows, self.catalog.windows)
        except BaseException:
            self.catalog.indexes, self.catalog.windows = indexes, windows
            raise
        self._indexes_changed()

    def _windows_changed(self, old: Mapping[str, ViewDefinition], new: Mapping[str, ViewDefinition]) -> None:
        for name in old.keys() - new.keys():
            self._window_dropped(old[name].name)
            self.queries.forget(self.catalog)
        for name in new.keys() - old.keys():
            self._window_created(new[name])

    def _window_created(self, window: ViewDefinition) -> None:
        """It is kept like a materialized view."""
        self._view_created(window)

    def _window_dropped(self, name: str) -> None:
        self._view_dropped(name)

    def _keep_following(self, before: dict[str, StreamSpec]) -> None:
        """Tables that follow something outside have come, or gone; one that cannot be followed is refused."""
        try:
            self.following.keep(self.catalog.streams.values())
            self._follow_declared()
        except BaseException:
            self.catalog.streams = before
            self.following.keep(before.values())
            raise

    def _follow_declared(self) -> None:
        """Look at tables that are new, where a database takes rows before it is started."""
        return

    def _define_sink(self, statement: CreateSink | Drop) -> None:
        """Neither the engine nor a checkpoint knows of sinks: each session says what it writes, and where."""
        name, before = statement.name.text.lower(), dict(self.catalog.sinks)
        if not define(statement, self.catalog):
            return
        try:
            with within(statement.source.text), at(statement.name):
                if isinstance(statement, CreateSink):
                    self._sink_created(self.catalog.sinks[name])
                else:
                    self._sink_dropped(name)
        except BaseException:
            self.catalog.sinks = before
            raise

    def _view_changed(self, old: ViewDefinition | None, new: ViewDefinition | None) -> None:
        was, will_be = old is not None and old.is_materialized, new is not None and new.is_materialized
        if will_be and new is not None:
            self.queries.chosen(new.plan, 1, self.expiry, self.statistics)
        if old is not None and new is not None and was and will_be and old.plan == new.plan:
            if old.name != new.name:  # by case alone: it goes on, under the name that it has
                self.catalog.views[new.name.lower()] = replace(new, name=old.name)
        elif will_be and new is not None:
            self._view_created(new, old.name if was and old is not None else None)
        elif was and old is not None:
            self._view_dropped(old.name)

    def _repeats_a_query(self, sql: str) -> bool:
        """A view of a query whose text is known, but for constants, needs no parsing. Taken names are told of by who parses."""
        found = self.queries.known(sql, self.catalog, self._defined)
        if found is None:
            return False
        self.questions.forget()
        try:
            self.catalog.add(found)
        except SashError:
            return False
        try:
            self._view_created(found)
        except BaseException:
            self.catalog.remove(found.name)
            raise
        return True

    def _defined(self, query: str) -> ViewDefinition:
        """What a materialized view of a query is, but for its name."""
        (statement,) = parse_statements(f"CREATE MATERIALIZED VIEW anything AS {query}")
        assert isinstance(statement, CreateView)
        return view_of(statement, self.catalog)

    @abstractmethod
    def analyze(self, view: str) -> str:
        """How a view has run so far: what was counted beside what was expected, and what its streams are like."""

    def _analyzed(self, choice: Choice, shards: int, counted: Mapping[str, Counts], seen: Statistics) -> str:
        streams = sorted({scan.name for scan in scans(choice.plan)})
        table = explain_view(choice, self.expiry, self.statistics, counted, shards=shards)
        return "\n\n".join([explain_patterns(choice.plan), table, explain_streams(streams, seen)])

    def _explain_plan(self, plan: Plan, view: str = "") -> str:
        """What a plan means, and how it will be run; of a view, with whom it shares operators."""
        choice = choose(plan, SHOWN_SHARDS, self.expiry, self.statistics)
        shared = self.queries.sharing_text(choice.placed(1, self.expiry)[0], view)
        how = explain_view(choice, self.expiry, self.statistics, shards=SHOWN_SHARDS)
        return f"{explain_patterns(choice.plan)}\n\n{how}" + (f"\n\n{shared}" if shared else "")

    def _explain_query(self, query: ParsedQuery) -> str:
        """As a view of it would be run; and, where it is about rows of one view, how they are found if it is asked now."""
        if query.is_approximate:
            return f"asked now\n{self.questions.estimate(query, self.catalog)[0].text}"
        plan = self._explain_plan(bind(query, self.catalog))
        asked = None if query.emit is not None else self._question(query)
        access = "" if asked is None else self._access_text(asked)
        return f"{plan}\n\nasked now\n{access}" if access else plan

    def _access_text(self, question: Question) -> str:
        selection = self.questions.selection(question)
        if selection is not None:
            return self.questions.access(selection, self.catalog).text
        narrow = self.questions.narrowed(question, self.catalog) if question.views else None
        if narrow is not None:
            return narrow.text
        return f"all rows of {', '.join(question.windows)}: it is kept for its indexes" if question.windows else ""

    def _question(self, query: ParsedQuery) -> Question | None:
        kept = self.materialized().values(), self.catalog.windows.values()
        known = {view.name.lower() for view in kept[0]} | {name for window in kept[1] for name in window.reads}
        if not {table.name.lower() for table in references(query.tree)} & known:
            return None
        try:
            return self.questions.bound(query, self.catalog)
        except SashError:  # a view can be made of it, and it cannot be asked: of changes of a view, for one
            return None

    @in_turn
    def planned(self, shards: int) -> Job:
        """All that is kept as a job."""
        views = {
            view.name: self.queries.chosen(view.plan, shards, self.expiry, self.statistics)
            for view in (*self.materialized().values(), *self.catalog.windows.values())
        }
        return replace(plan_job(self.catalog.streams, views, shards, self.expiry), schedules=self._all_schedules())

    def _set_schedule(self, schedule: str, view: str, join: str) -> None:
        order, of_joins = parse_schedule(schedule), parse_join_schedule(join)
        name, text = self._kept_view(view) if view else "", str(replace(order, join=of_joins))
        self._schedules = {**(self._schedules if view else {}), name: text}
        self.queries.join_schedules = {**(self.queries.join_schedules if view else {}), name: of_joins}

    def _all_schedules(self) -> tuple[tuple[str, str], ...]:
        kept = {"": "", **{view.name: "" for view in self.materialized().values()}} if len(self._schedules) > 1 else {"": ""}
        return tuple((name, text) for name, text in self._schedules.items() if name in kept)

    def _explained(self, statement: Explain) -> str:
        subject = statement.subject
        if not isinstance(subject, Name):
            return self._explain_query(subject)
        view = self._view(subject.text)
        return self.analyze(view.name) if statement.is_analyze else self._explain_plan(view.plan, view.name)

    def _explained_subject(self, subject: str) -> str:
        """Of a view by its name, or of the text of a query."""
        if as_text(subject, "a view's name, or a query,").strip().lower() not in self.catalog.views and len(subject.split()) > 1:
            return self._explain_query(parse_query_text(subject))
        view = self._view(subject.strip())
        return self._explain_plan(view.plan, view.name)

    def _show(self, kind: str) -> pa.Table:
        if kind == "QUERIES":
            return self.queries.table(self.catalog, self.complete_since)
        if kind == "INDEXES":
            return indexes_table(self.catalog)
        if kind == "SINKS":
            return self.sinks.table()
        if kind == "VIEWS":
            views = self.catalog.views.values()
            return pa.table(
                {
                    "name": [view.name for view in views], "columns": [str(view.plan.schema) for view in views],
                    "materialized": pa.array([view.is_materialized for view in views], pa.bool_()),
                }
            )
        found = [s for s in self.catalog.streams.values() if s.is_table == (kind == "TABLES")]
        return pa.table({"name": [s.name for s in found], "columns": [str(s.schema) for s in found]})

    def _describe(self, name: str) -> pa.Table:
        entry = self.catalog.get(name)
        schema = entry.plan.schema if isinstance(entry, ViewDefinition) else entry.schema
        return pa.table({"column": list(schema.names), "type": [str(type_) for type_ in schema.types]})

    def materialized(self) -> dict[str, ViewDefinition]:
        """The views that are kept up to date, by name."""
        return {view.name: view for view in self.catalog.views.values() if view.is_materialized}

    def _view(self, name: str) -> ViewDefinition:
        found = self.catalog.kept_view(as_text(name, "a view's name"))
        if found is None:
            known = choices(view.name for view in self.catalog.views.values())
            raise SashError(f'unknown view "{name}"', f"views are: {known}")
        return found

    def _presented(self, view: str, rows: pa.Table) -> pa.Table:
        """The rows of a view as users see them."""
        return in_order(rows, self._view(view).plan)

    def _kept_view(self, name: str) -> str:
        """The name of a materialized view as it was written."""
        view = self._view(name)
        if not view.is_materialized:
            raise SashError(f'view "{view.name}" is not kept', "create it with CREATE MATERIALIZED VIEW")
        return view.name

    def _stream(self, name: str) -> StreamSpec:
        found = self.catalog.streams.get(as_text(name, "a stream's name").lower())
        if found is None:
            known = choices(f"{stream.name} ({kind_of(stream)})" for stream in self.catalog.streams.values())
            raise SashError(f'unknown stream "{name}"', f"there are: {known}")
        return found
