"""Subqueries that stand for a value, for the oracle: several rows give NULL, where DuckDB would fail or take any.

    x = (SELECT y FROM s)       x = (SELECT CASE WHEN COUNT(*) = 1 THEN MIN(value) END FROM (SELECT y FROM s) AS only(value))
"""

from __future__ import annotations

from sqlglot import exp

from sash.sql.bind.aggregate_functions import is_aggregate

_ELSEWHERE = (exp.From, exp.Join, exp.Lateral, exp.Exists, exp.In, exp.SetOperation, exp.Any, exp.All, exp.Subquery, exp.CTE)


def take_only_rows(select: exp.Select) -> None:
    """Change the subqueries in the expressions of a query in place; those of its inputs have their own turn."""
    for part in ("expressions", "where", "having", "group", "order", "qualify", "joins"):
        for clause in select.args.get(part) or () if isinstance(select.args.get(part), list) else [select.args.get(part)]:
            if isinstance(clause, exp.Expr):
                _change(clause.args.get("on") if isinstance(clause, exp.Join) else clause)


def _change(node: exp.Expr | None) -> None:
    if node is None or (isinstance(node, exp.Query) and not isinstance(node, exp.Subquery)):
        return
    if isinstance(node, exp.Subquery):
        if not isinstance(node.parent, _ELSEWHERE) and not _has_one_row(node.this):
            node.replace(_only_row(node))
        return
    for child in list(node.iter_expressions()):
        _change(child)


def _only_row(node: exp.Subquery) -> exp.Subquery:
    inner = node.copy()
    inner.set("alias", exp.TableAlias(this=exp.to_identifier("only"), columns=[exp.to_identifier("value")]))
    is_one = exp.EQ(this=_call("count", exp.Star()), expression=exp.Literal.number(1))
    value = exp.Case(ifs=[exp.If(this=is_one, true=_call("min", exp.column("value")))])
    return exp.Subquery(this=exp.select(value).from_(inner))


def _has_one_row(query: exp.Expr) -> bool:
    if not isinstance(query, exp.Select) or query.args.get("group"):
        return False
    return any(is_aggregate(call.name.lower()) for item in query.expressions for call in _calls(item))


def _calls(node: exp.Expr) -> list[exp.Anonymous]:
    return [call for call in node.find_all(exp.Anonymous) if call.parent_select is node.parent_select]


def _call(name: str, argument: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument])
