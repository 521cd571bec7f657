"""NOW() for the oracle: a call that is replaced by the instant for which the query is asked."""

from __future__ import annotations

from sqlglot import exp

from sash.sql.binder.expressions import TIMES
from sash.sql.binder.literals import interval

CALL = "SASH_NOW()"


def mark_time(tree: exp.Expr) -> None:
    """Replace NOW() and its like, in place."""
    for node in list(tree.find_all(exp.CurrentTimestamp, exp.Localtimestamp, exp.CurrentDate, exp.Anonymous, exp.Column)):
        is_date = isinstance(node, exp.CurrentDate) or node.name.lower() in ("current_date", "curdate")
        is_named = isinstance(node, exp.Anonymous | exp.Column) and node.name.lower() in TIMES
        if is_named or not isinstance(node, exp.Anonymous | exp.Column):
            now: exp.Expr = exp.Anonymous(this="SASH_NOW", expressions=[])
            node.replace(exp.cast(now, "date") if is_date else now)


def lengths(tree: exp.Expr) -> tuple[int, ...]:
    """All lengths of time in a query, in microseconds."""
    found = (interval(node) for node in tree.find_all(exp.Interval, exp.Mul))
    return tuple(sorted({length.micros for length in found if length is not None}))
