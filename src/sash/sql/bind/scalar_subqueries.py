"""Subqueries that stand for a value, as one more column of the rows that ask for it.

    (SELECT MAX(y) FROM s WHERE s.k = o.k)        groups by k, joined from the left; a row without a group gets the value
                                                  over no rows: 0 for COUNT, NULL for all other aggregates
    (SELECT y FROM s WHERE s.k = o.k)             NULL without a row; several rows are a failure: NULL, and counted
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.nodes import Aggregate, Filter, Join, Plan, Project, SingleRow, Top
from sash.scalar import build
from sash.scalar.nodes import Column, Expression
from sash.sql.bind import semi_and_outer_joins as matches
from sash.sql.bind.joins import Part, match, with_columns
from sash.sql.bind.outer_columns import is_tied, substituted
from sash.sql.bind.projections import columns
from sash.sql.bind.references import SubqueryResult
from sash.sql.bind.unnest import Tied, over_no_rows, shifted


class Unnester(Protocol):
    """What is asked of the query around a subquery (`subqueries.py`)."""

    @property
    def level(self) -> int: ...

    def beside(self, part: Part, plan: Plan) -> tuple[Tied, list[Expression]]: ...

    def numbered(self, plan: Plan) -> Part: ...

    def moved(self, expression: Expression, by: int) -> Expression: ...


def told(subqueries: Unnester, part: Part, result: SubqueryResult, plan: Plan) -> Part:
    """The rows of a part with the value of a subquery in a last column."""
    level = subqueries.level
    if not is_tied(plan, level):
        single, value = (plan, columns(plan)[0]) if has_one_row(plan) else _counted(Tied(plan, ()))
        return _joined(subqueries, part, result, (Tied(single, ()), []), value, is_always=True)
    above, value = _below_projections(plan)
    if isinstance(above, Aggregate) and not above.keys and is_tied(above.input, level):
        return _grouped(subqueries, part, result, above, value)
    tied, ties = subqueries.beside(part, plan)
    if has_one_row(plan, or_none=True):
        return _joined(subqueries, part, result, (tied, ties), columns(plan)[0], is_always=False)
    single, counted = _counted(tied)
    return _joined(subqueries, part, result, (replace(tied, plan=single), ties), counted, is_always=False)


def _grouped(subqueries: Unnester, part: Part, result: SubqueryResult, plan: Aggregate, value: Expression) -> Part:
    below, ties = subqueries.beside(part, plan.input)
    calls = tuple(shifted(call, below.shift) for call in plan.calls)
    names = (*below.plan.schema.names[: below.shift], *plan.names)
    groups = replace(below, plan=Aggregate(below.plan, tuple(range(below.shift)), calls, names))
    shown = substituted(value, lambda leaf: over_no_rows(plan.calls[leaf.index], leaf) if isinstance(leaf, Column) else leaf)
    return _joined(subqueries, part, result, (groups, ties), shown, is_always=False)


def _joined(
    subqueries: Unnester, part: Part, result: SubqueryResult, found: tuple[Tied, Sequence[Expression]], value: Expression,
    is_always: bool,
) -> Part:  # fmt: skip
    """A part with the value, an expression over what was unnested; `is_always`: there is one row for every row."""
    tied, ties = found
    right = subqueries.numbered(tied.plan)
    wide = match(part, right, ties).pairs() if is_always else matches.left_outer(part, right, ties)
    wide, (place,) = with_columns(wide, [subqueries.moved(value, tied.shift)])
    kept = {key: where for key, where in wide.places.items() if key in part.places}
    return Part(wide.plan, kept | {result: place})


def _counted(tied: Tied) -> tuple[Plan, Expression]:
    """One row for every value of the variables, and the value of the only row it had."""
    place = tied.shift
    type_ = tied.plan.schema.types[place]
    calls = (AggregateCall(Function.ANY_VALUE, place, type_), AggregateCall(Function.COUNT, None, None))
    names = (*tied.plan.schema.names, "rows")
    plan = Aggregate(tied.plan, tuple(range(tied.shift)), calls, names)
    value, rows = columns(plan)[tied.shift :]
    moved = [replace(value, index=0), replace(rows, index=1)]
    return plan, build.call("only_row", moved)


def _below_projections(plan: Plan) -> tuple[Plan, Expression]:
    value: Expression = columns(plan)[0]
    while isinstance(plan, Project):
        shown = plan.expressions
        value = substituted(value, lambda leaf, shown=shown: shown[leaf.index] if isinstance(leaf, Column) else leaf)  # type: ignore[misc]
        plan = plan.input
    return plan, value


def has_one_row(plan: Plan, or_none: bool = False) -> bool:
    """Whether a plan always has one row; with `or_none`, whether it never has more."""
    if isinstance(plan, Project):
        return has_one_row(plan.input, or_none)
    if isinstance(plan, SingleRow) or (isinstance(plan, Aggregate) and not plan.keys):
        return True
    if not or_none:
        return False
    if isinstance(plan, Join):
        return has_one_row(plan.left, True) and has_one_row(plan.right, True)
    if isinstance(plan, Filter):
        return has_one_row(plan.input, True)
    return isinstance(plan, Top) and plan.count == 1 and not plan.partition
