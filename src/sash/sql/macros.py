"""Aggregates that users define by an expression of others, put in the place of their calls.

    CREATE AGGREGATE rms(x DOUBLE) RETURNS DOUBLE AS SQRT(SUM(x * x) / COUNT(x))
    rms(a)      CAST((SQRT(SUM(CAST(a AS DOUBLE) * CAST(a AS DOUBLE)) / COUNT(CAST(a AS DOUBLE)))) AS DOUBLE)
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from sash.schema import Type
from sash.sql.catalog import Catalog, Macro
from sash.sql.syntax.text_positions import fault, place

Tree = TypeVar("Tree", bound=exp.Expr)


def expand_macros(tree: Tree, catalog: Catalog) -> Tree:
    """A tree without calls of user-defined aggregates; the given one is left as it is."""
    if not catalog.macros or not any(_macro(node, catalog) for node in tree.find_all(exp.Anonymous)):
        return tree
    expanded = tree.copy()
    for node in reversed(list(expanded.find_all(exp.Anonymous))):  # inner calls first
        if (macro := _macro(node, catalog)) is not None:
            node.replace(_expansion(node, macro))
    return expanded


def _macro(node: exp.Anonymous, catalog: Catalog) -> Macro | None:
    return catalog.macros.get(node.name.lower())


def _expansion(call: exp.Anonymous, macro: Macro) -> exp.Expr:
    if len(call.expressions) != len(macro.parameters):
        takes = ", ".join(f"{name} {type_}" for name, type_ in macro.parameters)
        message = f"{macro.name.upper()} got {len(call.expressions)} arguments instead of {len(macro.parameters)}"
        raise fault(call, message, f"it is {macro.name}({takes})")
    names = [name.lower() for name, _ in macro.parameters]
    values = [_cast(given, type_) for given, (_, type_) in zip(call.expressions, macro.parameters, strict=True)]
    whole = _cast(exp.Paren(this=macro.body.copy()), macro.type)
    _place_at(whole, call)  # what is wrong in it is told at the call
    for column in list(whole.find_all(exp.Column)):
        column.replace(values[names.index(column.name.lower())].copy())
    return whole


def _cast(node: exp.Expr, type_: Type) -> exp.Cast:
    return exp.Cast(this=node.copy(), to=exp.DataType.build(str(type_), dialect="spark"))


def _place_at(tree: exp.Expr, call: exp.Expr) -> None:
    where = place(call)
    for node in tree.walk():
        for key in ("line", "col", "start", "end"):
            node.meta.pop(key, None)
        if where is not None:
            node.update_positions(line=1, col=1, start=where.start, end=where.end - 1)
