"""Orders for the oracle: ties are broken by the whole row, so that the answer is one only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from sash.errors import SashError

_BY_PLACE = ("row_number", "ntile", "lag", "lead")
_FIRST, _LAST = ("first_value", "first"), ("last_value", "last")
_BY_VALUE = (*_FIRST, *_LAST, "nth_value")  # which value depends on the order of peers
Names = Callable[[exp.Query], Sequence[str]]  # of the columns of a query's answer, whatever its order


def break_ties(query: exp.Select, names: Names, width: Callable[[], int]) -> None:
    """Add the whole row to the orders of a query, in place; `width` counts its columns."""
    windows = list(_windows(query))
    if windows:
        items = [item for item in query.expressions if not _has_own(item)]
        others = [item for item in query.expressions if _has_own(item)]
        row = [*_row(query, items, names), *(part for item in others for part in _leaves(item.unalias()))]
        row += [part for window in windows for part in _read(window)]
        distinct = {part.sql(): part for part in reversed(row) if not isinstance(part, exp.Literal | exp.Star)}
        ties = [_ordered(distinct[text]) for text in dict.fromkeys(part.sql() for part in row) if text in distinct]
        for window in windows:
            _break_tie(window, ties)
    if query.args.get("limit") or query.args.get("offset"):
        break_ties_of_answer(query, width())


def break_ties_of_answer(query: exp.Query, count: int) -> None:
    """Order what LIMIT cuts by the places of all columns, too."""
    order = query.args.get("order") or exp.Order(expressions=[])
    places = [_ordered(exp.Literal.number(place)) for place in range(1, count + 1)]
    order.set("expressions", [*order.expressions, *places])
    query.set("order", order)


def _row(query: exp.Select, items: Sequence[exp.Expr], names: Names) -> Iterator[exp.Expr]:
    for item in items:
        if not item.is_star:
            yield item.unalias().copy()
        else:
            alone = query.copy()
            for part in ("where", "group", "having", "qualify", "distinct"):
                alone.set(part, None)
            alone.set("expressions", [item.copy()])
            yield from (exp.column(name) for name in names(alone))


def _break_tie(window: exp.Window, ties: Sequence[exp.Ordered]) -> None:
    """Only what goes by places is ordered by more: for the others, more would split their peers."""
    order = window.args.get("order")
    spec = window.args.get("spec")
    by_places = _name(window) in _BY_PLACE or (spec is not None and spec.args.get("kind") == "ROWS")
    by_places |= _name(window) in _FIRST and (spec is None or spec.args.get("start") == "UNBOUNDED")
    by_places |= _name(window) in _LAST and spec is not None and spec.args.get("end") == "UNBOUNDED"
    if not by_places and _name(window) in _BY_VALUE:
        raise SashError(f"the oracle knows {_name(window).upper()} with ROWS only")
    if by_places:
        order = order or exp.Order(expressions=[])
        order.set("expressions", [*order.expressions, *(part.copy() for part in ties)])
        window.set("order", order)


def _name(window: exp.Window) -> str:
    call = window.this
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    return str(call.name.lower())


def _leaves(node: exp.Expr) -> Iterator[exp.Expr]:
    """The largest parts without window functions of an expression that has one."""
    for part in () if isinstance(node, exp.Window) else node.iter_expressions():
        if not _has_own(part):
            yield part.copy()
        else:
            yield from _leaves(part)


def _read(window: exp.Window) -> Iterator[exp.Expr]:
    """What a window function reads: its arguments, then what it is parted and ordered by."""
    call = window.this
    where = None
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        where = call.expression.this if isinstance(call, exp.Filter) else where
        call = call.this
    for part in call.expressions:
        inner = part.this if isinstance(part, exp.IgnoreNulls | exp.RespectNulls) else part
        yield inner.copy() if where is None else exp.Case(ifs=[exp.If(this=where.copy(), true=inner.copy())])
    yield from (part.copy() for part in window.args.get("partition_by") or ())
    order = window.args.get("order")
    yield from (part.this.copy() for part in (order.expressions if order else ()))


def _windows(query: exp.Select) -> Iterator[exp.Window]:
    clauses = [*query.expressions, query.args.get("qualify"), query.args.get("order")]
    for clause in clauses:
        if clause is not None:
            yield from _own(clause)


def _own(node: exp.Expr) -> Iterator[exp.Window]:
    """The window functions of an expression, without those of subqueries in it."""
    if isinstance(node, exp.Window):
        yield node
    for part in () if isinstance(node, exp.Query) else node.iter_expressions():
        yield from _own(part)


def _has_own(node: exp.Expr) -> bool:
    return next(_own(node), None) is not None


def _ordered(node: exp.Expr) -> exp.Ordered:
    return exp.Ordered(this=node, nulls_first=True)
