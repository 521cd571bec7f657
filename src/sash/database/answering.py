"""Questions: a SELECT is answered from views by their indexes, from tables, and from live windows; all at one instant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import pyarrow as pa

from sash.bounds import at_work
from sash.database.answer import Answer
from sash.database.approximate import Estimate
from sash.database.host import Host
from sash.database.indexes import indexes_of
from sash.database.instants import moment_or_none
from sash.database.narrowing import Narrowed
from sash.database.selection import Selection
from sash.database.statements import StatementExecutor
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.runtime.access import Wanted
from sash.runtime.asking import Found
from sash.runtime.instants import Instants
from sash.runtime.live import Net, Relations
from sash.sql.questions import Question
from sash.sql.syntax.parse import parse_query_text
from sash.sql.syntax.statements import ParsedQuery


class Answering(StatementExecutor):
    """A database that is asked."""

    @abstractmethod
    def _running(self) -> Host:
        """The host; it is made when it is first asked for."""

    def _looking(self) -> AbstractContextManager[None]:
        """While an answer is made, which may call code of the user."""
        return nullcontext()

    def _ask(self, sql: str) -> Answer:
        answer = self._answer_known(sql)
        if answer is not None:
            return answer
        query = parse_query_text(sql)
        if query.is_approximate:
            return self._approximate(query)
        return self._answer(self.questions.learnt(sql, query, self.catalog))

    def _approximate(self, query: ParsedQuery) -> Answer:
        return self._estimated(*self.questions.estimate(query, self.catalog))

    def _estimated(self, estimate: Estimate, question: Question) -> Answer:
        with self._looking():
            indexes = indexes_of(estimate.view, self.catalog)
            ranges, instants = self._running().ranges(estimate.view, estimate.shape, indexes.keys())
            if not self._are_complete(question.windows, instants):
                raise self._lacks_rows(question)
        return Answer("approximate answer", estimate.answer(ranges), moment_or_none(instants.now), is_final=instants.is_final)

    def _lacks_rows(self, question: Question) -> SashError:
        """Of windows that are kept since after rows came."""
        since = [self.complete_since(window) for window in question.windows]
        whole = [moment for moment in since if moment is not None]
        when = f"whole from {max(whole)} on" if len(whole) == len(since) else "not known to be whole"
        return SashError(
            f'"{", ".join(question.windows)}" lacks rows that came before its index did: it is {when}',
            "ask when that is over, or create the index before the rows come",
        )

    def _answer_known(self, sql: str) -> Answer | None:
        question = self.questions.recalled(sql)
        if question is not None:
            return self._answer(question)
        estimated = self.questions.estimated(sql)
        if estimated is not None:
            return self._estimated(*estimated)
        templated = self.questions.templated(sql, self.catalog)
        return None if templated is None else self._selected(*templated)

    def _answer(self, question: Question) -> Answer:
        selection = self.questions.selection(question)
        if selection is None:
            answer = self._planned_answer(question)
        else:
            answer = self._selected(selection, self.questions.access(selection, self.catalog).wanted)
        return self._answer_of_streams(question) if answer is None else answer

    def _answer_of_streams(self, question: Question) -> Answer:
        """Of a question about windows that are kept, and lack rows."""
        assert question.plain is not None
        answer = self._planned_answer(question.plain)
        assert answer is not None  # it reads no window that is kept
        return answer

    def _selected(self, selection: Selection, wanted: Wanted) -> Answer | None:
        """None where a window that is kept lacks rows."""
        with self._looking():
            columns, instants = self._running().select(selection.view, wanted)
            if not self._are_complete(selection.question.windows, instants):
                return None
            with at_work():
                answer = selection.answer(columns)
        if self.automatic_indexes.observe(selection, wanted, self.catalog):
            self.questions.forget()
            self._indexes_changed()
        return Answer("answer", answer, moment_or_none(instants.now), is_final=instants.is_final)

    def _are_complete(self, windows: Sequence[str], instants: Instants) -> bool:
        """Whether windows hold all that they should: one that is kept since a moment may lack rows that came before it."""
        since = [self._running().complete_since(window) for window in windows]
        return all(complete is not None and complete <= instants.now for complete in since)

    def _planned_answer(self, question: Question) -> Answer | None:
        """None where a window that is kept lacks rows."""
        names = [view.name for view in question.views]
        tables: dict[str, Net] = {table.name: self._rows_of(table) for table in question.tables}
        narrow = self.questions.narrowed(question, self.catalog) if names else None
        relations: Relations = tables
        instants, has_begun = Instants(), True
        with self._looking():
            if question.streams:
                found = self._ask_windows(question, tables, names)
                answer = self.questions.presented(question, found.rows)
                return Answer("answer", answer, moment_or_none(found.instants.now), is_final=found.instants.is_final)
            if names:
                relations, instants = self._rows_of_views(question, narrow, tables)
                has_begun = self._running().has_begun(names, question.as_of)
                if not self._are_complete(question.windows, instants):
                    return None
            over = question if narrow is None else narrow.question
            answer = self.questions.answer(over, relations, instants.now, is_empty=not has_begun)
        if narrow is not None:
            self._observe(narrow)
        return Answer("answer", answer, moment_or_none(instants.now), is_final=instants.is_final)

    def _rows_of_views(self, question: Question, narrow: Narrowed | None, tables: Relations) -> tuple[Relations, Instants]:
        host, names = self._running(), [view.name for view in question.views]
        if narrow is not None:
            return host.at_one_instant(names, lambda read: narrow.relations(read, tables))
        rows, instants = host.answers(names) if question.as_of is None else host.answers_at(names, question.as_of)
        return {**tables, **rows}, instants

    def _observe(self, narrow: Narrowed) -> None:
        observe = self.automatic_indexes.observe
        changed = [observe(rows, narrow.wanted[name], self.catalog) for name, rows in narrow.rows.items()]
        if any(changed):
            self.questions.forget()
            self._indexes_changed()

    @abstractmethod
    def _ask_windows(self, question: Question, tables: Mapping[str, Net], views: Sequence[str]) -> Found:
        """The answer of a question about live windows, tables with these rows, and views, by name; all at one instant."""

    @abstractmethod
    def _rows_of(self, table: StreamSpec) -> pa.RecordBatch:
        """What a table holds now."""
