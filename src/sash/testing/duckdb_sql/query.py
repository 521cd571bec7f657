"""The same query for another engine: DuckDB's SQL without windows, over tables that hold what the windows hold.

Every mention of an input in FROM becomes a table `input_i`, numbered as they are met, named as before:

    SELECT b.price FROM bids [RANGE 1 HOUR] b, v        SELECT b.price FROM input_0 AS b, input_1 AS v

A windowed subquery (or query named by WITH) is an input too: it comes with its own query instead of a name. So are
ISTREAM and its like. A sequence is two inputs, the left and the right halves of its pairs, joined by position; MINUS is
one input that comes with its two sides. Ties of ORDER BY are broken by the whole row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from sash.errors import SashError
from sash.plan import nodes
from sash.plan.streams import StreamSpec
from sash.plan.windows import UNBOUNDED
from sash.schema import Schema
from sash.sql.bind import bind
from sash.sql.bind.inputs import window_shape
from sash.sql.bind.named_windows import spread_windows, write_out_windows
from sash.sql.catalog import Catalog
from sash.sql.macros import expand_macros
from sash.sql.syntax.dialect import DefaultWindow, default_window
from sash.sql.syntax.statements import ParsedQuery
from sash.sql.syntax.stream_syntax import FOLLOWED_BY, MINUS, StreamOf, pairing_of, stream_kind, window_of, within_of
from sash.sql.syntax.window_clause import WindowClause
from sash.testing.duckdb_sql.aggregates import rewrite_aggregates
from sash.testing.duckdb_sql.arrays import is_function, spell_arrays
from sash.testing.duckdb_sql.as_of import keep_first_of_equals
from sash.testing.duckdb_sql.inputs import OracleInput, OracleMinus, OracleQuery, OracleSequence
from sash.testing.duckdb_sql.order import break_ties, break_ties_of_answer
from sash.testing.duckdb_sql.scalars import take_only_rows
from sash.testing.duckdb_sql.time import CALL, asked_time, mark_time
from sash.testing.duckdb_sql.time_windows import spell_time_windows


class _Standard(Spark):
    """Spark SQL in which a comma binds looser than JOIN."""

    class Parser(SparkParser):
        JOINS_HAVE_EQUAL_PRECEDENCE = False


def duckdb_query(query: ParsedQuery, catalog: Catalog) -> OracleQuery:
    """A query that binds, as DuckDB text and its inputs."""
    tree = expand_macros(query.tree, catalog).copy()
    spell_time_windows(tree)
    spell_arrays(tree)
    rewriter = _Rewriter(query, catalog)
    rewriter.query(tree, _Around())
    sql = _duckdb(tree)
    return OracleQuery(sql, tuple(rewriter.inputs), query.emit, asked_time(query.tree) if CALL in sql else None)


def _duckdb(tree: exp.Expr) -> str:
    whole = sqlglot.parse_one(tree.sql(dialect="spark"), read=_Standard)
    for join in whole.find_all(exp.Join):
        if isinstance(join.this, exp.Table) and join.this.name.endswith("_right"):
            join.set("kind", None)
            join.set("method", "POSITIONAL")
            join.this.set("this", exp.to_identifier(join.this.name.removesuffix("_right")))
    mark_time(whole)
    return whole.sql(dialect="duckdb")


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
        clause = node.args.get("with_")
        for cte in clause.expressions if clause else ():
            written = cte.copy()
            self.query(cte.this, around)
            around = _Around({**around.named, cte.alias.lower(): written}, around.window)
        if isinstance(node, exp.Select):
            self._select(node, around)
        elif isinstance(node, exp.Query) and (node.args.get("limit") or node.args.get("offset")):
            break_ties_of_answer(node, self._width(node, around))
        for child in list(node.iter_expressions()):
            if child is not clause:
                self._part(child, around)
        if isinstance(node, exp.Query):
            node.set("windows", None)

    def _select(self, node: exp.Select, around: _Around) -> None:
        """What must be known about a query before its inputs are replaced."""
        write_out_windows(node)
        spread_windows(node)
        break_ties(node, lambda query: self._schema(query, around).names, lambda: self._width(node, around))
        if (group := node.args.get("group")) is not None:
            _spell_out(group)
        for part in node.iter_expressions():
            if not isinstance(part, exp.From | exp.Join):
                rewrite_aggregates(part, self._stamps(node))
        take_only_rows(node)
        joins = node.args.get("joins") or []
        for join in joins:
            if join.args.get("method") == "ASOF":
                keep_first_of_equals(join, lambda query: self._schema(query, around).names)
        kinds = [join.args.get("kind") for join in joins]
        if FOLLOWED_BY in kinds[1:] or MINUS in kinds[1:]:
            raise SashError("the oracle knows FOLLOWED BY and MINUS of two inputs only, and first in FROM")
        if kinds[:1] == [FOLLOWED_BY]:
            self._sequence(node, joins[0], around)
        elif kinds[:1] == [MINUS]:
            self._minus(node, joins.pop(0), around)

    def _stamps(self, node: exp.Select) -> list[exp.Column]:
        """The timestamp columns of the streams that a query reads directly."""
        source = node.args.get("from_")
        tables = [source.this, *(join.this for join in node.args.get("joins") or ())] if source else []
        found = []
        for table in tables:
            entry = self.catalog.find(table.name) if isinstance(table, exp.Table) else None
            if isinstance(entry, StreamSpec) and entry.timestamp is not None:
                found.append(exp.column(entry.schema.names[entry.timestamp], table=table.alias_or_name))
        return found

    def _sequence(self, node: exp.Select, join: exp.Join, around: _Around) -> None:
        first = node.args["from_"].this
        names = [_name(first), _name(join.this)]
        left, right = (self._stream(table, around) for table in (first, join.this))
        on = join.args.get("on") or exp.true()
        text = exp.select(*(exp.column("_row", table=name) for name in names)).from_(_table("input_0", names[0]))
        text = text.join(_table("input_1", names[1]), on=on.copy())
        sequence = OracleSequence(left, right, _duckdb(text), pairing_of(join), within_of(join))
        window = window_of(join) or around.window
        spec = UNBOUNDED if window is None else window_shape(window, self._pairs(first, join, around), "sequence")
        for table, is_right in ((first, False), (join.this, True)):
            self._replace(table, _name(table), OracleInput(
                len(self.inputs), None, spec, sequence=sequence, is_right=is_right
            ))  # fmt: skip
        join.set("kind", "CROSS")
        join.set("on", None)

    def _minus(self, node: exp.Select, join: exp.Join, around: _Around) -> None:
        first = node.args["from_"].this
        whole = exp.select("*").from_(first.copy())
        whole.set("joins", [join.copy()])
        plan = bind(ParsedQuery(_closed(whole, around), self.whole.source), self.catalog)
        left, right = self._lone(first, around), self._lone(join.this, around)
        if not isinstance(plan, nodes.Minus):
            raise SashError("the oracle knows MINUS on plain columns only")
        minus = OracleMinus(left, right, plan.left_keys, plan.right_keys, plan.by_position)
        self._replace(first, _name(first), OracleInput(len(self.inputs), None, None, minus=minus))

    def _stream(self, node: exp.Expr, around: _Around) -> OracleInput:
        """An input as a stream: all of it."""
        item = self._lone(node, around)
        return OracleInput(0, item.name, item.window or UNBOUNDED, item.query, item.reads)

    def _lone(self, node: exp.Expr, around: _Around) -> OracleInput:
        """An input by itself, for a sequence or MINUS."""
        if isinstance(node, exp.Table) and node.name.lower() not in around.named:
            return self._catalogued(node, around)
        if isinstance(node, StreamOf):
            return self._of(node, around)
        inner = node.this if isinstance(node, exp.Subquery) else _body(around.named[node.name.lower()])
        query = ParsedQuery(_closed(inner, around), self.whole.source)
        window = window_of(node)
        spec = None if window is None else window_shape(window, bind(query, self.catalog).schema, "input")
        return OracleInput(len(self.inputs), None, spec, query)

    def _part(self, node: exp.Expr, around: _Around) -> None:
        if isinstance(node, exp.Values):
            _name_columns(node)
        if is_function(node):
            return
        is_named = isinstance(node, exp.Table) and node.name.lower() in around.named
        if isinstance(node, exp.Table) and node.name.startswith("input_") and not node.meta:
            return  # replaced already
        if isinstance(node, StreamOf) or (isinstance(node, exp.Table) and not is_named):
            self._replace(node, _name(node), self._lone(node, around))
            for join in node.args.get("joins") or ():
                self._part(join, around)
        elif (is_named or isinstance(node, exp.Subquery)) and window_of(node):
            self._replace(node, node.alias_or_name, self._lone(node, around))
        else:
            self.query(node, around)

    def _catalogued(self, node: exp.Table, around: _Around) -> OracleInput:
        entry = self.catalog.get(node.name)
        window = window_of(node)
        if isinstance(entry, StreamSpec):
            schema, is_stream = entry.schema, not entry.is_table
        else:
            schema, is_stream = entry.plan.schema, False
        spec = UNBOUNDED if is_stream else None
        if chosen := window or (around.window if is_stream else None):
            spec = window_shape(chosen, schema, "input")
        return OracleInput(len(self.inputs), entry.name, spec)

    def _of(self, node: StreamOf, around: _Around) -> OracleInput:
        """ISTREAM and its like: a stream of the query that selects all of its argument."""
        query = ParsedQuery(_closed(exp.select("*").from_(node.this.copy()), around), self.whole.source)
        window = window_of(node) or around.window
        spec = UNBOUNDED
        if window is not None:
            spec = window_shape(window, bind(query, self.catalog).schema, "input")
        return OracleInput(len(self.inputs), None, spec, query, stream_kind(node))

    def _replace(self, node: exp.Expr, name: str, item: OracleInput) -> None:
        self.inputs.append(item)
        alias = node.args.get("alias") or exp.TableAlias()
        if name:
            alias.set("this", exp.to_identifier(name, quoted=True))
        suffix = "_right" if item.is_right else ""
        table = exp.Table(this=exp.to_identifier(f"input_{item.position}{suffix}"), joins=node.args.get("joins"))
        node.replace(table)
        if alias.this:
            table.set("alias", alias)

    def _schema(self, query: exp.Query, around: _Around) -> Schema:
        """The answer of a query whose own WITH is around it already."""
        alone = query.copy()
        alone.set("with_", None)
        for part in ("order", "limit", "offset"):
            alone.set(part, None)
        return bind(ParsedQuery(_closed(alone, around), self.whole.source), self.catalog).schema

    def _width(self, query: exp.Query, around: _Around) -> int:
        """How many columns a query has. It may name columns of the query around it, so it is not bound if they can be counted."""
        first: exp.Expr = query
        while not isinstance(first, exp.Select):
            first = first.this
        is_counted = not any(item.is_star for item in first.expressions)
        return len(first.expressions) if is_counted else len(self._schema(query, around))

    def _pairs(self, first: exp.Expr, join: exp.Join, around: _Around) -> Schema:
        sides = [self._schema(exp.select("*").from_(side.copy()), around) for side in (first, join.this)]
        return Schema(sides[0].fields + sides[1].fields)


def _name_columns(node: exp.Values) -> None:
    """The columns of VALUES as Spark calls them: col1, col2, ..."""
    alias, first = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("listed")), node.expressions[0]
    if not alias.args.get("columns"):
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        alias.set("columns", [exp.to_identifier(f"col{place}") for place in range(1, width + 1)])
        node.set("alias", alias)


def _spell_out(group: exp.Group) -> None:
    """GROUP BY a, b WITH ROLLUP becomes GROUP BY ROLLUP (a, b), sets without a comma before them stand alone."""
    if group.args.get("grouping_sets"):
        group.set("expressions", group.args["grouping_sets"])
        group.set("grouping_sets", None)
    for word in ("rollup", "cube"):
        for sets in group.args.get(word) or ():
            if not sets.expressions:
                sets.set("expressions", group.expressions)
                group.set("expressions", [sets])
                group.set(word, None)


def _table(name: str, alias: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def _name(node: exp.Expr) -> str:
    """What an input goes by."""
    if isinstance(node, StreamOf) and not node.alias:
        return _name(node.this)
    return str(node.alias or (node.name if isinstance(node, exp.Table) else ""))


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
