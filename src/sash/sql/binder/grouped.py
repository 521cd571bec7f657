"""Whether a query has groups, and what of it is read before they are made."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sash.sql.binder.calls import is_aggregate


def is_grouped(query: exp.Select) -> bool:
    if query.args.get("group") or query.args.get("having"):
        return True
    clauses = [*query.expressions, *(query.args[part] for part in ("order", "qualify") if query.args.get(part))]
    return any(_has_aggregate(clause) for clause in clauses)


def is_inside_aggregate(node: exp.Expr, query: exp.Select) -> bool:
    parent = node.parent
    while parent is not None and parent is not query:
        if isinstance(parent, exp.Filter) or (isinstance(parent, exp.Anonymous) and is_aggregate(parent.name.lower())):
            return True
        parent = parent.parent
    return False


def _has_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        return any(_has_aggregate(part) for part in _parts(node))
    if isinstance(node, exp.Anonymous) and is_aggregate(node.name.lower()):
        return True
    return any(_has_aggregate(child) for child in node.iter_expressions())


def _parts(window: exp.Window) -> Iterator[exp.Expr]:
    """What a window function reads; itself, it makes no groups."""
    call = window.this
    while isinstance(call, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        yield from (part for part in call.iter_expressions() if part is not call.this)
        call = call.this
    yield from call.iter_expressions()
    yield from (part for part in window.iter_expressions() if part is not window.this)
