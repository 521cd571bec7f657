"""NOW() for the oracle: a call that is replaced by the instant for which the query is asked, and when it is to be asked."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sash.sql.bind.expressions import TIMES
from sash.sql.bind.literals import interval

CALL = "SASH_NOW()"
SECOND = 1_000_000
_COUNTS = {"unix_micros": 1, "unix_millis": 1000, "mz_now": 1000, "unix_seconds": SECOND, "unix_timestamp": SECOND}
# What tells less than the instant, by how often it may change; all else that does, every hour.
_READ = {"second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "date_format": SECOND, "unix_seconds": SECOND}


@dataclass(frozen=True)
class AskedTime:
    """What a query that asks for the time may do with it."""

    lengths: tuple[int, ...]  # of intervals, in microseconds
    counts: tuple[int, ...]  # units in which it may be a number
    tick: int  # it may change whenever so many microseconds are full


def asked_time(tree: exp.Expr) -> AskedTime:
    found = (interval(node) for node in tree.find_all(exp.Interval, exp.Mul))
    lengths = sorted({length.micros for length in found if length is not None})
    names = {name for node in tree.walk() for name in _names(node)}
    counts = {_COUNTS[name] for name in names & set(_COUNTS)}
    return AskedTime(tuple(lengths), tuple(counts), min((_READ[name] for name in names & set(_READ)), default=3600 * SECOND))


def _names(node: exp.Expr) -> list[str]:
    """The functions, parts and units that stand at a node."""
    if isinstance(node, exp.Literal) and node.is_string:
        return [str(node.this).lower()]
    return [node.name.lower()] if isinstance(node, exp.Anonymous | exp.Var | exp.Identifier) else []


def mark_time(tree: exp.Expr) -> None:
    """Replace NOW() and its like, in place."""
    for node in list(tree.find_all(exp.CurrentTimestamp, exp.Localtimestamp, exp.CurrentDate, exp.Anonymous, exp.Column)):
        is_date = isinstance(node, exp.CurrentDate) or node.name.lower() in ("current_date", "curdate")
        is_named = isinstance(node, exp.Anonymous | exp.Column) and node.name.lower() in TIMES
        if is_named or not isinstance(node, exp.Anonymous | exp.Column):
            now: exp.Expr = exp.Anonymous(this="SASH_NOW", expressions=[])
            if node.name.lower() == "mz_now":
                now = exp.UnixMillis(this=now)
            node.replace(exp.cast(now, "date") if is_date else now)
