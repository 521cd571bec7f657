"""What is told of a database: EXPLAIN, SHOW and DESCRIBE."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from sash.database.declarations import Declarations
from sash.database.indexes import Access, indexes_table
from sash.errors import SashError, as_text
from sash.plan.explain import explain_patterns
from sash.plan.nodes import Plan, scans
from sash.plan.statistics import Statistics
from sash.planner.choose import Choice, CommonChoice, choose
from sash.planner.explain import Counts, explain_streams, explain_view
from sash.sql.bind import bind
from sash.sql.catalog import ViewDefinition
from sash.sql.questions import Question
from sash.sql.references import references
from sash.sql.syntax.parse import parse_query_text
from sash.sql.syntax.statements import (
    Explain,
    ParsedQuery,
)
from sash.sql.syntax.text_positions import Name

SHOWN_SHARDS = 2  # EXPLAIN shows how rows are spread; two shards are enough for that


class Explaining(Declarations):
    """Declarations that are explained and shown."""

    @abstractmethod
    def complete_since(self, name: str) -> datetime | None:
        """From when on a view is right for all rows that ever came; None: never."""

    @abstractmethod
    def analyze(self, view: str) -> str:
        """How a view has run so far: what was counted beside what was expected, and what its streams are like."""

    @abstractmethod
    def _running_choice(self, view: str) -> tuple[Choice, int]:
        """How a view is run, and in how many shards."""

    def _analyzed(self, choice: Choice, shards: int, counted: Mapping[str, Counts], seen: Statistics) -> str:
        streams = sorted({scan.name for scan in scans(choice.plan)})
        table = explain_view(choice, self.expiry, self.statistics, counted, shards=shards)
        return "\n\n".join([explain_patterns(choice.plan), table, explain_streams(streams, seen)])

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

    def _explain_plan(self, plan: Plan, view: str = "") -> str:
        """What a plan means, and how it will be run; of a view, with whom it shares operators."""
        choice, shards = choose(plan, SHOWN_SHARDS, self.expiry, self.statistics), SHOWN_SHARDS
        shared = self.queries.sharing_text(choice.placed(1, self.expiry)[0], view)
        if view in self.queries.views and isinstance((running := self._running_choice(view))[0], CommonChoice):
            choice, shards = running  # others have a part in it
        how = explain_view(choice, self.expiry, self.statistics, shards=shards)
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
            return self._told(selection.view, self.questions.access(selection, self.catalog))
        narrow = self.questions.narrowed(question, self.catalog) if question.views else None
        if narrow is not None:
            found = [(narrow.rows[name], access) for name, access in narrow.accesses.items()]
            return "\n".join(access.text if rows.matching else self._told(rows.view, access) for rows, access in found)
        return f"all rows of {', '.join(question.windows)}: it is kept for its indexes" if question.windows else ""

    def _told(self, view: str, access: Access) -> str:
        """How rows of a view are found: where no index serves, perhaps by the columns that tell them apart."""
        kept = self.catalog.kept_view(view)
        if access.wanted.access is not None or kept is None:
            return access.text
        key = choose(kept.plan, 1, self.expiry, self.statistics).placed(1, self.expiry)[0].key_columns
        names = kept.plan.schema.names
        if not key or key == len(names) or access.wanted.key(key) is None:
            return access.text
        return f"the row of {view} by its key ({', '.join(names[:key])})"

    def _question(self, query: ParsedQuery) -> Question | None:
        kept = self.materialized().values(), self.catalog.windows.values()
        known = {view.name.lower() for view in kept[0]} | {name for window in kept[1] for name in window.reads}
        if not {table.name.lower() for table in references(query.tree)} & known:
            return None
        try:
            return self.questions.bound(query, self.catalog)
        except SashError:  # a view can be made of it, and it cannot be asked: of changes of a view, for one
            return None

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
        are_tables = {"STREAMS": False, "TABLES": True}[kind]
        found = [s for s in self.catalog.streams.values() if s.is_table == are_tables]
        return pa.table({"name": [s.name for s in found], "columns": [str(s.schema) for s in found]})

    def _describe(self, name: str) -> pa.Table:
        entry = self.catalog.get(name)
        schema = entry.plan.schema if isinstance(entry, ViewDefinition) else entry.schema
        return pa.table({"column": list(schema.names), "type": [str(type_) for type_ in schema.types]})
