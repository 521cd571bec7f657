"""Queries that WITH names above the query whose columns they read: they sink into the subqueries that read them.

    WITH t AS (SELECT y.a FROM y WHERE y.a = x.a) SELECT * FROM x WHERE a IN (SELECT a FROM t)
    SELECT * FROM x WHERE a IN (WITH t AS (SELECT y.a FROM y WHERE y.a = x.a) SELECT a FROM t)

The second is what SQL means by it; the first is what translators make of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def sink_names(node: exp.Query) -> None:
    """Change a query in place."""
    clause = node.args.get("with_")
    if clause is None or not isinstance(node, exp.Select):
        return
    around = _inputs(node)
    sunk = [cte for cte in clause.expressions if _reads(cte.this, around)]
    for cte in sunk:
        for query in _subqueries(node):
            if _mentions(query, cte.alias):
                _give(query, cte)
    kept = [cte for cte in clause.expressions if cte not in sunk]
    if sunk:
        clause.set("expressions", kept)
    if not kept:
        node.set("with_", None)


def _inputs(select: exp.Select) -> set[str]:
    """The names that inputs go by."""
    source = select.args.get("from_")
    items = [source.this, *(join.this for join in select.args.get("joins") or ())] if source else []
    return {str(item.alias_or_name).lower() for item in items if item.alias_or_name}


def _reads(query: exp.Expr, around: set[str]) -> bool:
    """Whether a query names a column of these inputs, and has none of that name itself."""
    own = {str(item.alias_or_name).lower() for item in query.find_all(exp.Table, exp.Subquery)}
    return any(column.table.lower() in around - own for column in query.find_all(exp.Column) if column.table)


def _subqueries(select: exp.Select) -> Iterator[exp.Query]:
    """The queries in the expressions of a query, not those in them."""
    for part in ("expressions", "where", "having", "order", "qualify"):
        found = select.args.get(part)
        for root in found if isinstance(found, list) else [found] if found else []:
            yield from _outermost(root)


def _outermost(node: exp.Expr) -> Iterator[exp.Query]:
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        yield node
        return
    for child in node.iter_expressions():
        yield from _outermost(child)


def _mentions(query: exp.Query, name: str) -> bool:
    return any(table.name.lower() == name.lower() for table in query.find_all(exp.Table))


def _give(query: exp.Query, cte: exp.CTE) -> None:
    clause = query.args.get("with_")
    own = clause.expressions if clause else []
    query.set("with_", exp.With(expressions=[cte.copy(), *own]))
