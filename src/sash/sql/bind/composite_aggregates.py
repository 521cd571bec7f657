"""Aggregates that are made of others before rows are grouped.

    STRING_AGG(x ORDER BY y)     rows are numbered in that order within their group; then x in the order of the numbers
    ARRAY_AGG(x ORDER BY y)      the same
    MODE() ... (ORDER BY x)      rows are counted by group and x; then the x beside the greatest count, joined with the group
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.nodes import Aggregate, Filter, Order, Plan, Project
from sash.plan.over import Frame, Over, OverCall, Unit, WindowFunction
from sash.scalar import build
from sash.scalar.nodes import Expression, Leaf, Literal
from sash.schema import BIGINT
from sash.sql.bind import semi_and_outer_joins as matches
from sash.sql.bind.aggregate_syntax import BoundCall
from sash.sql.bind.joins import Part, with_columns
from sash.sql.bind.projections import columns, project
from sash.sql.bind.references import AddedColumn, RightPlace, on_right


def with_numbers(part: Part, keys: Sequence[Expression], calls: Sequence[BoundCall]) -> tuple[Part, list[BoundCall]]:
    """The rows with a number for every call that has an order, and the calls that read it."""
    found = []
    for place, call in enumerate(calls):
        if call.order:
            number = AddedColumn(BIGINT, "number", place)
            part, call = _numbered(part, keys, call, number), _by_number(call, number)
        found.append(call)
    return part, found


def _numbered(part: Part, keys: Sequence[Expression], call: BoundCall, number: AddedColumn) -> Part:
    assert call.argument is not None
    read = [*keys, *(each.expression for each in call.order), call.argument]
    part, places = with_columns(part, read)
    partition, ordered = places[: len(keys)], places[len(keys) : -1]
    order = (*(each.at(place) for each, place in zip(call.order, ordered, strict=True)), Order(places[-1]))
    numbers = OverCall(WindowFunction.ROW_NUMBER, Frame(Unit.RANGE, None, 0))
    plan = Over(part.plan, tuple(dict.fromkeys(partition)), order, (numbers,), ("number",))
    return Part(plan, part.places | {number: part.width})


def _by_number(call: BoundCall, number: AddedColumn) -> BoundCall:
    """Rows without a value have no number, and are left out."""
    assert call.argument is not None
    is_there = build.call("is_not_null", [call.argument])
    second = build.call("case", [is_there, number, Literal(None, BIGINT)])
    return replace(call, second=second, order=())


def with_modes(groups: Aggregate, modes: Sequence[tuple[int, AggregateCall]]) -> Plan:
    """Groups with a mode more at each of these places among their calls; both are over the same input."""
    part, width = Part(groups, {place: place for place in range(len(groups.schema))}), len(groups.keys)
    shown: list[Leaf] = list(columns(groups))
    for n, (place, call) in enumerate(modes, 1):
        found = _mode(groups.input, groups.keys, call)
        right = Part(found, {RightPlace(column, n): column for column in range(len(found.schema))})
        theirs = [on_right(column, n) for column in columns(found)]
        ties = [build.call("null_safe_equal", pair) for pair in zip(columns(groups)[:width], theirs, strict=False)]
        part = (matches.left_outer if ties else matches.inner)(part, right, ties)
        shown.insert(width + place, theirs[-1])
    return project(part.plan, [part.over(each) for each in shown], [each.name for each in shown])


def _mode(plan: Plan, keys: tuple[int, ...], call: AggregateCall) -> Plan:
    """The most frequent value of every group that has one."""
    assert call.argument is not None and call.argument_type is not None
    value = columns(plan)[call.argument]
    kept = tuple(columns(plan)[key] for key in keys)
    names = tuple(column.name for column in (*kept, value))
    rows = Project(Filter(plan, build.call("is_not_null", [value])), (*kept, value), names)
    count = AggregateCall(Function.COUNT, None, None)
    counted = Aggregate(rows, tuple(range(len(names))), (count,), (*names, "rows"))
    *own, number = columns(counted)
    is_last = call.function is Function.MODE_DESC
    rank = number if is_last else build.call("negate", [number])
    ranked = Project(counted, (*own, rank), (*names, "rows"))
    best = AggregateCall(
        Function.MAX_BY if is_last else Function.MIN_BY, len(kept), call.argument_type, second=len(names), second_type=BIGINT
    )
    return Aggregate(ranked, tuple(range(len(kept))), (best,), names)
