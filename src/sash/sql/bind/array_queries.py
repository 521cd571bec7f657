"""ARRAY(SELECT ...): the values of a query as an array, written as an aggregate.

    ARRAY(SELECT v FROM s WHERE c ORDER BY k)     COALESCE((SELECT ARRAY_AGG(v ORDER BY k) FROM s WHERE c), ARRAY())
    ARRAY(SELECT DISTINCT v FROM s)               COALESCE((SELECT ARRAY_AGG(v) FROM (SELECT DISTINCT v FROM s) q(v)), ARRAY())
"""

from __future__ import annotations

from sqlglot import exp

from sash.scalar import build
from sash.scalar.nodes import Expression
from sash.sql.bind.aggregate_functions import is_aggregate
from sash.sql.bind.scope import Binder
from sash.sql.bind.support import not_yet
from sash.sql.syntax.text_positions import at, fault

_PLAIN = ("expressions", "from_", "joins", "where", "order", "windows")


def of_query(binder: Binder, node: exp.Anonymous) -> Expression | None:
    """An array of the values of a query; None for any other call."""
    if node.name.lower() != "array" or len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Query):
        return None
    query = node.expressions[0].copy()
    while isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        query = query.this
    if len(query.selects) != 1 or query.selects[0].is_star:
        raise fault(node, "ARRAY needs a query of one column, by its name")
    collected = _collected(query) if isinstance(query, exp.Select) and _is_plain(query) else _around(query, node)
    value = binder.bind(exp.Subquery(this=collected))
    with at(node):
        return build.call("coalesce", [value, build.call("array", [])])


def _is_plain(query: exp.Select) -> bool:
    if any(value and part not in _PLAIN for part, value in query.args.items()):
        return False
    return not any(is_aggregate(call.name.lower()) for call in query.selects[0].find_all(exp.Anonymous))


def _collected(query: exp.Select) -> exp.Select:
    value, order = query.selects[0].unalias(), query.args.get("order")
    listed = value.copy() if order is None else exp.Order(this=value.copy(), expressions=order.expressions)
    query.set("expressions", [exp.Anonymous(this="array_agg", expressions=[listed])])
    query.set("order", None)
    return query


def _around(query: exp.Query, node: exp.Expr) -> exp.Select:
    if query.args.get("order"):
        raise not_yet(node, "ARRAY of a query that has ORDER BY and LIMIT, DISTINCT or groups")
    alias = exp.TableAlias(this=exp.to_identifier("_listed"), columns=[exp.to_identifier("_value")])
    collected = exp.Anonymous(this="array_agg", expressions=[exp.column("_value")])
    return exp.select(collected).from_(exp.Subquery(this=query, alias=alias))
