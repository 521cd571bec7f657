"""The law of isolation: a view's changelog is the one that it would have alone, to the last bit; also what of it is final, at every
moment, and what it shows. Neighbours may come later, and go early.

A short run with fixed examples is part of every test run. `SASH_EXAMPLES=2000` gives a long one with new examples each time.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from company import Company, Event, companies, instant
from hypothesis import given
from hypothesis import strategies as st
from test_random_queries import examples

from sash.database.embedded import EmbeddedDatabase
from sash.plan.times import ASKED, time_of
from sash.testing.clock import FakeClock
from sash.testing.comparing import assert_same
from sash.testing.oracle import Oracle
from sash.testing.statements import Statement
from sash.testing.tables import from_arrow

EXPIRIES = ("auto", "auto", "negative", "input-triggered", "time-message")


class Told:
    """What an oracle is told of a run: rows, when they arrived, and what every statement did to the table."""

    def __init__(self, db: EmbeddedDatabase, clock: FakeClock) -> None:
        self._db, self._clock, self._last = db, clock, 0
        self.rows: dict[str, list[tuple[object, ...]]] = {}
        self.stamps: dict[str, list[int]] = {}
        self.statements: list[Statement] = []

    def see(self, event: Event) -> None:
        if event.statement:
            self.statements.append(self._statement(event.statement))
        elif event.advance is None:
            self.rows.setdefault(event.stream, []).extend(event.rows)
            if self._db.catalog.streams[event.stream].timestamp is None:
                first = max(self._clock(), self._last + 1)
                self._last = first + len(event.rows) - 1
                self.stamps.setdefault(event.stream, []).extend(range(first, self._last + 1))

    def _statement(self, sql: str) -> Statement:
        before = self._table()
        self._db.execute(sql)
        after = self._table()
        came = {name: len(rows) for name, rows in self.rows.items()}
        return Statement("t", list((after - before).elements()), list((before - after).elements()), came)

    def _table(self) -> Counter[tuple[object, ...]]:
        return Counter(tuple(row.values()) for row in self._db._table(self._db.catalog.streams["t"]).rows().to_pylist())


class Run:
    """A company, or a part of it, in an engine of this process; `watched` views are there from the beginning to the end."""

    def __init__(self, company: Company, watched: Sequence[str], expiry: str = "auto") -> None:
        self.company, self.watched = company, watched
        self.clock = FakeClock(instant(3) / 1_000_000)
        self.db = EmbeddedDatabase(clock=self.clock, expiry=expiry)
        self.db.execute(company.declarations)
        self.told = Told(self.db, self.clock)
        self.running: set[str] = set()
        self.create([one for name in watched for one in company.needed(name)])
        self.final: list[tuple[int, ...]] = []  # how many changes of every view, after every event

    def create(self, names: Sequence[str]) -> None:
        for sql in self.company.statements([name for name in names if name not in self.running]):
            self.db.execute(sql)
        self.running |= set(names)

    def drop(self, name: str) -> None:
        self.db.execute(f"DROP VIEW {name}")
        self.running.remove(name)

    def play(self, comes: Mapping[int, str] | None = None, goes: Mapping[int, str] | None = None) -> Run:
        for place, event in enumerate(self.company.events):
            if comes and place in comes:
                self.create(self.company.needed(comes[place]))
            if goes and goes.get(place) in self.running:
                self.drop(goes[place])
            self.told.see(event)
            if event.advance is not None:
                self.db.advance(instant(event.advance))
            elif event.stream:
                self.db.push(event.stream, list(event.rows))
            self.clock.sleep(0.7)
            self.final.append(tuple(self.db.changes(name).num_rows for name in self.watched))
        self.shown = {name: self.db.view(name).to_arrow() for name in self.watched}
        self.db.end()
        return self

    def changes(self, name: str) -> pa.Table:
        return self.db.changes(name).combine_chunks()


def check(company: Company, whole: Run, name: str, expiry: str = "auto") -> None:
    alone = Run(company, [name], expiry).play()
    place = whole.watched.index(name)
    assert alone.changes(name).equals(whole.changes(name)), name
    assert [counts[0] for counts in alone.final] == [counts[place] for counts in whole.final], name
    assert alone.shown[name].equals(whole.shown[name]), name
    assert alone.db.final(name).to_arrow().equals(whole.db.final(name).to_arrow()), name


@examples(25)
@given(companies(), st.sampled_from(EXPIRIES))
def test_a_view_in_company_is_as_if_alone(company: Company, expiry: str) -> None:
    whole = Run(company, company.materialized, expiry).play()
    for name in company.materialized:
        check(company, whole, name, expiry)


@examples(15)
@given(companies())
def test_statements_take_effect_as_recomputed(company: Company) -> None:
    """At the instants that the oracle finds for every view, and at no others."""
    company = replace(company, updates="RETROACTIVE", events=tuple(event for event in company.events if event.advance is None))
    run = Run(company, company.materialized).play()
    oracle = Oracle(
        "\n".join([company.declarations, *company.views.values()]), run.told.rows, statements=run.told.statements,
        stamps=run.told.stamps,
    )  # fmt: skip
    for name in company.materialized:
        if time_of(run.db.catalog.views[name].plan) != ASKED:  # what the host tells those, nobody knows
            assert_same(oracle.changelog(name), from_arrow(run.db.changes(name)))


@examples(15)
@given(companies(), st.integers(0, 1 << 30))
def test_neighbours_that_come_and_go_change_nothing(company: Company, seed: int) -> None:
    chance = random.Random(seed)
    name = chance.choice([name for name in company.materialized if name.startswith("w")])
    others = [other for other in company.materialized if other not in company.needed(name) and other.startswith("w")]
    places = range(len(company.events))
    comes = {chance.choice(places): other for other in others} if places else {}
    goes = {
        chance.choice(places): other for other in others
        if chance.random() < 0.5 and not any(other in company.needed(reader) for reader in company.views if reader != other)
    } if places else {}
    check(company, Run(company, [name]).play(comes, goes), name)


@pytest.mark.parametrize("until", [None, 4.0])
def test_a_run_ends_every_view_at_its_own_end(until: float | None) -> None:
    db = EmbeddedDatabase(clock=FakeClock(instant(500) / 1_000_000))
    db.execute("CREATE STREAM s (ts TIMESTAMP, k INT) TIMESTAMP BY ts; CREATE STREAM a (k INT); CREATE TABLE t (k INT) RETROACTIVE;")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT s.k FROM s [RANGE 2 SECONDS], t WHERE s.k = t.k;")
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT k FROM a [RANGE 2 SECONDS];")
    if until is not None:
        db._running().limit(round(until * 1_000_000))
    db.push("t", [(1,)])
    db.push("a", [(1,), (2,)])
    db.push("s", [{"ts": "1970-01-01 00:00:01", "k": 1}])
    db.end()
    assert db.changes("v").num_rows == (1 if until is None else 2) and db.changes("w").num_rows == (2 if until is None else 0)
