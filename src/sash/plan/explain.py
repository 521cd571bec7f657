"""A plan as a tree of text, one line a node."""

from __future__ import annotations

from collections.abc import Iterator

from sash.deep import deeply
from sash.plan.aggregates import AggregateCall
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod, Period
from sash.plan.expression_text import duration_text, expression_text
from sash.plan.nodes import (
    Aggregate,
    Combine,
    Deletions,
    Emit,
    Filter,
    Insertions,
    Join,
    Minus,
    Order,
    Plan,
    Project,
    Scan,
    Sequence,
    SingleRow,
    Snapshots,
    TableChanges,
    Top,
    Window,
    inputs,
)
from sash.plan.over import Over
from sash.plan.over_text import call_text
from sash.plan.propagation import leaving
from sash.plan.time_predicate import TimePredicate
from sash.plan.tree_text import tree_lines
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Column, Expression


@deeply
def explain(plan: Plan) -> str:
    """For example:

    Aggregate  auction; COUNT(*) AS n
    └─ Window  [RANGE 5 MINUTES]
       └─ Scan  bids
    """
    return "\n".join(_lines(plan))


@deeply
def explain_patterns(plan: Plan) -> str:
    """The same, with the pattern of every edge beside it: what could be known of its rows, whatever way it is run."""
    edges = ((text, str(leaving(one))) for text, one in tree_lines(plan, inputs, describe))
    lines = [("plan", "what is known of rows that leave"), *edges]
    width = max(len(text) for text, _ in lines) + 3
    return "\n".join(f"{text:{width}}{known}" for text, known in lines)


def describe(plan: Plan) -> str:
    """The line of one node."""
    return f"{type(plan).__name__}  {_detail(plan)}".rstrip()


def _lines(plan: Plan) -> Iterator[str]:
    return (text for text, _ in tree_lines(plan, inputs, describe))


def _detail(plan: Plan) -> str:
    match plan:
        case Scan():
            return f"{plan.name} (table)" if plan.is_table else plan.name
        case TableChanges():
            return f"by {plan.input.schema.names[plan.sign]}"
        case Window():
            condition = "" if plan.condition is None else f" of {_expression(plan.condition, plan.input)}"
            return f"{plan.shape.text(plan.schema.names)}{condition}"
        case Filter():
            return _expression(plan.predicate, plan.input)
        case Project():
            return ", ".join(_named(e, n, plan.input) for e, n in zip(plan.expressions, plan.names, strict=True))
        case Join():
            return _join(plan)
        case Aggregate():
            return _aggregate(plan)
        case Combine():
            return plan.how.value
        case Minus():
            return " AND ".join(_equalities(plan))
        case Top():
            return _top(plan)
        case AsOf():
            return _as_of(plan)
        case Unnest():
            return f"{'OUTER ' * plan.is_outer}{_named(plan.array, plan.name, plan.input)}"
        case TimePredicate():
            return ", ".join(_computed(plan.input, place) for place in plan.instants)
        case CurrentPeriod():
            return ", ".join(map(_period, plan.periods))
        case Over():
            return _over(plan)
        case Sequence():
            return _sequence(plan)
        case Emit():
            return f"every {duration_text(plan.period)}"
        case Insertions() | Deletions() | Snapshots() | SingleRow():
            return ""


def _equalities(plan: Join | AsOf | Minus | Sequence) -> list[str]:
    pairs = zip(plan.left_keys, plan.right_keys, strict=True)
    return [f"{_origin(plan.left, left)} = {_origin(plan.right, right)}" for left, right in pairs]


def _computed(plan: Plan, place: int) -> str:
    """How a column is computed, where that is known."""
    return _expression(plan.expressions[place], plan.input) if isinstance(plan, Project) else _column(plan, place)


def _as_of(plan: AsOf) -> str:
    compared = f"{_origin(plan.left, plan.left_at)} {plan.comparison} {_origin(plan.right, plan.right_at)}"
    return ("LEFT; " if plan.is_outer else "") + " AND ".join([*_equalities(plan), compared])


def _conditions(plan: Join | Sequence) -> str:
    rest = [] if plan.residual is None else [_expression(plan.residual, plan)]
    return " AND ".join([*_equalities(plan), *rest])


def _sequence(plan: Sequence) -> str:
    within = "" if plan.within is None else f"within {duration_text(plan.within)}"
    return "; ".join(part for part in (plan.pairing.value, _conditions(plan), within) if part)


def _top(plan: Top) -> str:
    partition = f"of every {', '.join(_column(plan.input, place) for place in plan.partition)}"
    order = f"by {', '.join(_order(part, plan.input) for part in plan.order)}"
    parts = [
        f"{plan.count} rows" if plan.count > 1 else "1 row",
        f"after {plan.offset}" if plan.offset else "",
        partition if plan.partition else "",
        order if plan.order else "",
        f"numbered AS {plan.numbered}" if plan.numbered else "",
    ]
    return " ".join(part for part in parts if part)


def _over(plan: Over) -> str:
    calls = []
    for call, name in zip(plan.calls, plan.names, strict=True):
        aggregate = _call(call.function, plan.input) if isinstance(call.function, AggregateCall) else ""
        calls.append(_renamed(call_text(call, plan, lambda place: _column(plan.input, place), aggregate), name))
    partition = f"of every {', '.join(_column(plan.input, place) for place in plan.partition)}" if plan.partition else ""
    order = f"by {', '.join(_order(part, plan.input) for part in plan.order)}" if plan.order else ""
    return "; ".join(part for part in (", ".join(calls), " ".join(part for part in (partition, order) if part)) if part)


def _order(order: Order, plan: Plan) -> str:
    nulls = "" if order.nulls_first != order.is_descending else f" NULLS {'FIRST' if order.nulls_first else 'LAST'}"
    return f"{_column(plan, order.column)}{' DESC' if order.is_descending else ''}{nulls}"


def _join(plan: Join) -> str:
    return _conditions(plan) or "(every pair)"


def _aggregate(plan: Aggregate) -> str:
    count = len(plan.keys)
    keys = [_renamed(_column(plan.input, key), name) for key, name in zip(plan.keys, plan.names, strict=False)]
    calls = [
        _renamed(_call(call, plan.input), name) for call, name in zip(plan.calls, plan.names[count:], strict=True)
    ]
    return "; ".join(", ".join(part) for part in (keys, calls) if part)


def _call(call: AggregateCall, plan: Plan) -> str:
    argument = "*" if call.argument is None else _column(plan, call.argument)
    if call.is_distinct:
        argument = f"DISTINCT {argument}"
    second = "" if call.second is None else f", {_column(plan, call.second)}"
    parameter = "" if call.parameter is None else f", {call.parameter!r}"
    return f"{call.function.value}({argument}{second}{parameter})"


def _named(expression: Expression, name: str, plan: Plan) -> str:
    text = _expression(expression, plan)
    is_same = isinstance(expression, Column) and text.rpartition(".")[2] == name
    return text if is_same else _renamed(text, name)


def _renamed(text: str, name: str) -> str:
    return text if text.lower() == name.lower() else f"{text} AS {name}"


def _expression(expression: Expression, plan: Plan) -> str:
    return expression_text(expression, lambda column: _column(plan, column.index))


def _column(plan: Plan, place: int) -> str:
    """A column by its name, with that of its stream where several are joined."""
    return _origin(plan, place) if _is_joined(plan) else plan.schema.names[place]


def _period(period: Period) -> str:
    early = f", {duration_text(period.phase)} early" if period.phase else ""
    return f"every {duration_text(period.length)}{early}"


def _is_joined(plan: Plan) -> bool:
    if isinstance(plan, Join | AsOf | Sequence):
        return True
    if isinstance(plan, Window):
        return isinstance(plan.input, Sequence)
    return isinstance(plan, Filter) and _is_joined(plan.input)


def _origin(plan: Plan, place: int) -> str:
    """`stream.column` where the column comes straight from a stream, else how it is computed, else its name."""
    if isinstance(plan, Join | AsOf | Sequence):
        width = len(plan.left.schema)
        return _origin(plan.left, place) if place < width else _origin(plan.right, place - width)
    if isinstance(plan, Filter | Window):
        return _origin(plan.input, place)
    if isinstance(plan, Project):
        return expression_text(plan.expressions[place], lambda column: _origin(plan.input, column.index))
    if isinstance(plan, Scan):
        return f"{plan.name}.{plan.schema.names[place]}"
    return plan.schema.names[place]
