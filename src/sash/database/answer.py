"""Answers as users get them. A view is a bag, but the first rows of an order are shown in that order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.database.display import ROWS, html_of, text_of
from sash.errors import harmless
from sash.plan.nodes import Order, Plan, Project, Top
from sash.scalar.nodes import Column

if TYPE_CHECKING:
    import pandas


class Rows:
    """Rows of named columns, which show themselves: what SHOW, DESCRIBE and EXPLAIN give.

    Whatever reads the Arrow stream interface takes them as they are: `pyarrow.table(rows)`, `polars.DataFrame(rows)`, a query of
    DuckDB that names the variable.
    """

    def __init__(self, table: pa.Table, shown: int | None = ROWS) -> None:
        self._table = table
        self._most = shown  # rows in a picture of it

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._table.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table; nothing is copied."""
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a DataFrame of pandas."""
        return self._table.to_pandas()

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        rows: list[dict[str, Any]] = self._table.to_pylist()
        return rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Row by row, each a dictionary."""
        return (row for batch in self._table.to_batches() for row in batch.to_pylist())

    def __repr__(self) -> str:
        return self.text(self._most)

    def text(self, most: int | None) -> str:
        """Title, names and rows for a terminal; at most so many rows, None: all."""
        return text_of(self._table, self._title, most)

    def _repr_html_(self) -> str:
        return html_of(self._table, self._title, self._most)

    @property
    def _title(self) -> str:
        return _counted(len(self))


class Answer(Rows):
    """The rows of a view at one instant.

    `as_of` is that instant, None before the first row. `is_final` says whether it is settled for good: no row that is still to
    come can change what the view held then.
    """

    def __init__(self, name: str, table: pa.Table, as_of: datetime | None, *, is_final: bool) -> None:
        super().__init__(table)
        self.name = name
        self.as_of = as_of
        self.is_final = is_final

    @property
    def _title(self) -> str:
        when = "before the first row" if self.as_of is None else f"at {self.as_of}"
        return f"{harmless(self.name)}: {_counted(len(self))} {when}, {'final' if self.is_final else 'not final'}"


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def in_order(rows: pa.Table, plan: Plan) -> pa.Table:
    """The rows of a plan in the order that it asks for, if it does."""
    return ordered(rows, order_of(plan))


def ordered(rows: pa.Table, order: Sequence[Order]) -> pa.Table:
    """Rows in an order, equal ones by the full row."""
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
