"""Whole queries: WITH, parentheses, SELECT, and the names of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sash.errors import SqlError
from sash.logical.nodes import Plan
from sash.sql.binder.context import Context
from sash.sql.binder.inputs import renamed
from sash.sql.binder.projections import rename
from sash.sql.binder.select import bind_select
from sash.sql.binder.support import not_yet, only
from sash.sql.catalog import Catalog
from sash.sql.places import Name, fault, within
from sash.sql.statements import ParsedQuery

_RESERVED = ("_op", "_ts")  # what a changelog has besides the columns of its view


def bind(query: ParsedQuery, catalog: Catalog, columns: Sequence[Name] = ()) -> Plan:
    """The plan of a query; `columns` are the names of a view's column list, if it has one."""
    text = query.source.text
    with within(text):
        plan = bind_query(query.tree, Context(catalog, text))
        return _listed(plan, columns) if columns else _checked(plan, query.tree)


def bind_query(node: exp.Expr, context: Context) -> Plan:
    if isinstance(node, exp.Subquery):
        only(node, ("this",))
        return bind_query(node.this, context)
    if not isinstance(node, exp.Select):
        raise not_yet(node)
    return bind_select(node, _with(node, context.inside(node)), bind_query)


def _with(node: exp.Select, context: Context) -> Context:
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


def _listed(plan: Plan, columns: Sequence[Name]) -> Plan:
    if len(columns) != len(plan.schema):
        message = f"the view has {len(columns)} column names, but its query has {len(plan.schema)} columns"
        raise fault(columns[-1], message)
    for place, column in enumerate(columns):
        if column.text.lower() in [other.text.lower() for other in columns[:place]]:
            raise fault(column, f'two columns are called "{column}"')
        _check_reserved(column.text, column)
    return rename(plan, [column.text for column in columns])


def _checked(plan: Plan, tree: exp.Query) -> Plan:
    """An answer has one column for each name."""
    names = [name.lower() for name in plan.schema.names]
    for place, name in enumerate(plan.schema.names):
        if name.lower() in names[:place]:
            raise _twice(name, tree)
        _check_reserved(name, _item(name, tree))
    return plan


def _twice(name: str, tree: exp.Query) -> SqlError:
    return fault(_item(name, tree), f'two columns of the answer are called "{name}"', "give one another name with AS")


def _item(name: str, tree: exp.Query) -> exp.Expr:
    """The last item of the select list that a name may come from."""
    items = tree.selects
    named = [item for item in items if item.alias_or_name.lower() == name.lower()]
    stars = [item for item in items if item.is_star]
    return (named or stars or [tree])[-1]


def _check_reserved(name: str, where: Name | exp.Expr) -> None:
    if name.lower() in _RESERVED:
        raise fault(where, f'"{name}" is the name of a column that every changelog has', "choose another name with AS")
