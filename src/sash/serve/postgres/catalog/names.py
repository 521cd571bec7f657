"""The names of columns that a query does not name, as PostgreSQL gives them."""

from __future__ import annotations

from sqlglot import exp

_NAMELESS = "?column?"


def given_names(tree: exp.Query) -> None:
    """Give every column of the outermost SELECT the name that a client expects."""
    select = tree
    while isinstance(select, exp.SetOperation | exp.Subquery) and isinstance(select.this, exp.Query):
        select = select.this
    for place, item in enumerate(select.expressions if isinstance(select, exp.Select) else ()):
        if not isinstance(item, exp.Alias | exp.Column | exp.Star) and not item.is_star:
            select.expressions[place].replace(exp.alias_(item.copy(), name_of(item), quoted=True))


def name_of(item: exp.Expr) -> str:
    if isinstance(item, exp.Column | exp.Alias):
        return str(item.alias_or_name)
    if isinstance(item, exp.Paren | exp.Collate):
        return name_of(item.this)
    if isinstance(item, exp.Dot):
        return name_of(item.expression)
    if isinstance(item, exp.Cast):
        inner = name_of(item.this)
        return inner if inner != _NAMELESS else str(item.to.sql("postgres")).lower()
    if isinstance(item, exp.Case):
        return "case"
    if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Select) and len(item.this.expressions) == 1:
        return name_of(item.this.expressions[0])
    if isinstance(item, exp.Anonymous):
        return str(item.this).lower()
    if isinstance(item, exp.Func) and not isinstance(item, exp.Connector):
        return "version" if isinstance(item, exp.CurrentVersion) else item.sql_name().lower()
    return _NAMELESS
