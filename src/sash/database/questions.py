"""SELECT on what runs: texts are bound and planned once, and answered over what is there.

    text ─▶ question (bound) ─▶ spec (planned) ─▶ answer: one step over the rows of what it names, thrown away after it
            └──────── kept for the next one who asks the same ────────┘
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import pyarrow as pa

from sash.database.answer import ordered
from sash.database.approximate import Estimate, estimate_of
from sash.database.indexes import Access, access_of, indexes_of
from sash.database.narrowing import Narrowed, narrowed
from sash.database.selection import Selection, selection_of
from sash.database.templates import Templates
from sash.errors import SashError
from sash.operators.spec import Spec
from sash.planner.choose import choose
from sash.planner.job import Job
from sash.planner.placement import Expiry
from sash.runtime.access import Wanted
from sash.runtime.asking import Missing
from sash.runtime.instants import moment
from sash.runtime.live import Relations
from sash.runtime.one_shot import answer_over
from sash.scalar.failures import Failures
from sash.schema import BEGINNING, FOREVER
from sash.sql.approximate import read_approximation
from sash.sql.catalog import Catalog, IndexDefinition
from sash.sql.questions import Question, bind_question
from sash.sql.syntax.parse import parse_query_text
from sash.sql.syntax.statements import ParsedQuery
from sash.sql.syntax.text_positions import within
from sash.stores.view_index import IndexShape

MOST_TEXTS = 512  # that are known; the ones that were not asked for longest go


class Questions:
    """The queries that were asked, by their texts."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, Question] = OrderedDict()
        self._specs: WeakKeyDictionary[Question, Spec] = WeakKeyDictionary()
        self._selections: WeakKeyDictionary[Question, Selection | None] = WeakKeyDictionary()
        self._templates = Templates()
        self._indexes: dict[str, Mapping[IndexShape, IndexDefinition]] = {}
        self._estimates: OrderedDict[str, tuple[Estimate, Question]] = OrderedDict()
        self._accesses: WeakKeyDictionary[Selection, Access] = WeakKeyDictionary()
        self._narrowed: WeakKeyDictionary[Question, Narrowed | None] = WeakKeyDictionary()

    def forget(self) -> None:
        """What a text means may have changed, or how it is answered."""
        self._texts.clear()
        self._estimates.clear()
        self._accesses.clear()
        self._narrowed.clear()
        self._indexes.clear()
        self._templates.forget()

    def asked(self, sql: str, catalog: Catalog) -> Question:
        """What a text asks."""
        return self.recalled(sql) or self.learnt(sql, parse_query_text(sql), catalog)

    def learnt(self, sql: str, query: ParsedQuery, catalog: Catalog) -> Question:
        """What a text asks that is parsed."""
        return self._learnt(sql, bind_question(query, catalog))

    def estimate(self, query: ParsedQuery, catalog: Catalog) -> tuple[Estimate, Question]:
        """How an approximate answer is found, and the question for the rows that it is about."""
        known = self._estimates.get(query.source.sql)
        if known is None:
            known = self._estimates[query.source.sql] = self._estimate(query, catalog)
            if len(self._estimates) > MOST_TEXTS:
                self._estimates.popitem(last=False)
        return known

    def estimated(self, sql: str) -> tuple[Estimate, Question] | None:
        """The same of a text that was asked before."""
        return self._estimates.get(sql)

    def _estimate(self, query: ParsedQuery, catalog: Catalog) -> tuple[Estimate, Question]:
        asked = read_approximation(query)
        with within(query.source.text):
            question = bind_question(asked.rows, catalog)
            selection = self.selection(question)
            indexes = {} if selection is None else indexes_of(selection.view, catalog)
            return estimate_of(asked, selection, indexes), question

    def templated(self, sql: str, catalog: Catalog) -> tuple[Selection, Wanted] | None:
        """What a text asks that differs in constants alone from others that were asked, and how its rows are found."""
        found = self._templates.found(sql, lambda text: self.selection(bind_question(parse_query_text(text), catalog)))
        if found is None:
            return None
        template, constants = found
        wanted = template.refilled(self.access(template.selection, catalog).wanted, constants)
        if wanted is not None:
            return template.selection, wanted
        selection = template.filled(constants)
        return selection, self.access(selection, catalog).wanted

    def bound(self, query: ParsedQuery, catalog: Catalog) -> Question:
        """The same of a statement among others."""
        return self._texts.get(query.source.sql) or self._learnt(query.source.sql, bind_question(query, catalog))

    def recalled(self, sql: str) -> Question | None:
        """What a text asks, if it was asked before."""
        known = self._texts.get(sql)
        if known is not None:
            self._texts.move_to_end(sql)
        return known

    def selection(self, question: Question) -> Selection | None:
        """The question as one about rows of a single view, if it is: then nothing need be planned, or made anew."""
        if question not in self._selections:
            self._selections[question] = selection_of(question)
        return self._selections[question]

    def access(self, selection: Selection, catalog: Catalog) -> Access:
        """How its rows are found, by the indexes that there are; `forget` forgets it, too."""
        if selection not in self._accesses:
            self._accesses[selection] = access_of(selection, self._indexes_of(selection.view, catalog))
        return self._accesses[selection]

    def narrowed(self, question: Question, catalog: Catalog) -> Narrowed | None:
        """The same of a question that is planned, over those rows of views that it needs; None if it needs all."""
        if question not in self._narrowed:
            is_of_now = question.as_of is None and not question.streams
            self._narrowed[question] = narrowed(question, lambda view: self._indexes_of(view, catalog)) if is_of_now else None
        return self._narrowed[question]

    def _indexes_of(self, view: str, catalog: Catalog) -> Mapping[IndexShape, IndexDefinition]:
        indexes = self._indexes.get(view)
        if indexes is None:
            indexes = self._indexes[view] = indexes_of(view, catalog)
        return indexes

    def answer(self, question: Question, relations: Relations, instant: int, *, is_empty: bool) -> pa.Table:
        """The rows of a question over what its relations hold, in its order; none before the first row of what it reads."""
        if is_empty:
            return question.schema.arrow.empty_table()
        return self.presented(question, answer_over(self.spec(question), relations, instant, Failures()))

    def presented(self, question: Question, rows: pa.Table) -> pa.Table:
        """Rows of its plan as users see them."""
        return ordered(rows, question.order).select(list(question.shown))

    def spec(self, question: Question) -> Spec:
        """How it is answered."""
        if question not in self._specs:
            self._specs[question] = choose(question.plan, 1, Expiry.AUTO).placed(1, Expiry.AUTO)[0]
        return self._specs[question]

    def _learnt(self, sql: str, question: Question) -> Question:
        self._texts[sql] = question
        if len(self._texts) > MOST_TEXTS:
            self._texts.popitem(last=False)
        return question


def not_remembered(missing: Missing, job: Job) -> SashError:
    """Why a question about a window cannot be answered: an answer that leaves rows out would be wrong."""
    needs = "all its rows" if missing.needed == BEGINNING else f"those since {moment(missing.needed)}"
    if not job.remembers:
        return SashError(f'no rows of stream "{missing.stream}" are remembered', "connect without backfill=False, or ask a view")
    has = "none are" if missing.since == FOREVER else f"those since {moment(missing.since)} are"
    return SashError(
        f'of stream "{missing.stream}" this needs {needs}, and {has} remembered: what windows of running views hold',
        "ask for a shorter window, or create a materialized view of this query before the rows come, and ask that one",
    )
