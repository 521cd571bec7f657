"""Statements, carried out, whatever host will run what they declare.

The public methods of a database, which call these, are in `database.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

import pyarrow as pa

from sash.database.answer import Answer, Rows
from sash.database.explaining import Explaining
from sash.errors import SashError, as_text
from sash.plan.streams import StreamSpec
from sash.plan.user_aggregates import UserAggregate
from sash.scalar.build import function_names
from sash.scalar.user_functions import UserFunction
from sash.sources.declared_messages import declared
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows, bind_change
from sash.sql.catalog import SinkDefinition, ViewDefinition
from sash.sql.define import Definition, define, view_of
from sash.sql.questions import Question
from sash.sql.syntax.parse import parse_statements
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
from sash.sql.syntax.text_positions import at, within
from sash.sql.syntax.type_names import parse_type


class StatementExecutor(Explaining):
    """Declarations, and the statements that change them."""

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
        else:
            assert_never(statement)
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
