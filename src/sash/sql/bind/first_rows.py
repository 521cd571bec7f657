"""ORDER BY and LIMIT of a whole query: after set operators, or after parentheses."""

from __future__ import annotations

from sqlglot import exp

from sash.plan.nodes import Plan
from sash.scalar.nodes import Expression
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.ordering import limit_of, orderings
from sash.sql.bind.projections import columns
from sash.sql.bind.scope import Input, Scope
from sash.sql.syntax.text_positions import fault


def first_rows(node: exp.Expr, plan: Plan) -> Plan:
    """The first rows of an answer; only its columns can be ordered by."""
    limit, items = limit_of(node), columns(plan)
    binder = ExpressionBinder(Scope((Input(plan, "", "query"),)), "ORDER BY")
    order = orderings(node.args.get("order"), binder.bind, items)
    if limit is None:
        return plan
    places: dict[Expression, int] = {column: place for place, column in enumerate(items)}
    for part in order:
        if part.expression not in places:
            raise fault(part.node, "ORDER BY of a whole query takes columns of its answer", "name one of them")
    return limit.top(plan, [part.at(places[part.expression]) for part in order])
