"""Whole queries: WITH, parentheses, SELECT, and the names of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sash.deep import deeply
from sash.errors import SqlError
from sash.plan.nodes import Emit, Plan
from sash.sql.bind.context import Context
from sash.sql.bind.expressions import TIMES
from sash.sql.bind.first_rows import first_rows
from sash.sql.bind.inlined_ctes import sink_names
from sash.sql.bind.inputs import renamed
from sash.sql.bind.latent import stamp_latent
from sash.sql.bind.now_rewrite import settle_time
from sash.sql.bind.projections import rename
from sash.sql.bind.query_start import begin_together
from sash.sql.bind.references import finished
from sash.sql.bind.select import bind_select
from sash.sql.bind.set_operations import bind_set_operation
from sash.sql.bind.support import not_yet, only
from sash.sql.bind.values import bind_values
from sash.sql.catalog import Catalog
from sash.sql.macros import expand_macros
from sash.sql.syntax.statements import ParsedQuery
from sash.sql.syntax.text_positions import Name, at, fault, within
from sash.sql.user_code import mark_user_code

_RESERVED = ("_op", "_ts")  # what a changelog has besides the columns of its view


@deeply
def bind(query: ParsedQuery, catalog: Catalog, columns: Sequence[Name] = ()) -> Plan:
    """The plan of a query; `columns` are the names of a view's column list, if it has one.

    A view is a bag: ORDER BY without LIMIT is checked, and orders nothing.
    """
    text = query.source.text
    with within(text):
        if query.is_approximate:
            hint = "leave APPROXIMATE out: a view is exact"
            raise fault(query.tree, "APPROXIMATE answers are asked once, of what an index has counted", hint)
        tree = expand_macros(query.tree, catalog)
        mark_user_code(tree, catalog)
        plan = stamp_latent(_settled(finished(bind_query(tree, Context(catalog, text))), tree))
        plan = begin_together(plan, catalog)
        plan = _listed(plan, columns) if columns else _checked(plan, tree)
        return plan if query.emit is None else Emit(plan, query.emit)


def bind_query(node: exp.Expr, context: Context) -> Plan:
    if isinstance(node, exp.Subquery):
        only(node, ("this", "order", "limit", "offset"))
        return first_rows(node, bind_query(node.this, context))
    if isinstance(node, exp.Select):
        sink_names(node)
        return bind_select(node, _with(node, context.inside(node)), bind_query)
    if isinstance(node, exp.SetOperation):
        return bind_set_operation(node, _with(node, context.inside(node)), bind_query)
    if isinstance(node, exp.Values):
        return first_rows(node, bind_values(node))
    raise not_yet(node)


def _with(node: exp.Query, context: Context) -> Context:
    clause = node.args.get("with_")
    if clause is None:
        return context
    if clause.args.get("recursive"):
        raise not_yet(clause, "WITH RECURSIVE")
    only(clause, ("expressions",))
    for named in clause.expressions:
        only(named, ("this", "alias", "materialized"))
        plan = bind_query(named.this, context)
        names = [column.name for column in named.args["alias"].args.get("columns") or ()]
        context = context.naming(named.alias, renamed(plan, names, named.args["alias"]) if names else plan)
    return context


def _settled(plan: Plan, tree: exp.Query) -> Plan:
    """A plan that has come to terms with NOW()."""
    named = (node for node in tree.find_all(exp.Anonymous, exp.Column) if node.name.lower() in TIMES)
    with at(next(named, tree)):
        return settle_time(plan)


def _listed(plan: Plan, columns: Sequence[Name]) -> Plan:
    if len(columns) != len(plan.schema):
        message = f"the view has {len(columns)} column names, but its query has {len(plan.schema)} columns"
        raise fault(columns[-1], message)
    seen: set[str] = set()
    for column in columns:
        if column.text.lower() in seen:
            raise fault(column, f'two columns are called "{column}"')
        if column.text.lower() in _RESERVED:
            raise _reserved(column.text, column)
        seen.add(column.text.lower())
    return rename(plan, [column.text for column in columns])


def _checked(plan: Plan, tree: exp.Query) -> Plan:
    """An answer has one column for each name."""
    seen: set[str] = set()
    for name in plan.schema.names:
        if name.lower() in seen:
            raise fault(_item(name, tree), f'two columns of the answer are called "{name}"', "give one another name with AS")
        if name.lower() in _RESERVED:
            raise _reserved(name, _item(name, tree))
        seen.add(name.lower())
    return plan


def _item(name: str, tree: exp.Query) -> exp.Expr:
    """The last item of the select list that a name may come from."""
    items = tree.selects
    named = [item for item in items if item.alias_or_name.lower() == name.lower()]
    stars = [item for item in items if item.is_star]
    return (named or stars or [tree])[-1]


def _reserved(name: str, where: Name | exp.Expr) -> SqlError:
    return fault(where, f'"{name}" is the name of a column that every changelog has', "choose another name with AS")
