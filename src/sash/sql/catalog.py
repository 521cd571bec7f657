"""What is declared: streams, tables, views, sinks, indexes and aggregates, by names without case."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sash.errors import SashError, choices, nearest
from sash.file_names import check_name
from sash.plan.index_method import IndexMethod
from sash.plan.nodes import Plan
from sash.plan.streams import StreamSpec
from sash.plan.user_aggregates import UserAggregate
from sash.scalar.user_functions import UserFunction
from sash.schema import Type


@dataclass(frozen=True)
class ViewDefinition:
    """A view: its plan, whose schema has the names of its columns, and its text."""

    name: str
    plan: Plan
    sql: str
    is_materialized: bool
    reads: frozenset[str] = frozenset()  # names, in lower case, of what the query names
    history: str | None = None  # how much of its past is kept, if it says so: WITH (history = '7 DAYS')


@dataclass(frozen=True)
class SinkDefinition:
    """Where the changes of a view are written: the kind of the sink, and what WITH says of it."""

    name: str
    view: str
    kind: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class IndexDefinition:
    """By which columns rows of a materialized view, or of a window that is kept like one, are found, and how."""

    name: str
    view: str
    columns: tuple[str, ...]
    method: IndexMethod
    is_automatic: bool = False  # made by itself, as questions would have looked at too much without it


@dataclass(frozen=True)
class Macro:
    """An aggregate that stands for an expression of others over its parameters."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    type: Type
    body: exp.Expr


class Catalog:
    """The registry of a session. Keys are names in lower case."""

    def __init__(self) -> None:
        self.streams: dict[str, StreamSpec] = {}
        self.views: dict[str, ViewDefinition] = {}
        self.windows: dict[str, ViewDefinition] = {}  # of streams, kept for their indexes
        self.macros: dict[str, Macro] = {}
        self.sinks: dict[str, SinkDefinition] = {}
        self.indexes: dict[str, IndexDefinition] = {}
        self.code: dict[str, UserFunction | UserAggregate] = {}  # of the user, in Python

    def find(self, name: str) -> StreamSpec | ViewDefinition | None:
        return self.streams.get(name.lower()) or self.views.get(name.lower())

    def kept_view(self, name: str) -> ViewDefinition | None:
        """A view, or a window of a stream that is kept like a materialized one."""
        return self.views.get(name.lower()) or self.windows.get(name.lower())

    def get(self, name: str) -> StreamSpec | ViewDefinition:
        found = self.find(name)
        if found is None:
            raise SashError(f'unknown stream, table or view "{name}"', self._way_out(name))
        return found

    def names(self) -> list[str]:
        return [spec.name for spec in self.streams.values()] + [view.name for view in self.views.values()]

    def dependents(self, name: str) -> list[str]:
        """The views, sinks and indexes that read something directly, and the tables that a stream changes."""
        tables = [spec.name for spec in self.streams.values() if (spec.changes_from or "").lower() == name.lower()]
        sinks = [f"{sink.name} (sink)" for sink in self.sinks.values() if sink.view.lower() == name.lower()]
        windows = [window.name for window in self.windows.values() if name.lower() in window.reads]
        indexes = [f"{index.name} (index)" for window in windows for index in self.indexes_of(window)]
        return [view.name for view in self.views.values() if name.lower() in view.reads] + tables + sinks + indexes

    def indexes_of(self, view: str) -> list[IndexDefinition]:
        return [index for index in self.indexes.values() if index.view.lower() == view.lower()]

    def add(self, entry: StreamSpec | ViewDefinition) -> None:
        """Register under a free name."""
        if (taken := self.find(entry.name)) is not None:
            message = f'there is a {kind_of(taken)} "{taken.name}" already'
            raise SashError(message, "drop it first or choose another name")
        if (window := self.windows.get(entry.name.lower())) is not None:
            raise SashError(f'"{window.name}" is a window of a stream, which has indexes', "choose another name")
        self._put(entry)

    def replace(self, view: ViewDefinition) -> None:
        """Register a view in place of one with the same name, if there is one that nothing reads."""
        taken = self.find(view.name)
        if isinstance(taken, StreamSpec):
            raise SashError(f'"{taken.name}" is a {kind_of(taken)}, not a view', "choose another name")
        if taken is not None:
            self._check_unread(view.name)
        self._put(view)

    def remove(self, name: str) -> None:
        """Forget what nothing reads."""
        self.get(name)
        self._check_unread(name)
        self.streams.pop(name.lower(), None)
        self.views.pop(name.lower(), None)
        self.indexes = {key: index for key, index in self.indexes.items() if index.view.lower() != name.lower()}

    def _put(self, entry: StreamSpec | ViewDefinition) -> None:
        check_name(entry.name)
        if isinstance(entry, StreamSpec):
            self.streams[entry.name.lower()] = entry
        else:
            self.views[entry.name.lower()] = entry

    def _check_unread(self, name: str) -> None:
        if readers := self.dependents(name):
            entry = self.get(name)
            raise SashError(f'{kind_of(entry)} "{entry.name}" is read by: {choices(readers)}', "drop them first")

    def _way_out(self, name: str) -> str:
        close = nearest(name, [known.lower() for known in self.names()])
        found = self.find(close) if close else None
        meant = f'did you mean "{found.name}"? ' if found else ""
        return f"{meant}there are: {choices(self.names())}"


def kind_of(entry: StreamSpec | ViewDefinition) -> str:
    if isinstance(entry, ViewDefinition):
        return "view"
    return "table" if entry.is_table else "stream"
