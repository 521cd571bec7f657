"""DISTINCT ON: the first row of each group, written out in place.

    SELECT DISTINCT ON (k) k, v FROM s ORDER BY k, v DESC
    SELECT k, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY k, v DESC) = 1 ORDER BY k, v DESC
"""

from __future__ import annotations

from sqlglot import exp

from sash.numerals import whole
from sash.sql.bind.support import not_yet


def write_out_distinct_on(select: exp.Select) -> None:
    clause = select.args.get("distinct")
    if clause is None or clause.args.get("on") is None:
        return
    if select.args.get("qualify"):
        raise not_yet(clause, "DISTINCT ON with QUALIFY")
    chosen = clause.args["on"]
    keys = chosen.expressions if isinstance(chosen, exp.Tuple) else [chosen.unnest()]
    order = select.args.get("order")
    listed = order.copy() if order else exp.Order(expressions=[exp.Ordered(this=key.copy(), nulls_first=True) for key in keys])
    for part in listed.expressions:
        part.set("this", _item(part.this, select))
    partition = [_item(key, select) for key in keys]
    number = exp.Window(this=exp.Anonymous(this="row_number"), partition_by=partition, order=listed)
    select.set("distinct", None)
    select.set("qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1))))


def _item(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """A number means an item of the select list."""
    number = whole(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
    if number is not None and 1 <= number <= len(select.expressions):
        return select.expressions[number - 1].unalias().copy()  # type: ignore[no-any-return]
    return node.copy()
