"""Orders for the oracle: ties are broken by the whole row, so that the answer is one only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

Names = Callable[[exp.Query], Sequence[str]]  # of the columns of a query's answer, whatever its order


def break_ties(query: exp.Select, names: Names) -> None:
    """Add the whole row to the orders of a query, in place."""
    items = [item for item in query.expressions if not isinstance(item.unalias(), exp.Window)]
    for window in _windows(query):
        order = window.args.get("order") or exp.Order(expressions=[])
        order.set("expressions", [*order.expressions, *(_ordered(item) for item in _row(query, items, names))])
        window.set("order", order)
    if query.args.get("limit"):
        break_ties_of_answer(query, len(names(query)))


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


def _windows(query: exp.Select) -> Iterator[exp.Window]:
    clauses = [*query.expressions, query.args.get("qualify"), query.args.get("order")]
    for clause in clauses:
        if clause is not None:
            yield from clause.find_all(exp.Window)


def _ordered(node: exp.Expr) -> exp.Ordered:
    return exp.Ordered(this=node, nulls_first=True)
