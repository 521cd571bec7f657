"""Random companies of views over one input: streams of different rates, some stamped on arrival, statements on a table in between,
time that is told; views that read each other."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from hypothesis import strategies as st
from inputs import EPOCH, Rows, Stream, arrivals, stream, table, value
from queries import Maker, Relation

import sash
from sash.errors import SqlError
from sash.schema import DATE, STRING, TIMESTAMP, Type


@dataclass(frozen=True)
class Event:
    """What happens: rows of a stream, a statement, time that is told."""

    stream: str = ""
    rows: tuple[tuple[object, ...], ...] = ()
    statement: str = ""
    advance: float | None = None  # seconds since EPOCH


@dataclass(frozen=True)
class Company:
    """Views by name, in the order in which they read each other, and what they live through."""

    streams: tuple[Stream, ...]
    views: dict[str, str]
    events: tuple[Event, ...]
    updates: str

    @property
    def declarations(self) -> str:
        text = "\n".join(stream.declaration for stream in self.streams)
        return re.sub(r"(CREATE TABLE [^;]*);", rf"\1 {self.updates};", text)

    def needed(self, name: str) -> list[str]:
        """The views that one reads, and itself."""
        read = [other for other in self.views if other != name and re.search(rf"\b{other}\b", self.views[name])]
        found = {one for other in read for one in self.needed(other)} | {name}
        return [view for view in self.views if view in found]

    def statements(self, names: Sequence[str]) -> list[str]:
        return [self.views[name] for name in self.views if name in names]

    @property
    def materialized(self) -> list[str]:
        return [name for name, sql in self.views.items() if "MATERIALIZED" in sql]

    def __repr__(self) -> str:
        views = "\n".join(self.views.values())
        return f"\n{self.declarations}\n{views}\n" + "\n".join(map(repr, self.events)) + "\n"


@st.composite
def companies(draw: st.DrawFn, most: int = 12, views: int = 4, depth: int = 1) -> Company:
    streams = [draw(stream("s0", most)), draw(stream("s1", most // 2))]
    if draw(st.booleans()):
        streams.append(draw(arrivals("a0", most // 2)))
        streams += [draw(arrivals("a1", most // 2))] if draw(st.booleans()) else []
    streams.append(draw(table("t")))
    maker, made = Maker(draw, streams), dict[str, str]()
    maker.tables = 3
    for number in range(draw(st.integers(2, views))):
        before = len(maker.views)
        answer = maker.query(depth, None, is_outermost=True)
        made |= {_name(sql): sql for sql in maker.views[before:]}
        emit = f" EMIT EVERY {draw(st.integers(1, 4))} SECONDS" if draw(st.integers(0, 5)) == 0 else ""
        made[f"w{number}"] = f"CREATE MATERIALIZED VIEW w{number} AS {answer.sql}{emit};"
        if "AVG" not in answer.sql and "DEV" not in answer.sql and "VAR" not in answer.sql:
            maker.known.append(Relation(f"w{number}", answer.columns))
    updates = draw(st.sampled_from(["RETROACTIVE", "RETROACTIVE", "NON RETROACTIVE"]))
    found = draw(st.lists(st.tuples(*(value(type_) for _, type_ in streams[-1].columns)), max_size=4))
    events = _events(streams, found, random.Random(draw(st.integers(0, 1 << 30))))
    company = Company(tuple(streams), made, tuple(events), updates)
    return company if updates == "RETROACTIVE" or _can_be(company) else replace(company, updates="RETROACTIVE")


def _can_be(company: Company) -> bool:
    """Not every query can read every table."""
    db = sash.connect()
    try:
        db.execute("\n".join([company.declarations, *company.views.values()]))
    except SqlError:
        return False
    return True


def _name(sql: str) -> str:
    return re.split(r" VIEW ", sql, maxsplit=1)[1].split()[0]


def _events(streams: Sequence[Stream], more: Rows, chance: random.Random) -> Iterator[Event]:
    *rest, table = streams
    pieces = {one.name: list(one.rows) for one in rest}
    yield from _inserted(table, table.rows)
    while left := [name for name, rows in pieces.items() if rows]:
        dice = chance.random()
        if dice < 0.3:
            yield from _statements(table, more, chance)
        elif dice < 0.35:
            yield Event(advance=chance.choice([1.0, 5.0, 20.0]))
        else:
            name, size = chance.choice(left), chance.randint(1, 4)
            yield Event(name, tuple(pieces[name][:size]))
            del pieces[name][:size]
    yield from _statements(table, more, chance)


def _statements(table: Stream, more: Rows, chance: random.Random) -> Iterator[Event]:
    for _ in range(chance.randint(1, 2)):
        column = chance.choice(table.columns)[0]
        kind = chance.randrange(5)
        if kind < 2 and more:
            yield from _inserted(table, [chance.choice(more)])
        elif kind == 2:
            yield Event(statement=f"DELETE FROM t WHERE {column} IS NULL")
        elif kind == 3:
            yield Event(statement=chance.choice(["DELETE FROM t", f"UPDATE t SET {column} = NULL", f"UPDATE t SET {column} = {column}"]))


def _inserted(table: Stream, rows: Rows) -> Iterator[Event]:
    types = [type_ for _, type_ in table.columns]
    if rows:
        lines = (f"({', '.join(literal(v, type_) for v, type_ in zip(row, types, strict=True))})" for row in rows)
        yield Event(statement=f"INSERT INTO t VALUES {', '.join(lines)}")


def literal(given: object, type_: Type) -> str:
    """A value as SQL."""
    if given is None:
        return "NULL"
    if type_ == STRING:
        return f"'{given}'"
    if type_ in (TIMESTAMP, DATE):
        return f"{type_} '{given}'"
    return f"CAST({given} AS {type_})" if isinstance(given, Decimal) else str(given)


def instant(seconds: float) -> int:
    """As microseconds since 1970."""
    return (EPOCH - EPOCH.replace(year=1970, month=1, day=1) + timedelta(seconds=seconds)) // timedelta(microseconds=1)

