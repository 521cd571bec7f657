"""A SELECT that is asked once: what it reads, as it is now, and the order in which its rows are to be shown.

    SELECT … FROM v, t ORDER BY n      v, a materialized view, is read like a table: it has its rows already
    SELECT … FROM w                    w, a plain view, is text: what it reads is read
    … FROM s [RANGE 5 MINUTES]         a window that has indexes is read like a materialized view (`kept_windows.py`)
    … FROM v TIMESTAMP AS OF '…'       all that the query names, as it was at that instant
    ORDER BY without LIMIT             orders what is shown; what it names beside the select list is cut off at the end
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sash.plan.nodes import Deletions, Insertions, Order, Plan, Project, Scan, Snapshots, TableChanges, Top, Window, parts, scans
from sash.plan.rewrite import over_scans
from sash.plan.streams import StreamSpec, Updates
from sash.plan.times import with_own_time
from sash.plan.windows import UNBOUNDED
from sash.scalar.nodes import Column
from sash.schema import Schema
from sash.sql.bind import bind
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.sql.kept_windows import over_kept_windows, rows_of
from sash.sql.references import references
from sash.sql.syntax.parse import parse_query_text, timestamp
from sash.sql.syntax.statements import ParsedQuery
from sash.sql.syntax.text_positions import Name, Place, fault, within

ALL_ROWS = 2**31 - 1  # the greatest LIMIT that can be written, in place of none


@dataclass(frozen=True, eq=False)
class Question:
    """A query over what is there. `plan` gives its rows, with what they are ordered by; `shown` are the columns of the answer."""

    plan: Plan
    order: tuple[Order, ...]
    shown: tuple[int, ...]
    views: tuple[ViewDefinition, ...]  # materialized ones
    tables: tuple[StreamSpec, ...]
    streams: tuple[StreamSpec, ...]
    whole: frozenset[str]  # the streams of which it needs every row that ever came
    as_of: int | None = None  # the instant of TIMESTAMP AS OF
    windows: tuple[str, ...] = ()  # of streams, that are kept for their indexes: they are among the views
    plain: Question | None = field(default=None, repr=False)  # the same over streams, for while such a window lacks rows

    @property
    def schema(self) -> Schema:
        """Of the answer."""
        return Schema(tuple(self.plan.schema.fields[place] for place in self.shown))


def relation_of(view: ViewDefinition) -> StreamSpec:
    """A materialized view, for those who read it like a table."""
    return StreamSpec(view.name, view.plan.schema, is_table=True, updates=Updates.RETROACTIVE)


def bind_question(query: ParsedQuery, catalog: Catalog) -> Question:
    """A query, bound as that of a view would be."""
    if query.emit is not None:
        with within(query.source.text):
            raise fault(query.tree, "EMIT EVERY says when changes come, and an answer has none", "leave it out")
    with within(query.source.text):
        tree, as_of = _at_one_instant(query.tree)
    here = _as_relations(tree, catalog)
    plan = bind(replace(query, tree=_ordered(tree)), here)
    read = {scan.name: scan for scan in scans(plan)}
    views = tuple(view for name in read if (view := catalog.views.get(name.lower())) is not None)
    known = [spec for name in read if (spec := catalog.streams.get(name.lower())) is not None]
    streams = tuple(spec for spec in known if not spec.is_table)
    _check_views_are_relations(plan, views)
    if as_of is not None:
        _check_past_is_known(known)
    tables = tuple(spec for spec in known if spec.is_table)
    plan = with_own_time(over_scans(plan, _as_it_is_now))
    order, shown, rows = _taken_apart(plan)
    question = Question(rows, order, shown, views, tables, streams, _read_whole(rows), as_of)
    over_kept = over_kept_windows(plan, catalog.windows) if as_of is None else None
    return question if over_kept is None else _of_kept_windows(question, over_kept, catalog)


def _of_kept_windows(plain: Question, plan: Plan, catalog: Catalog) -> Question:
    """The question over windows that are kept, of which none is missing."""
    order, shown, rows = _taken_apart(plan)
    names = {scan.name.lower() for scan in scans(plan)}
    windows = tuple(window for name, window in catalog.windows.items() if name in names)
    return Question(
        rows, order, shown, (*plain.views, *windows), plain.tables, (), frozenset(),
        windows=tuple(window.name for window in windows), plain=plain,
    )


def _read_whole(plan: Plan) -> frozenset[str]:
    without_end = (part for part in parts(plan) if isinstance(part, TableChanges) or _is_unbounded(part))
    return frozenset(scan.name for part in without_end for scan in scans(part) if not scan.is_table)


def _is_unbounded(part: Plan) -> bool:
    return isinstance(part, Window) and part.shape == UNBOUNDED


def _at_one_instant(tree: exp.Query) -> tuple[exp.Query, int | None]:
    """The query without TIMESTAMP AS OF, and the instant: written once or often, it is that of all that the query names."""
    plain, found = tree.copy(), dict[int, exp.Expr]()
    for table in plain.find_all(exp.Table):
        version = table.args.get("version")
        if version is not None:
            found[_instant(version, table)] = table
            table.set("version", None)
    if len(found) > 1:
        other = [*found.values()][-1]
        raise fault(other, "a query is answered at one instant, and this names another", "write one AS OF for all")
    return plain, next(iter(found), None)


def _instant(version: exp.Expr, table: exp.Table) -> int:
    """Of TIMESTAMP AS OF, which sqlglot tells from other versions."""
    written = version.expression
    if version.name != "TIMESTAMP" or version.args.get("kind") != "AS OF" or not isinstance(written, exp.Literal):
        raise fault(table, f'this version of "{table.name}" cannot be asked for', "write TIMESTAMP AS OF '2024-05-01 12:00:00'")
    return timestamp(written.name, table)


def _check_past_is_known(read: Iterable[StreamSpec]) -> None:
    for spec in read:
        message = f'of {kind_of(spec)} "{spec.name}" no history is kept'
        raise fault(None, message, "create a materialized view of it, and ask that one AS OF")


def _as_it_is_now(scan: Scan) -> Scan:
    """A question is about what tables hold now, not about what they held when a row came."""
    return replace(scan, updates=Updates.RETROACTIVE) if scan.updates is Updates.NON_RETROACTIVE else scan


def _as_relations(tree: exp.Expr, catalog: Catalog) -> Catalog:
    """The catalog as a question sees it: materialized views have their rows, others are read anew by their text."""
    here = Catalog()
    here.streams, here.macros, here.code = catalog.streams, catalog.macros, catalog.code
    for view in _read_by(tree, catalog):
        if view.is_materialized:
            here.views[view.name.lower()] = replace(view, plan=rows_of(view))
        else:
            names = [Name(name, Place(0, 0)) for name in view.plan.schema.names]
            here.views[view.name.lower()] = replace(view, plan=bind(parse_query_text(view.sql), here, names))
    for name, view in catalog.views.items():
        here.views.setdefault(name, view)  # so that a name that is wrong is told from those that there are
    return here


def _read_by(tree: exp.Expr, catalog: Catalog) -> Iterable[ViewDefinition]:
    """The views that a query names, and those that plain ones among them name, each after what it reads."""
    found: dict[str, ViewDefinition] = {}
    waiting = [table.name.lower() for table in references(tree)]
    while waiting:
        view = catalog.views.get(waiting.pop())
        if view is not None and view.name.lower() not in found:
            found[view.name.lower()] = view
            waiting += () if view.is_materialized else view.reads
    return [view for name, view in catalog.views.items() if name in found]  # as they were created


def _ordered(tree: exp.Query) -> exp.Query:
    """The query with a LIMIT that lets all rows through, where it asks for an order and sets none."""
    whole = tree.copy()
    outermost = whole
    while isinstance(outermost, exp.Subquery) and isinstance(outermost.this, exp.Query) and not _is_cut(outermost):
        outermost = outermost.this
    if _is_cut(outermost) and outermost.args.get("limit") is None:
        outermost.set("limit", exp.Limit(expression=exp.Literal.number(ALL_ROWS)))
    return whole


def _is_cut(query: exp.Query) -> bool:
    return any(query.args.get(part) is not None for part in ("order", "limit", "offset"))


def _taken_apart(plan: Plan) -> tuple[tuple[Order, ...], tuple[int, ...], Plan]:
    """The order of the outermost query, the columns of it that are shown, and what gives its rows."""
    everything = tuple(range(len(plan.schema)))
    if isinstance(plan, Top) and not plan.partition:
        return plan.order, everything, plan.input if _takes_all(plan) else plan
    if isinstance(plan, Project) and isinstance(plan.input, Top) and not plan.input.partition:
        places = [part.index for part in plan.expressions if isinstance(part, Column)]
        names = [plan.input.schema.names[place] for place in places]
        if len(places) == len(plan.expressions) and names == list(plan.names):
            order, _, below = _taken_apart(plan.input)
            return order, tuple(places), below
    return (), everything, plan


def _takes_all(top: Top) -> bool:
    return top.count == ALL_ROWS and not top.offset and top.numbered is None


def _check_views_are_relations(plan: Plan, views: tuple[ViewDefinition, ...]) -> None:
    names = {view.name for view in views}
    for part in parts(plan):
        if isinstance(part, Insertions | Deletions | Snapshots) and (read := {scan.name for scan in scans(part)} & names):
            raise fault(
                None, f'a window, ISTREAM, DSTREAM or RSTREAM reads the changes of view "{min(read)}", not its rows',
                "create a materialized view of this query, and ask that one",
            )
