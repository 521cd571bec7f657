"""The items of FROM: streams and tables, views, named queries and subqueries, with their windows.

    bids [RANGE 5 MINUTES]      Window(Scan)                a stream without a window has the query's, or is unbounded
    services                    Scan                        a table has none
    totals                      the view's plan             a view is a relation
    totals [ROWS 10]            Window(Insertions(plan))    with a window: the stream of its insertions
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sash.errors import choices
from sash.logical.nodes import Insertions, Plan, Scan, Window, WindowKind, WindowSpec
from sash.logical.streams import StreamSpec
from sash.schema import Schema
from sash.sql.binder.context import Context
from sash.sql.binder.projections import rename
from sash.sql.binder.scope import Input
from sash.sql.binder.support import not_yet, only
from sash.sql.catalog import ViewDefinition, kind_of
from sash.sql.dialect import window_of
from sash.sql.places import at, fault
from sash.sql.window_clause import WindowClause

BindQuery = Callable[[exp.Expr, Context], Plan]


def bind_input(node: exp.Expr, context: Context, bind_query: BindQuery) -> Input:
    """One item of FROM or JOIN."""
    if isinstance(node, exp.Table):
        item = _named(node, context)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        item = _subquery(node, context, bind_query)
    elif isinstance(node, exp.Subquery):
        raise not_yet(node, "a join in parentheses")
    else:
        raise not_yet(node)
    return _aliased(node, item)


def window_spec(window: WindowClause, schema: Schema, label: str) -> WindowSpec:
    """A window whose columns are found in the schema of what it cuts."""
    lower = [name.lower() for name in schema.names]
    for name in window.partition:
        if name.text.lower() not in lower:
            raise fault(name, f'unknown column "{name}" in {label}', f"columns are: {choices(schema.names)}")
    partition = tuple(lower.index(name.text.lower()) for name in window.partition)
    return WindowSpec(window.kind, window.size, window.slide, partition)


def _named(node: exp.Table, context: Context) -> Input:
    only(node, ("this", "alias"))
    if not isinstance(node.this, exp.Identifier):
        raise not_yet(node, "a function in FROM")
    if node.name.lower() in context.named:
        return _relation(node, Input(context.named[node.name.lower()], node.name, "query"))
    with at(node):
        entry = context.catalog.get(node.name)
    if isinstance(entry, ViewDefinition):
        return _relation(node, Input(entry.plan, entry.name, "view"))
    return _table(node, entry) if entry.is_table else _stream(node, entry, context)


def _table(node: exp.Table, spec: StreamSpec) -> Input:
    if (window := window_of(node)) is not None:
        raise fault(window.place, f'"{spec.name}" is a table; a table has no window', "leave the window out")
    return Input(Scan(spec.name, spec.schema, is_table=True), spec.name, kind_of(spec))


def _stream(node: exp.Table, spec: StreamSpec, context: Context) -> Input:
    scan = Scan(spec.name, spec.schema)
    window = window_of(node) or context.window
    cut = WindowSpec(WindowKind.UNBOUNDED)
    if window is not None:
        cut = window_spec(window, spec.schema, f'stream "{spec.name}"')
    return Input(Window(scan, cut), spec.name, kind_of(spec))


def _relation(node: exp.Expr, item: Input) -> Input:
    """A view or query; a window on it reads its insertions."""
    window = window_of(node)
    if window is None:
        return item
    spec = window_spec(window, item.plan.schema, item.label)
    return Input(Window(Insertions(item.plan), spec), item.name, item.kind)


def _subquery(node: exp.Subquery, context: Context, bind_query: BindQuery) -> Input:
    only(node, ("this", "alias"))
    return _relation(node, Input(bind_query(node.this, context), "", "subquery"))


def _aliased(node: exp.Expr, item: Input) -> Input:
    alias = node.args.get("alias")
    if alias is None:
        return item
    names = [column.name for column in alias.args.get("columns") or ()]
    plan = renamed(item.plan, names, alias) if names else item.plan
    return Input(plan, alias.name or item.name, item.kind)


def renamed(plan: Plan, names: list[str], where: exp.Expr) -> Plan:
    """A plan under the names of a column list."""
    if len(names) != len(plan.schema):
        raise fault(where, f"{len(names)} names are given, but there are {len(plan.schema)} columns")
    return rename(plan, names)
