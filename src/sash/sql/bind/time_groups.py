"""Windows of time as keys: what GROUP BY TUMBLE, HOP and SESSION_WINDOW mean, written out in place.

    TUMBLE(ts, size [, offset])          the start of the row's window; TUMBLE_START is the same, TUMBLE_END its end
    HOP(ts, slide, size [, offset])      the start of one of its windows: the query joins its rows with all of them
    SESSION_WINDOW(ts, gap)              the start of its session; SESSION_START is the same, SESSION_END its end: both are keys
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from sqlglot import exp

from sash.scalar.functions.instants import SESSION_END, SESSION_START
from sash.sql.bind.time_windows import Lengths, length, offset
from sash.sql.syntax.text_positions import fault

_KINDS = ("tumble", "hop")
_ENDS = ("", "_start", "_end")
_CALLS = {kind + end: kind for kind in _KINDS for end in _ENDS}
_SESSIONS = {"session_window": SESSION_START, "session_start": SESSION_START, "session_end": SESSION_END}
_STARTS, _START = "_windows_of_time", "_start"
_CLAUSES = ("expressions", "group", "having", "order", "qualify")


def write_out_time_groups(select: exp.Select) -> None:
    """Calls of these functions become plain expressions; HOP is a join more."""
    if select.args.get("group") is None:
        return
    _write_out_sessions(select)
    hops: dict[str, exp.Expr] = {}
    for call in list(_calls(select)):
        name = call.name.lower()
        column, lengths = _arguments(call, _CALLS[name])
        start = _tumble(column, lengths) if _CALLS[name] == "tumble" else exp.column(_START, table=_STARTS)
        if _CALLS[name] == "hop":
            hops[_series(column, lengths).sql()] = _series(column, lengths)
            if len(hops) > 1:
                raise fault(call, "HOP in GROUP BY is one window of time", "join queries that have one each")
        made: exp.Expr = exp.Anonymous(this="timestamp_micros", expressions=[start])
        if name.endswith("_end"):
            made = exp.Add(this=made, expression=_micros_long(lengths.size))
        made.meta.update(call.meta)
        call.replace(made)
    for series in hops.values():
        alias = exp.TableAlias(this=exp.to_identifier(_STARTS), columns=[exp.to_identifier(_START)])
        lateral = exp.Lateral(this=series, alias=alias)
        select.set("joins", [*(select.args.get("joins") or ()), exp.Join(this=lateral, kind="CROSS")])


def _write_out_sessions(select: exp.Select) -> None:
    """The bounds of the session that GROUP BY names, wherever they are asked for."""
    group = select.args["group"]
    named = [key for key in group.expressions if isinstance(key, exp.Anonymous) and key.name.lower() == "session_window"]
    bounds = {(*map(str, key.expressions),) for key in named}
    ends = [_session(key, "session_end") for key in named]
    for call in list(_calls(select, _SESSIONS)):
        if (*map(str, call.expressions),) not in bounds:
            hint = "add SESSION_WINDOW(ts, gap) to it"
            raise fault(call, f"{call.name.upper()} tells of a session that GROUP BY does not name", hint)
        call.replace(_session(call, call.name.lower()))
    group.set("expressions", [*group.expressions, *ends])


def _session(call: exp.Anonymous, name: str) -> exp.Anonymous:
    if len(call.expressions) != 2:
        raise fault(call, f"{call.name.upper()} takes a TIMESTAMP and a gap", "write SESSION_WINDOW(ts, INTERVAL 30 SECONDS)")
    ts, gap = call.expressions
    made = exp.Anonymous(this=_SESSIONS[name], expressions=[ts.copy(), _number(length(_interval(gap)))])
    made.meta.update(call.meta)
    return made


def _interval(gap: exp.Expr) -> exp.Expr:
    """Spark writes the gap as a text."""
    if not isinstance(gap, exp.Literal) or not gap.is_string or len(gap.name.split()) != 2:
        return gap
    count, unit = gap.name.split()
    made = exp.Interval(this=exp.Literal.string(count), unit=exp.Var(this=unit.upper()))
    made.meta.update(gap.meta)
    return made


def _calls(select: exp.Select, names: Container[str] = _CALLS) -> Iterator[exp.Anonymous]:
    for clause in _CLAUSES:
        found = select.args.get(clause) or ()
        for root in found if isinstance(found, list) else [found] if found else []:
            for node in root.walk(prune=lambda part: isinstance(part, exp.Query)):
                if isinstance(node, exp.Anonymous) and node.name.lower() in names:
                    yield node


def _arguments(call: exp.Anonymous, kind: str) -> tuple[exp.Expr, Lengths]:
    least = 2 if kind == "tumble" else 3
    given = call.expressions
    if not least <= len(given) <= least + 1:
        takes = "a TIMESTAMP, a size" if kind == "tumble" else "a TIMESTAMP, a slide, a size"
        raise fault(call, f"{call.name.upper()} takes {takes}, and perhaps an offset")
    size = length(given[least - 1])
    step = length(given[1])
    return given[0], Lengths(size, step, offset(given[least]) if len(given) > least else 0)


def _tumble(column: exp.Expr, lengths: Lengths) -> exp.Expr:
    return _beginning(_micros(column), lengths.size, lengths.offset)


def _series(column: exp.Expr, lengths: Lengths) -> exp.Expr:
    before = exp.Sub(this=_micros(column), expression=_number(lengths.size))
    first = exp.Add(this=_beginning(before, lengths.step, lengths.offset), expression=_number(lengths.step))
    last = _beginning(_micros(column), lengths.step, lengths.offset)
    return exp.Anonymous(this="generate_series", expressions=[first, last, _number(lengths.step)])


def _beginning(micros: exp.Expr, period: int, since: int) -> exp.Expr:
    passed = exp.Sub(this=micros.copy(), expression=_number(since))
    return exp.Sub(this=micros, expression=exp.Anonymous(this="pmod", expressions=[passed, _number(period)]))


def _micros(column: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="unix_micros", expressions=[column.copy()])


def _micros_long(value: int) -> exp.Expr:
    return exp.Interval(this=exp.Literal.string(str(value)), unit=exp.Var(this="MICROSECONDS"))


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
