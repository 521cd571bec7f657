"""Windows of time for the oracle: subqueries in DuckDB's words, with the columns that TUMBLE, HOP and CUMULATE add.

    TUMBLE(s, ts, size)       SELECT *, TIME_BUCKET(size, ts, origin) AS window_start, window_start + size AS window_end FROM s
    HOP, CUMULATE             of every window that a row could be in, those that it is in
"""

from __future__ import annotations

from sqlglot import exp

from sash.scalar.functions.instants import SESSION_END, SESSION_START
from sash.sql.bind.time_groups import write_out_time_groups
from sash.sql.bind.time_windows import Lengths, lengths_of
from sash.sql.syntax.parse import parse_query_text
from sash.sql.syntax.time_window_syntax import TimeWindows

_EPOCH = exp.Anonymous(this="make_timestamp", expressions=[exp.Literal.number(0)])


MACROS = (
    "CREATE MACRO timestamp_micros(x) AS make_timestamp(x)",
    "CREATE MACRO pmod(x, y) AS ((x % y) + y) % y",
)


def spell_time_windows(tree: exp.Expr) -> None:
    """Change a query in place."""
    for select in list(tree.find_all(exp.Select)):
        write_out_time_groups(select)
        _spell_sessions(select)
    is_timed = any(column.name.lower() == "window_time" for column in tree.find_all(exp.Column))
    for node in list(tree.find_all(TimeWindows)):
        node.replace(_subquery(node, is_timed))


def _spell_sessions(select: exp.Select) -> None:
    """Sessions as DuckDB can find them: rows are marked that begin one or end one; then every row looks for the nearest marks."""
    calls = [call for call in select.find_all(exp.Anonymous) if call.this in (SESSION_START, SESSION_END)]
    if not calls:
        return
    ts, gap = calls[0].expressions
    keys = [key.sql("spark") for key in select.args["group"].expressions if key not in calls]
    over, at, far = f"PARTITION BY {', '.join([*keys, '1'])} ORDER BY", ts.sql("spark"), f"INTERVAL {gap.name} MICROSECONDS"
    before, after = f"lag({at}) OVER ({over} {at})", f"lead({at}) OVER ({over} {at})"
    inner = exp.Select(expressions=[exp.Star()])
    for clause in ("from_", "joins", "where"):
        inner.set(clause, select.args.get(clause))
        select.set(clause, None)
    marks = (
        f"CASE WHEN {before} IS NULL OR {at} - {before} >= {far} THEN {at} END AS _begins",
        f"CASE WHEN {after} IS NULL OR {after} - {at} >= {far} THEN {at} + {far} END AS _ends",
    )
    inner.set("expressions", [exp.Star(), *_expressions(*marks)])
    inner = inner.where(*_expressions(f"{at} IS NOT NULL"))
    name = inner.args["from_"].this.alias_or_name
    bounds = _expressions(f"max(_begins) OVER ({over} {at}) AS _start", f"min(_ends) OVER ({over} {at} DESC) AS _end")
    marked = exp.Select(expressions=[exp.Star(), *bounds]).from_(inner.subquery(name))
    select.set("from_", exp.From(this=marked.subquery(name)))
    for call in calls:
        call.replace(exp.column("_start" if call.this == SESSION_START else "_end"))


def _expressions(*texts: str) -> list[exp.Expr]:
    return list(parse_query_text(f"SELECT {', '.join(texts)}").tree.expressions)


def _subquery(node: TimeWindows, is_timed: bool) -> exp.Subquery:
    lengths, data, column = lengths_of(node), node.args["data"], node.args["timecol"]
    name = str(data.alias or (data.name if isinstance(data, exp.Table) else ""))
    bounds = {"TUMBLE": _tumble, "HOP": _hop, "CUMULATE": _cumulate}[node.this](column, lengths)
    start, end = exp.column("window_start"), exp.column("window_end")
    inside = exp.and_(exp.LTE(this=start, expression=column.copy()), exp.LT(this=column.copy(), expression=end))
    whole = exp.select("*", *bounds).from_(data.copy())
    more = [exp.alias_(exp.Sub(this=end.copy(), expression=_long(1000)), "window_time")] if is_timed else []
    kept = exp.select("*", *more).from_(exp.Subquery(this=whole))
    if node.this != "TUMBLE":
        kept = kept.where(inside)
    alias = node.args.get("alias") or (exp.TableAlias(this=exp.to_identifier(name)) if name else None)
    return exp.Subquery(this=kept, alias=alias)


def _tumble(column: exp.Expr, lengths: Lengths) -> list[exp.Expr]:
    start = _bucket(column, lengths.size, lengths.offset)
    return [exp.alias_(start, "window_start"), exp.alias_(_after(start, lengths.size), "window_end")]


def _hop(column: exp.Expr, lengths: Lengths) -> list[exp.Expr]:
    last = _bucket(column, lengths.step, lengths.offset)
    first = exp.Sub(this=last, expression=_long(-(-lengths.size // lengths.step) * lengths.step))
    starts = _call("unnest", _call("generate_series", first, last.copy(), _long(lengths.step)))
    return [exp.alias_(starts, "window_start"), exp.alias_(_after(exp.column("window_start"), lengths.size), "window_end")]


def _cumulate(column: exp.Expr, lengths: Lengths) -> list[exp.Expr]:
    start = _bucket(column, lengths.size, lengths.offset)
    ends = _call("generate_series", _after(start, lengths.step), _after(start, lengths.size), _long(lengths.step))
    return [exp.alias_(start, "window_start"), exp.alias_(_call("unnest", ends), "window_end")]


def _bucket(column: exp.Expr, size: int, offset: int) -> exp.Expr:
    origin = exp.Add(this=_EPOCH.copy(), expression=_long(offset))
    return _call("time_bucket", _long(size), exp.cast(column.copy(), "timestamp_ntz"), origin)


def _after(moment: exp.Expr, micros: int) -> exp.Expr:
    return exp.Add(this=moment.copy(), expression=_long(micros))


def _long(micros: int) -> exp.Expr:
    return _call("to_microseconds", exp.Literal.number(micros))


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
