"""Arrays for the oracle: what DuckDB writes in another way.

    a[0], a[2:3]                       array_extract(a, 0 + 1), array_slice(a, 2, 3)  so that no dialect counts in another way
    LATERAL VIEW EXPLODE(a) u AS x     CROSS JOIN UNNEST(a) AS u(x)
    GENERATE_SERIES(1, n) in FROM      UNNEST(GENERATE_SERIES(1, n))                  where n may be a column
"""

from __future__ import annotations

from sqlglot import exp

from sash.errors import SashError
from sash.sql.bind.table_functions import is_table_function, take_out_of_items


def spell_arrays(tree: exp.Expr) -> None:
    """Change a query in place."""
    for select in list(tree.find_all(exp.Select)):
        take_out_of_items(select)
    for bracket in list(tree.find_all(exp.Bracket)):
        bracket.replace(_subscript(bracket))
    for kind in (exp.Lateral, exp.Unnest, exp.Table):
        for node in list(tree.find_all(kind)):
            if is_table_function(node) and isinstance(node.parent, exp.From | exp.Join):
                node.replace(_table(node))


def is_function(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous)


def _subscript(node: exp.Bracket) -> exp.Expr:
    place = node.expressions[0]
    if not isinstance(place, exp.Slice):
        before = exp.Paren(this=place.copy())
        is_there = exp.GTE(this=before, expression=exp.Literal.number(0))
        after = exp.Case(ifs=[exp.If(this=is_there, true=exp.Add(this=before.copy(), expression=exp.Literal.number(1)))])
        return exp.Anonymous(this="array_extract", expressions=[node.this.copy(), after])
    ends = [
        exp.Literal.number(otherwise) if part is None else part.copy()
        for part, otherwise in ((place.this, 1), (place.expression, -1))
    ]
    return exp.Anonymous(this="array_slice", expressions=[node.this.copy(), *ends])


def _table(node: exp.Expr) -> exp.Table:
    inner = node if isinstance(node, exp.Unnest) else node.this
    if inner.args.get("offset") or node.args.get("ordinality"):
        raise SashError("the oracle knows no WITH ORDINALITY")
    given = [part.copy() for part in inner.expressions]
    if isinstance(inner, exp.Anonymous) and inner.name.lower() not in ("unnest", "explode"):
        given = [inner.copy()]
    return exp.Table(this=exp.Anonymous(this="UNNEST", expressions=given), alias=node.args.get("alias"))
