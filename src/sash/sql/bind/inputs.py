"""The items of FROM: streams and tables, views, named queries and subqueries, with their windows.

    bids [RANGE 5 MINUTES]      Window(Scan)                a stream without a window has the query's, or is unbounded
    services                    Scan                        a table has none
    totals                      the view's plan             a view is a relation, exact whatever it EMITs
    VALUES (1, 'a'), (2, 'b')   a union of single rows      columns are col1, col2 unless named
    TUMBLE(bids, ts, ...)       Project, or Unnest          see `time_windows.py`
    LATERAL (SELECT ...)        the query's plan            which reads columns of the inputs before it
    totals [ROWS 10]            Window(Insertions(plan))    with a window: the stream of its insertions
    DSTREAM(totals) [ROWS 10]   Window(Deletions(plan))     ISTREAM, DSTREAM and RSTREAM say which stream
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from sash.errors import choices
from sash.plan.nodes import Deletions, Insertions, Plan, Scan, Snapshots, Stream, Window
from sash.plan.streams import Stamp, StreamSpec
from sash.plan.windows import UNBOUNDED, WindowShape
from sash.schema import Schema
from sash.sql.bind.context import Context
from sash.sql.bind.projections import rename
from sash.sql.bind.query_start import read_view
from sash.sql.bind.scope import Input
from sash.sql.bind.support import not_yet, only
from sash.sql.bind.time_windows import bind_time_windows
from sash.sql.bind.values import bind_values
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.sql.syntax.stream_syntax import StreamOf, stream_kind, window_of
from sash.sql.syntax.text_positions import at, fault
from sash.sql.syntax.time_window_syntax import TimeWindows
from sash.sql.syntax.window_clause import WindowClause
from sash.sql.table_changes import table_changes

BindQuery = Callable[[exp.Expr, Context], Plan]

_STREAMS: dict[str, Callable[[Plan], Stream]] = {"ISTREAM": Insertions, "DSTREAM": Deletions, "RSTREAM": Snapshots}


def bind_input(node: exp.Expr, context: Context, bind_query: BindQuery) -> Input:
    """One item of FROM or JOIN, as a relation."""
    item = _bare(node, context, bind_query)
    if isinstance(item.plan, Stream) and item.kind != "table":
        item = replace(item, plan=windowed(item.plan, window_of(node) or context.window, item.label))
    elif (window := window_of(node)) is not None:
        item = replace(item, plan=windowed(Insertions(item.plan), window, item.label))
    return _aliased(node, item)


def bind_stream(node: exp.Expr, context: Context, bind_query: BindQuery) -> Input:
    """One item of FOLLOWED BY, as a stream; a view or query gives its insertions."""
    item = _bare(node, context, bind_query)
    if (window := window_of(node)) is not None:
        hint = "put it after the condition, or after WITHIN: it holds the pairs"
        raise fault(window.place, "an input of FOLLOWED BY is a stream; a window cannot cut it", hint)
    if isinstance(item.plan, Scan) and item.plan.is_table:
        raise fault(node, f'"{item.name}" is a table; FOLLOWED BY needs streams')
    if not isinstance(item.plan, Stream):
        item = replace(item, plan=Insertions(item.plan))
    return _aliased(node, item)


def windowed(stream: Stream, window: WindowClause | None, label: str) -> Window:
    """A stream cut to a window; without one it is all kept."""
    if window is None:
        return Window(stream, UNBOUNDED)
    return Window(stream, window_shape(window, stream.schema, label))


def window_shape(window: WindowClause, schema: Schema, label: str) -> WindowShape:
    """A window whose columns are found in the schema of what it cuts."""
    lower = [name.lower() for name in schema.names]
    for name in window.partition:
        if name.text.lower() not in lower:
            raise fault(name, f'unknown column "{name}" in {label}', f"columns are: {choices(schema.names)}")
    partition = tuple(lower.index(name.text.lower()) for name in window.partition)
    return window.shape(window.size, window.slide, partition)


def _bare(node: exp.Expr, context: Context, bind_query: BindQuery) -> Input:
    """An item without its window and alias: its plan is a stream, or a relation already."""
    if isinstance(node, exp.Table):
        return _named(node, context)
    if isinstance(node, StreamOf):
        inner = bind_input(node.this, context, bind_query)
        return Input(_STREAMS[stream_kind(node)](inner.plan), inner.name, "stream")
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        only(node, ("this", "alias"))
        return Input(bind_query(node.this, context), "", "subquery")
    if isinstance(node, exp.Lateral):
        return _lateral(node, context, bind_query)
    if isinstance(node, TimeWindows):
        return bind_time_windows(node, bind_input(node.args["data"], context, bind_query))
    if isinstance(node, exp.Values):
        return Input(bind_values(node), "", "list of values")
    raise not_yet(node, "a join in parentheses") if isinstance(node, exp.Subquery) else not_yet(node)


def _lateral(node: exp.Lateral, context: Context, bind_query: BindQuery) -> Input:
    only(node, ("this", "alias"))
    if not isinstance(node.this, exp.Subquery):
        raise not_yet(node, "LATERAL with this function")
    return Input(bind_query(node.this, context), "", "subquery")


def _named(node: exp.Table, context: Context) -> Input:
    only(node, ("this", "alias"))
    if not isinstance(node.this, exp.Identifier):
        raise not_yet(node, "a function in FROM")
    if node.name.lower() in context.named:
        return Input(context.named[node.name.lower()], node.name, "query")
    with at(node):
        entry = context.catalog.get(node.name)
    if isinstance(entry, ViewDefinition):
        return Input(read_view(entry), entry.name, "view")
    return _table(node, entry, context.catalog) if entry.is_table else _stream(entry)


def _table(node: exp.Table, spec: StreamSpec, catalog: Catalog) -> Input:
    if (window := window_of(node)) is not None:
        raise fault(window.place, f'"{spec.name}" is a table; a table has no window', "leave the window out")
    if spec.changes_from is not None:
        return Input(table_changes(spec, catalog), spec.name, kind_of(spec))
    return Input(Scan(spec.name, spec.schema, is_table=True, updates=spec.updates), spec.name, kind_of(spec))


def _stream(spec: StreamSpec) -> Input:
    stamped_by = () if spec.stamp is Stamp.LATENT else None
    return Input(Scan(spec.name, spec.schema, stamped_by=stamped_by), spec.name, kind_of(spec), spec.timestamp)


def _aliased(node: exp.Expr, item: Input) -> Input:
    alias = node.args.get("alias")
    if alias is None:
        return item
    names = [column.name for column in alias.args.get("columns") or ()]
    plan = renamed(item.plan, names, alias) if names else item.plan
    return replace(item, plan=plan, name=alias.name or item.name)


def renamed(plan: Plan, names: list[str], where: exp.Expr) -> Plan:
    """A plan under the names of a column list; where that is short, the last columns keep theirs."""
    if len(names) > len(plan.schema):
        raise fault(where, f"{len(names)} names are given, but there are {len(plan.schema)} columns")
    return rename(plan, [*names, *plan.schema.names[len(names) :]])
