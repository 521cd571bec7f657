"""Functions and aggregates of the user in a query: found by name, marked in its tree before it is bound."""

from __future__ import annotations

from sqlglot import exp

from sash.plan.user_aggregates import UserAggregate
from sash.scalar.user_functions import UserFunction
from sash.sql.catalog import Catalog

_MARK = "user code"


def mark_user_code(tree: exp.Expr, catalog: Catalog) -> None:
    for node in tree.find_all(exp.Anonymous):
        if (found := catalog.code.get(node.name.lower())) is not None:
            node.meta[_MARK] = found


def user_code(node: exp.Expr) -> UserFunction | UserAggregate | None:
    found = node.meta.get(_MARK)
    return found if isinstance(found, UserFunction | UserAggregate) else None
