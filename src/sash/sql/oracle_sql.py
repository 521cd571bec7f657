"""The same query for another engine: DuckDB's SQL without windows, over tables that hold what the windows hold.

Every mention of an input in FROM becomes a table `input_i`, numbered in the order of the text, named as before:

    SELECT b.price FROM bids [RANGE 1 HOUR] b, v        SELECT b.price FROM input_0 AS b, input_1 AS v

A windowed subquery (or query named by WITH) is an input too: it comes with its own query instead of a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from sash.logical.nodes import WindowKind, WindowSpec
from sash.logical.streams import StreamSpec
from sash.schema import Schema
from sash.sql.binder import bind
from sash.sql.binder.inputs import window_spec
from sash.sql.catalog import Catalog
from sash.sql.dialect import DefaultWindow, default_window, window_of
from sash.sql.statements import ParsedQuery
from sash.sql.window_clause import WindowClause


@dataclass(frozen=True)
class OracleInput:
    """What the table `input_<position>` must hold: a stream or view by its name, or the answer of a query.

    A window is given for every stream, and for a view or query whose insertions are read; None means the relation
    itself.
    """

    position: int
    name: str | None
    window: WindowSpec | None
    query: ParsedQuery | None = None


@dataclass(frozen=True)
class OracleQuery:
    sql: str
    inputs: tuple[OracleInput, ...]


def duckdb_query(query: ParsedQuery, catalog: Catalog) -> OracleQuery:
    """A query that binds, as DuckDB text and its inputs."""
    tree = query.tree.copy()
    rewriter = _Rewriter(query, catalog)
    rewriter.query(tree, _Around())
    (text,) = sqlglot.transpile(tree.sql(dialect="spark"), read="spark", write="duckdb")
    return OracleQuery(text, tuple(rewriter.inputs))


@dataclass(frozen=True)
class _Around:
    """What holds for a part of the query: the queries named by WITH, and the WINDOW clause."""

    named: Mapping[str, exp.CTE] = field(default_factory=dict)
    window: WindowClause | None = None


class _Rewriter:
    def __init__(self, query: ParsedQuery, catalog: Catalog) -> None:
        self.whole = query
        self.catalog = catalog
        self.inputs: list[OracleInput] = []

    def query(self, node: exp.Expr, around: _Around) -> None:
        if isinstance(node, exp.Query):
            around = _Around(around.named, default_window(node) or around.window)
            node.set("windows", None)
        clause = node.args.get("with_")
        for cte in clause.expressions if clause else ():
            written = cte.copy()
            self.query(cte.this, around)
            around = _Around({**around.named, cte.alias.lower(): written}, around.window)
        for child in list(node.iter_expressions()):
            if child is not clause:
                self._part(child, around)

    def _part(self, node: exp.Expr, around: _Around) -> None:
        if isinstance(node, exp.Table) and node.name.lower() not in around.named:
            self._named(node, around)
        elif isinstance(node, exp.Table) and window_of(node):
            self._windowed(node, _body(around.named[node.name.lower()]), around)
        elif isinstance(node, exp.Subquery) and window_of(node):
            self._windowed(node, node.this, around)
        else:
            self.query(node, around)

    def _named(self, node: exp.Table, around: _Around) -> None:
        entry = self.catalog.get(node.name)
        window = window_of(node)
        if isinstance(entry, StreamSpec):
            schema, is_stream = entry.schema, not entry.is_table
        else:
            schema, is_stream = entry.plan.schema, False
        spec = WindowSpec(WindowKind.UNBOUNDED) if is_stream else None
        if chosen := window or (around.window if is_stream else None):
            spec = self._spec(chosen, schema)
        self._replace(node, node.alias or node.name, OracleInput(len(self.inputs), entry.name, spec))

    def _windowed(self, node: exp.Expr, inner: exp.Expr, around: _Around) -> None:
        window = window_of(node)
        assert window is not None
        query = ParsedQuery(_closed(inner, around), self.whole.source)
        spec = self._spec(window, bind(query, self.catalog).schema)
        self._replace(node, node.alias_or_name, OracleInput(len(self.inputs), None, spec, query))

    def _replace(self, node: exp.Expr, name: str, item: OracleInput) -> None:
        self.inputs.append(item)
        alias = node.args.get("alias") or exp.TableAlias()
        if name:
            alias.set("this", exp.to_identifier(name, quoted=True))
        table = exp.Table(this=exp.to_identifier(f"input_{item.position}"), joins=node.args.get("joins"))
        node.replace(table)
        if alias.this:
            table.set("alias", alias)

    def _spec(self, window: WindowClause, schema: Schema) -> WindowSpec:
        return window_spec(window, schema, "input")


def _body(cte: exp.CTE) -> exp.Expr:
    """The query that WITH has named, under the names of its column list."""
    alias = cte.args["alias"]
    if not alias.args.get("columns"):
        return cte.this  # type: ignore[no-any-return]
    return exp.select("*").from_(exp.Subquery(this=cte.this.copy(), alias=alias.copy()))


def _closed(inner: exp.Expr, around: _Around) -> exp.Query:
    """A part of a query that stands by itself: with what it may name, and the WINDOW clause that holds for it."""
    query = inner.copy()
    assert isinstance(query, exp.Query)
    own = query.args.get("with_")
    named = [*(cte.copy() for cte in around.named.values()), *(own.expressions if own else ())]
    if named:
        query.set("with_", exp.With(expressions=named))
    if around.window is not None and default_window(query) is None:
        query.set("windows", [DefaultWindow.of(around.window)])
    return query
