"""Questions about rows of one view: SELECT expressions FROM view WHERE conditions ORDER BY … LIMIT …

    conditions on columns ─▶ tested where the rows of the answer lie; a key is looked up
    all else              ─▶ expressions over the columns of the rows that are left

So a row that is looked up by its key costs nothing but itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sash.database.access import Choice, Chooser
from sash.database.answer import ordered
from sash.deltas import Layout
from sash.operators.filter.conditions import parted
from sash.plan.nodes import Filter, Order, Plan, Project, Scan, Top
from sash.plan.rules.conditions import conjuncts
from sash.runtime.live import in_row_order, named
from sash.scalar.evaluate import Failures, evaluate
from sash.scalar.nodes import Call, Column, Expression
from sash.schema import Schema
from sash.sql.questions import Question
from sash.stores.view_index import IndexShape

Step = Expression | tuple[Expression, ...]  # a filter, or a projection


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows of a view: those with some conditions true, then step by step, then the first ones of an order."""

    view: str
    layout: Layout  # of the rows of the view
    conditions: tuple[Call, ...]
    steps: tuple[Step, ...]
    filters: tuple[Expression, ...]  # all that is asked before any other step: the conditions, and what they are tied to by AND
    question: Question

    def chooser(self) -> Chooser:
        """Of the index that it is answered by."""
        plan = self.question.plan
        order = self._order_of_view() if isinstance(plan, Top) else None
        first = plan.offset + plan.count if isinstance(plan, Top) and order else None
        return Chooser(self.layout, self.filters, order or (), first)

    def choices(self, indexes: Iterable[IndexShape]) -> list[Choice]:
        return self.chooser().choices(indexes)

    def wished(self) -> Iterable[IndexShape]:
        return self.chooser().wished()

    def _order_of_view(self) -> list[Order] | None:
        """ORDER BY in columns of the view, as far as they are; None if rows are left out between them."""
        projections = [step for step in self.steps if isinstance(step, tuple)]
        if len(projections) + bool(self._rest) < len(self.steps):
            return None
        order: list[Order] = []
        for part in self.question.order:
            column = _beneath(part.column, projections)
            if column is None:
                break
            order.append(Order(column, part.is_descending, part.nulls_first))
        return order

    @property
    def _rest(self) -> bool:
        """Whether the first step is a part of the filters."""
        return len(self.conditions) < len(self.filters)

    def answer(self, columns: Sequence[pa.Array]) -> pa.Table:
        """Of the columns of the rows for which the conditions are true."""
        count = len(columns[0]) if columns else 0
        for step in self.steps if count else ():
            columns = _stepped(step, columns, count)
            count = len(columns[0])
        plan, shown = self.question.plan, list(self.question.shown)
        if not count:
            return self.question.schema.arrow.empty_table()
        rows = self._in_order(columns, plan.schema)
        if isinstance(plan, Top):
            rows = rows.slice(plan.offset, plan.count)
        return rows if len(shown) == rows.num_columns else rows.select(shown)

    def _in_order(self, columns: Sequence[pa.Array], schema: Schema) -> pa.Table:
        """Whatever the order is, equal rows are in that of the full row."""
        if not self.question.order:
            return in_row_order(columns, schema)
        names = [str(place) for place in range(len(columns))]
        return named(ordered(pa.Table.from_arrays(columns, names=names), self.question.order), schema)


def selection_of(question: Question) -> Selection | None:
    """A question as a selection, if it is one."""
    plan, chain = question.plan, list[Filter | Project]()
    if question.as_of is not None:
        return None
    if isinstance(plan, Top):
        if plan.partition or plan.numbered is not None:
            return None
        plan = plan.input
    while isinstance(plan, Filter | Project):
        chain.append(plan)
        plan = plan.input
    if not isinstance(plan, Scan) or [view.name for view in question.views] != [plan.name] or not _has_columns(question.plan):
        return None
    upwards = [part for part in reversed(chain) if not _is_identity(part)]
    conditions: Sequence[Call] = ()
    filters: tuple[Expression, ...] = ()
    steps: list[Step] = [part.predicate if isinstance(part, Filter) else part.expressions for part in upwards]
    if upwards and isinstance(upwards[0], Filter):
        conditions, rest = parted(upwards[0].predicate)
        filters = tuple(conjuncts(upwards[0].predicate))
        steps[0:1] = [] if rest is None else [rest]
    return Selection(plan.name, Layout(plan.schema), tuple(conditions), tuple(steps), filters, question)


def column_beneath(column: int, selection: Selection) -> int | None:
    """Which column of the view one of a selection is, if it is one."""
    return _beneath(column, [step for step in selection.steps if isinstance(step, tuple)])


def _beneath(column: int, projections: Sequence[tuple[Expression, ...]]) -> int | None:
    """Which column of the first input one of the last output is, if it is one."""
    for projection in reversed(projections):
        expression = projection[column]
        if not isinstance(expression, Column):
            return None
        column = expression.index
    return column


def _has_columns(plan: Plan) -> bool:
    """Rows without columns are counted otherwise."""
    return len(plan.schema) > 0


def _is_identity(part: Filter | Project) -> bool:
    places = range(len(part.input.schema))
    return isinstance(part, Project) and [one.index if isinstance(one, Column) else -1 for one in part.expressions] == [*places]


def _stepped(step: Step, columns: Sequence[pa.Array], count: int) -> Sequence[pa.Array]:
    known = dict(enumerate(columns))
    if isinstance(step, tuple):
        return [columns[one.index] if isinstance(one, Column) else evaluate(one, known, count, Failures()) for one in step]
    is_true = evaluate(step, known, count, Failures())
    return [column.filter(is_true, null_selection_behavior="drop") for column in columns]
