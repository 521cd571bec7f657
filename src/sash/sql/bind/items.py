"""The select list: stars opened, names given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sash.errors import choices
from sash.scalar.nodes import Column, Expression
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.outer_columns import outside
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import fault, name_of, place


@dataclass(frozen=True)
class Item:
    """An output column: its expression over the inputs, and its name."""

    expression: Expression
    name: str
    has_alias: bool = False


def bind_items(select: exp.Select, binder: ExpressionBinder, aliases: dict[str, Expression], text: str) -> list[Item]:
    """The items in order; each alias is known to the items after it, as in Spark SQL."""
    items: list[Item] = []
    for node in select.expressions:
        for item in _items(node, binder, text):
            items.append(item)
            if item.has_alias:
                aliases.setdefault(item.name.lower(), item.expression)
    if not items:
        raise fault(select, "a query needs something to select", "write SELECT * or name columns")
    return items


def _items(node: exp.Expr, binder: ExpressionBinder, text: str) -> Iterator[Item]:
    if isinstance(node, exp.Star):
        yield from (Item(binder.scope.shown(column), column.name) for column in _kept(node, binder.scope.starred))
    elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        scope = binder.scope.around(name_of(node.args["table"]).text)
        kept = _kept(node.this, scope.qualified(name_of(node.args["table"])))
        yield from (Item(column if scope is binder.scope else outside(column, scope.level), column.name) for column in kept)
    elif isinstance(node, exp.Alias):
        yield Item(binder.bind(node.this), node.alias, has_alias=True)
    elif isinstance(node, exp.Aliases):
        raise not_yet(node, "several names for one expression")
    else:
        yield Item(binder.bind(node), _written(node, text))


def _kept(star: exp.Star, columns: Sequence[Column]) -> list[Column]:
    """The columns of a star but those that EXCEPT names."""
    only(star, ("except_",))
    kept = list(columns)
    for node in star.args.get("except_") or ():
        found = [column for column in kept if column.name.lower() == node.name.lower()]
        if not found:
            hint = f"columns are: {choices(column.name for column in columns)}"
            raise fault(node, f'EXCEPT names "{node.name}", which * does not have', hint)
        kept = [column for column in kept if column not in found]
    if columns and not kept:
        raise fault(star, "EXCEPT leaves no column")
    return kept


def _written(node: exp.Expr, text: str) -> str:
    """The name of an item without an alias: the column's, else the text of the expression."""
    where = place(node)
    if isinstance(node, exp.Column) or where is None:
        return str(node.name)
    return " ".join(text[where.start : where.end].split())
