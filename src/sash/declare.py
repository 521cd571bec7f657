"""Statements, carried out: what is declared, shown and explained, whatever host will run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.errors import SashError, choices
from sash.logical.explain import explain_patterns
from sash.logical.nodes import Plan
from sash.logical.rewrite import read_since
from sash.logical.statistics import NOTHING_KNOWN
from sash.logical.streams import StreamSpec
from sash.logical.user_aggregates import UserAggregate
from sash.physical.choose import Choice, choose
from sash.physical.explain import explain_view
from sash.physical.job import Job, plan_job
from sash.physical.placement import Expiry
from sash.runtime.schedule import parse_schedule
from sash.scalar.build import function_names
from sash.scalar.user_functions import UserFunction
from sash.sql.binder import bind
from sash.sql.binder.changes import DeleteRows, InsertRows, UpdateRows, bind_change
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.sql.define import Definition, define
from sash.sql.parse import parse_statements
from sash.sql.places import Name, at, within
from sash.sql.statements import (
    Advance,
    CreateAggregate,
    CreateStream,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Query,
    Show,
    Statement,
    Update,
)
from sash.sql.type_names import parse_type

SHOWN_SHARDS = 2  # EXPLAIN shows how rows are spread; two shards are enough for that


class Declarations(ABC):
    """A catalog and the statements that change it."""

    def __init__(self, base: Path, expiry: str = "auto", schedule: str = "auto") -> None:
        self.base = base  # relative paths of sources start here
        self.expiry = Expiry(expiry)
        self.catalog = Catalog()
        self.statistics = NOTHING_KNOWN
        self._schedules = {"": str(parse_schedule(schedule))}  # by view; "": of all others
        self._since: dict[str, int] = {}  # of every view, the moment of its creation
        self._choices: dict[tuple[Plan, int], Choice] = {}

    def execute(self, sql: str) -> pa.Table | None:
        """Carry out statements, one after the other; the last one's table, if it gives one."""
        result: pa.Table | None = None
        for statement in parse_statements(sql):
            result = self._carry_out(statement)
        return result

    def register(
        self, name: str, code: Callable[..., Any], returns: str, parameters: Sequence[str] | None = None
    ) -> None:
        """Code of the user, by name in SQL: a function over Arrow arrays, with the types of its parameters, or, without them, a
        class that aggregates (`sash.logical.user_aggregates` says how it is made)."""
        if name.lower() in self.catalog.code or name.lower() in function_names():
            raise SashError(f'there is a function "{name}" already', "choose another name")
        if parameters is None:
            self.catalog.code[name.lower()] = UserAggregate(name, parse_type(returns), code)
        else:
            types = tuple(parse_type(parameter) for parameter in parameters)
            self.catalog.code[name.lower()] = UserFunction(name, types, parse_type(returns), code)

    def _moment(self) -> int:
        """A number that is greater whenever rows have come since it was asked for; 0 before the first one."""
        return 0

    @abstractmethod
    def _changed(self) -> None:
        """The catalog is not what it was."""

    @abstractmethod
    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None: ...

    @abstractmethod
    def _advance(self, statement: Advance) -> None: ...

    def _carry_out(self, statement: Statement) -> pa.Table | None:
        if isinstance(statement, CreateStream | CreateView | CreateAggregate | Drop):
            self._define(statement)
        elif isinstance(statement, Advance):
            self._advance(statement)
        elif isinstance(statement, Insert | Update | Delete):
            self._change_rows(bind_change(statement, self.catalog))
        elif isinstance(statement, Show):
            return self._show(statement.kind)
        elif isinstance(statement, Describe):
            return self._describe(statement.name.text)
        elif isinstance(statement, Explain):
            return pa.table({"plan": self._explained(statement).splitlines()})
        elif isinstance(statement, Query):
            raise SashError(
                "a bare SELECT has no standing answer", "write CREATE MATERIALIZED VIEW name AS SELECT …, then read the view"
            )
        return None

    def _define(self, statement: Definition) -> None:
        """A view that cannot be run is refused at once, and nothing is changed."""
        before = dict(self.catalog.views)
        if not define(statement, self.catalog):
            return
        if isinstance(statement, CreateView) and statement.is_materialized:
            name = statement.name.text.lower()
            if name not in before or before[name].plan != self.catalog.views[name].plan:
                self._since[name] = self._moment()
            try:
                with within(statement.source.text), at(statement.name):
                    self._chosen(self._view(statement.name.text), 1)
            except SashError:
                self.catalog.views = before
                raise
        self._changed()

    def _explained(self, statement: Explain) -> str:
        if statement.is_analyze and isinstance(statement.subject, Name):
            return self.analyze(self._view(statement.subject.text).name)
        return self.explain(self._subject(statement))

    def analyze(self, view: str) -> str:
        """How a view has run so far: what was counted beside what was expected."""
        raise SashError("EXPLAIN ANALYZE is for the embedded engine", "leave ANALYZE out, or use sash explain --analyze")

    def explain(self, plan: Plan) -> str:
        """What a plan means, and how it will be run."""
        choice = choose(plan, SHOWN_SHARDS, self.expiry, self.statistics)
        return f"{explain_patterns(choice.plan)}\n\n{explain_view(choice, self.expiry, self.statistics, shards=SHOWN_SHARDS)}"

    def planned(self, shards: int) -> Job:
        """All materialized views as a job."""
        views = {view.name: self._chosen(view, shards) for view in self.materialized().values()}
        return replace(plan_job(self.catalog.streams, views, shards, self.expiry), schedules=self._all_schedules())

    def _all_schedules(self) -> tuple[tuple[str, str], ...]:
        kept = {"": "", **{view.name: "" for view in self.materialized().values()}}
        return tuple((name, text) for name, text in self._schedules.items() if name in kept)

    def _chosen(self, view: ViewDefinition, shards: int) -> Choice:
        """How a view is run: decided once, so that nothing that is declared later changes it."""
        plan = read_since(view.plan, self._since[view.name.lower()])
        if (plan, shards) not in self._choices:
            self._choices[plan, shards] = choose(plan, shards, self.expiry, self.statistics)
        return self._choices[plan, shards]

    def _subject(self, statement: Explain) -> Plan:
        subject = statement.subject
        return self._view(subject.text).plan if isinstance(subject, Name) else bind(subject, self.catalog)

    def _show(self, kind: str) -> pa.Table:
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
        return {view.name: view for view in self.catalog.views.values() if view.is_materialized}

    def _view(self, name: str) -> ViewDefinition:
        found = self.catalog.views.get(name.lower())
        if found is None:
            known = choices(view.name for view in self.catalog.views.values())
            raise SashError(f'unknown view "{name}"', f"views are: {known}")
        return found

    def _kept_view(self, name: str) -> str:
        """The name of a materialized view as it was written."""
        view = self._view(name)
        if not view.is_materialized:
            raise SashError(f'view "{view.name}" is not kept', "create it with CREATE MATERIALIZED VIEW")
        return view.name

    def _stream(self, name: str) -> StreamSpec:
        found = self.catalog.streams.get(name.lower())
        if found is None:
            known = choices(f"{stream.name} ({kind_of(stream)})" for stream in self.catalog.streams.values())
            raise SashError(f'unknown stream "{name}"', f"there are: {known}")
        return found
