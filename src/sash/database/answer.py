"""Answers as users get them. A view is a bag, but the first rows of an order are shown in that order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.nodes import Order, Plan, Project, Top
from sash.scalar.nodes import Column


class Answer:
    """The answer of a view at the moment it was asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pylist(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.to_pylist()
        return rows

    def to_pandas(self) -> Any:
        return self._table.to_pandas()

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return str(self._table)


def in_order(rows: pa.Table, plan: Plan) -> pa.Table:
    """The rows of a plan in the order that it asks for, if it does; equal ones by the full row."""
    order = order_of(plan)
    if not order or rows.num_rows < 2:
        return rows
    ties = [Order(column) for column in range(rows.num_columns)]
    keys = [key for part in (*order, *ties) for key in _keys(rows.column(part.column), part)]
    if not keys:
        return rows
    directions = [(str(place), direction) for place, (_, direction) in enumerate(keys)]
    table = pa.table([values for values, _ in keys], names=[name for name, _ in directions])
    return rows.take(pc.sort_indices(table, sort_keys=directions))


def order_of(plan: Plan) -> Sequence[Order]:
    """ORDER BY of the outermost query with a LIMIT, as far as the columns that it names are shown."""
    if isinstance(plan, Top):
        return () if plan.partition else plan.order
    if not isinstance(plan, Project):
        return ()
    places = {part.index: place for place, part in reversed([*enumerate(plan.expressions)]) if isinstance(part, Column)}
    order = []
    for part in order_of(plan.input):
        if part.column not in places:
            break
        order.append(Order(places[part.column], part.is_descending, part.nulls_first))
    return order


def _keys(values: pa.ChunkedArray, order: Order) -> Iterator[tuple[pa.ChunkedArray, str]]:
    """NULL has its own place, NaN is above all numbers; arrays have no order here."""
    if pa.types.is_list(values.type):
        return
    direction = "descending" if order.is_descending else "ascending"
    yield pc.cast(pc.is_null(values), pa.int8()), "descending" if order.nulls_first else "ascending"
    if pa.types.is_floating(values.type):
        yield pc.cast(pc.fill_null(pc.is_nan(values), False), pa.int8()), direction
    yield values, direction
