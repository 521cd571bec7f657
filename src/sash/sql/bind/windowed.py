"""A select list with window functions over a plan.

        select list, QUALIFY         over the columns below
        Over, Over, ...              one for every PARTITION BY and ORDER BY
        Project                      the items without window functions, then whatever else is read

So ties in an order are broken by the items of the select list from left to right, then by the rest of what the query reads: rows
that are equal in all of it cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sash.plan.expression_text import expression_text
from sash.plan.nodes import Order, Plan, Project
from sash.plan.over import Over
from sash.scalar.nodes import Call, Column, Expression, Literal, leaves, replaced
from sash.sql.bind.over import BoundOver, Overs
from sash.sql.bind.references import WindowResult

Change = Callable[[Expression], Expression]


def has_window(expression: Expression) -> bool:
    return any(isinstance(leaf, WindowResult) for leaf in leaves(expression))


def around_windows(expression: Expression, change: Change) -> Expression:
    """An expression with all but its window functions changed."""
    return replaced(expression, lambda part: None if has_window(part) else change(part))


def with_windows(
    plan: Plan, overs: Overs, change: Change, outputs: Sequence[Expression], names: Sequence[str]
) -> tuple[Plan, Change]:
    """The plan with its window functions as columns, and how `outputs`, expressions over the plan, become ones over that.

    `names` are those of the first outputs: a window function that is one of them goes by its name.
    """
    chosen = dict(reversed(list(zip(outputs, names, strict=False))))
    calls = [call.over(change) for call in overs.calls]
    plain = [part for part in outputs if not has_window(part) and not isinstance(part, Literal)]
    parts = [leaf for output in outputs for leaf in _leaves(output)]
    base = list(dict.fromkeys([*plain, *parts, *(part for call in calls for part in call.expressions)]))
    places = {part: place for place, part in enumerate(base)}
    wide: Plan = Project(plan, tuple(base), tuple(expression_text(part) for part in base))
    found: dict[WindowResult, Column] = {}
    for partition, order in dict.fromkeys((call.partition, call.order) for call in calls):
        group = [n for n, call in enumerate(calls) if (call.partition, call.order) == (partition, order)]
        for place, n in enumerate(group, len(wide.schema)):
            name = chosen.get(overs.results[n], overs.results[n].name)
            found[overs.results[n]] = Column(place, calls[n].type, name)
        wide = _over(wide, [calls[n] for n in group], [found[overs.results[n]].name for n in group], places)
    labels = wide.schema.names

    def above(expression: Expression) -> Expression:
        return replaced(expression, column)

    def column(part: Expression) -> Expression | None:
        if part in places:
            return Column(places[part], part.type, labels[places[part]])
        return found[part] if isinstance(part, WindowResult) else None

    return wide, above


def _over(plan: Plan, calls: Sequence[BoundOver], names: Sequence[str], places: dict[Expression, int]) -> Over:
    partition = tuple(places[part] for part in calls[0].partition)
    order: tuple[Order, ...] = tuple(part.at(places[part.expression]) for part in calls[0].order)
    return Over(plan, partition, order, tuple(call.placed(places) for call in calls), tuple(names))


def _leaves(expression: Expression) -> Iterator[Expression]:
    """The largest parts without window functions of an expression that has one."""
    if isinstance(expression, Call) and has_window(expression):
        for part in expression.arguments:
            if has_window(part):
                yield from _leaves(part)
            elif not isinstance(part, Literal):
                yield part
