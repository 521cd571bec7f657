"""The law of questions: a SELECT over views, tables and windows that run gives what the materialized view of its text holds, row by
row and at the same instant, after every event, and while another thread writes."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from company import Company, Event, companies, instant
from hypothesis import given, reject
from hypothesis import strategies as st
from queries import Maker, Relation
from test_random_queries import examples

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.plan.times import time_of
from sash.schema import Type
from sash.testing.clock import FakeClock

Shown = tuple[datetime | None, bool, Counter[str]]  # of an answer: its instant, whether it is final, its rows

ALL_ROWS = "CREATE MATERIALIZED VIEW all_of_{0} AS SELECT * FROM {0} [RANGE 1 HOUR];"  # then windows of any length can be asked


class Asking(Maker):
    """Makes questions: as often as not about views."""

    def _relation(self, depth: int) -> Relation:
        return self._draw(st.sampled_from(self.known)) if self.known and self._one_in(2) else super()._relation(depth)


@dataclass(frozen=True)
class Asked:
    """What runs, and a question about it."""

    company: Company
    question: str

    def __repr__(self) -> str:
        return f"{self.company!r}\n{self.question}\n"


def columns(company: Company) -> dict[str, tuple[tuple[str, Type], ...]]:
    """Of the views that are kept."""
    with sash.connect() as db:
        db.execute("\n".join([company.declarations, *company.views.values()]))
        schemas = {name: view.plan.schema for name, view in db.materialized().items()}
    return {name: tuple(zip(schema.names, schema.types, strict=True)) for name, schema in schemas.items()}


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """What a table that is not retroactive held once, only a view remembers; and of views that read it questions may be refused."""
    company = replace(draw(companies(most=10, views=3)), updates="RETROACTIVE")
    maker = Asking(draw, company.streams)
    maker.known = [Relation(name, found) for name, found in columns(company).items()]
    maker.views, maker.tables = list(company.views.values()), 2
    answer = maker.query(2, None)
    more = {sql.split(" VIEW ")[1].split()[0]: sql for sql in maker.views[len(company.views) :]}
    return Asked(replace(company, views={**company.views, **more}), answer.sql)


class Run:
    """A company in a database, and a view more."""

    def __init__(self, company: Company, *more: str) -> None:
        self.clock = FakeClock(instant(3) / 1_000_000)
        self.db = EmbeddedDatabase(clock=self.clock)
        self.db.execute("\n".join([company.declarations, *company.views.values(), *more]))

    def see(self, event: Event) -> None:
        if event.statement:
            self.db.execute(event.statement)
        elif event.advance is not None:
            self.db.advance(instant(event.advance))
        else:
            self.db.push(event.stream, list(event.rows))
        self.clock.sleep(0.7)


def asking(one: Asked) -> Run:
    return Run(one.company, *(ALL_ROWS.format(stream.name) for stream in one.company.streams if not stream.is_table))


def holding(one: Asked) -> Run:
    return Run(one.company, f"CREATE MATERIALIZED VIEW asked AS {one.question};")


def shown(answer: sash.Answer, is_of_tables: bool) -> Shown:
    """Tables alone have no instant."""
    rows = Counter(map(repr, answer.to_pylist()))
    return (None, False, rows) if is_of_tables else (answer.as_of, answer.is_final, rows)


def asked_and_held(here: Run, there: Run, question: str) -> tuple[Shown, Shown]:
    is_of_tables = not any(time_of(there.db.catalog.views["asked"].plan))
    return shown(here.db.query(question), is_of_tables), shown(there.db.view("asked"), is_of_tables)


def is_told_more(events: Sequence[Event], answer: Shown, held: Shown) -> bool:
    """Of a view that time was told to is shown what is final, though a view of the question's text, which reads others too, waits."""
    return any(event.advance is not None for event in events) and (answer[0] or datetime.min) > (held[0] or datetime.min)


def check_can_be_asked(db: sash.Database, question: str) -> None:
    """The changes of views are not asked for; all else is."""
    try:
        db.query(question)
    except sash.SashError as error:
        assert "reads the changes of view" in error.message
        reject()


@examples(60)
@given(asked())
def test_a_question_gives_what_the_view_of_its_text_holds(one: Asked) -> None:
    here, there = asking(one), holding(one)
    check_can_be_asked(here.db, one.question)
    for place, event in enumerate(one.company.events):
        here.see(event)
        there.see(event)
        answer, held = asked_and_held(here, there, one.question)
        assert answer == held or is_told_more(one.company.events[: place + 1], answer, held)


@examples(20)
@given(asked())
def test_a_question_that_is_asked_while_another_thread_writes_is_of_one_moment(one: Asked) -> None:
    """Whatever is found is the answer after one event or another, and after no earlier one than was found before."""
    here, there, found = asking(one), asking(one), list[Shown]()
    check_can_be_asked(here.db, one.question)
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            found.append(shown(here.db.query(one.question), is_of_tables=False))
            time.sleep(0)

    reader = threading.Thread(target=ask)
    reader.start()
    for event in one.company.events:
        here.see(event)
    is_over.set()
    reader.join()
    alone = [shown(there.db.query(one.question), is_of_tables=False)]
    for event in one.company.events:
        there.see(event)
        alone.append(shown(there.db.query(one.question), is_of_tables=False))
    place = 0
    for answer in [*found, shown(here.db.query(one.question), is_of_tables=False)]:
        place = next((later for later in range(place, len(alone)) if alone[later] == answer), len(alone))
        assert place < len(alone), answer
    assert alone[-1] == answer
