"""Statements, parsed but not yet checked against a catalog."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sash.plan.index_method import IndexMethod
from sash.plan.streams import StreamSpec
from sash.sql.catalog import Macro
from sash.sql.syntax.text_positions import Name
from sash.sql.syntax.window_clause import WindowClause


@dataclass(frozen=True)
class Source:
    """The part of a text that a statement or query was read from."""

    text: str
    start: int
    end: int

    @property
    def sql(self) -> str:
        return self.text[self.start : self.end]


@dataclass(frozen=True)
class ParsedQuery:
    """A query as a tree; `sash.sql.bind.bind` makes a plan of it. `emit` is the period of EMIT EVERY; SELECT APPROXIMATE asks for
    answers that may be wrong by a bound that they tell."""

    tree: exp.Query
    source: Source
    emit: int | None = None
    is_approximate: bool = False


@dataclass(frozen=True)
class CreateStream:
    """CREATE STREAM and CREATE TABLE."""

    source: Source
    name: Name
    spec: StreamSpec
    if_not_exists: bool


@dataclass(frozen=True)
class CreateView:
    source: Source
    name: Name
    columns: tuple[Name, ...]
    query: ParsedQuery
    is_materialized: bool
    if_not_exists: bool
    or_replace: bool
    options: tuple[tuple[str, str], ...] = ()  # of WITH (...), keys in lower case


@dataclass(frozen=True)
class CreateAggregate:
    """An aggregate that stands for an expression of others."""

    source: Source
    name: Name
    macro: Macro
    if_not_exists: bool
    or_replace: bool


@dataclass(frozen=True)
class CreateSink:
    """What a view is written to: `kind` is POSTGRES, MYSQL, KAFKA, FILES or DELTA."""

    source: Source
    name: Name
    view: Name
    kind: str
    options: tuple[tuple[str, str], ...]  # of WITH (...), keys in lower case
    if_not_exists: bool


@dataclass(frozen=True)
class CreateIndex:
    """By which columns rows of a view, or of a window of a stream, are found, and how (USING)."""

    source: Source
    name: Name
    on: Name
    window: WindowClause | None
    columns: tuple[Name, ...]
    method: IndexMethod
    if_not_exists: bool


@dataclass(frozen=True)
class Drop:
    """`kind` is STREAM, TABLE, VIEW, AGGREGATE, SINK or INDEX."""

    source: Source
    kind: str
    name: Name
    if_exists: bool


@dataclass(frozen=True)
class Show:
    """`kind` is STREAMS, TABLES, VIEWS, SINKS, INDEXES or QUERIES."""

    source: Source
    kind: str


@dataclass(frozen=True)
class Describe:
    source: Source
    name: Name


@dataclass(frozen=True)
class Explain:
    """EXPLAIN of a query, or of a view by its name; EXPLAIN ANALYZE of a view that runs."""

    source: Source
    subject: ParsedQuery | Name
    is_analyze: bool = False


@dataclass(frozen=True)
class Query:
    """A bare SELECT."""

    source: Source
    query: ParsedQuery


@dataclass(frozen=True)
class Advance:
    """Time moves to `time` (microseconds) for one stream, or for all."""

    source: Source
    stream: Name | None
    time: int


@dataclass(frozen=True)
class Insert:
    """Rows for a stream or table; `columns` may be left out."""

    source: Source
    name: Name
    columns: tuple[Name, ...]
    rows: tuple[tuple[exp.Expr, ...], ...]


@dataclass(frozen=True)
class Update:
    source: Source
    name: Name
    assignments: tuple[tuple[Name, exp.Expr], ...]
    where: exp.Expr | None


@dataclass(frozen=True)
class Delete:
    source: Source
    name: Name
    where: exp.Expr | None


Change = Insert | Update | Delete
Create = CreateStream | CreateView | CreateAggregate | CreateSink | CreateIndex
Statement = Create | Drop | Show | Describe | Explain | Query | Advance | Change
