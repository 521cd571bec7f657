"""Changes of a view that nobody has read yet: lanes, as the engine made them. Who reads them gets Arrow columns.

Lanes of strings are codes, which mean something as long as the interner of the shard knows them: before it forgets any, changes
that are kept are written as columns (`Kept` in `kept.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.border import spread_changes
from sash.kernels.counting import count_units
from sash.operators.net_changes import repeat
from sash.runtime.packets import changes_schema
from sash.schema import Kind, Schema
from sash.stores.interner import Interner
from sash.stores.lanes import decode, plain_array, string_lanes

FEW = 32  # changes that are written into a page
PAGE = 128  # changes
PLAIN = (Kind.BIGINT, Kind.DOUBLE, Kind.TIMESTAMP)  # a lane is a value


class Page:
    """Columns with room for some changes, and one batch over all of them.

    To slice a batch takes a twentieth of the time that it takes to make one. What was given away is never written to again.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._ops, self._columns = np.zeros(PAGE, np.int8), np.zeros((len(schema) - 1, PAGE), np.int64)
        arrays = [plain_array(values, type_) for values, type_ in zip((self._ops, *self._columns), schema.types, strict=True)]
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self._used = 0

    @property
    def has_room(self) -> bool:
        return self._used + FEW <= PAGE

    def write(self, units: Delta) -> pa.RecordBatch | None:
        """Few changes as columns; None if a value is NULL."""
        start, count = self._used, len(units.ts)
        if not spread_changes(units.rows, units.ts, units.weight, start, self._ops, self._columns):
            return None
        self._used += count
        return self._batch.slice(start, count)


class ChangeWriter:
    """Writes changes of a view as columns: _op, _ts, then its own."""

    def __init__(self, schema: Schema, layout: Layout, interner: Interner) -> None:
        self.schema = changes_schema(schema)
        self._layout, self._interner = layout, interner
        self._strings = string_lanes(layout)
        self.has_strings = bool(len(self._strings))
        self.num_columns = len(self.schema)
        self._is_plain = all(type_.kind in PLAIN for type_ in layout.schema.types) and schema.types == layout.schema.types
        self._page: Page | None = None

    def columns(self, units: Delta) -> pa.RecordBatch:
        """Changes whose weights are 1 or -1."""
        if self._is_plain and len(units.ts) <= FEW:
            if self._page is None or not self._page.has_room:
                self._page = Page(self.schema)
            if (batch := self._page.write(units)) is not None:
                return batch
        marks = [plain_array(units.weight.astype(np.int8), pa.int8()), plain_array(units.ts, pa.timestamp("us"))]
        columns = decode(units.rows, self._layout, self._interner)
        return pa.RecordBatch.from_arrays([*marks, *columns], schema=self.schema)

    def size(self, units: Delta) -> int:
        """Bytes of the lanes and of their strings, each time that one occurs: never less than the columns will have."""
        size = 8 * units.rows.size + 16 * len(units.ts)
        if self.has_strings:
            for lane in self._strings:
                size += int(self._interner.lengths[units.rows[:, lane]].sum())
        return size


@dataclass(eq=False, slots=True)
class LaneChanges:
    """Changes with weights 1 or -1, in order, which nobody changes. To those who keep batches it is one."""

    units: Delta
    writer: ChangeWriter
    nbytes: int
    num_rows: int

    @staticmethod
    def of(net: Delta, writer: ChangeWriter) -> LaneChanges:
        """Of net changes, each of which may stand for several."""
        count = count_units(net.weight)
        units = owned(net if count == len(net.ts) else repeat(net, np.abs(net.weight)))
        size = writer.size(units) if writer.has_strings else 8 * units.rows.size + 16 * count
        return LaneChanges(units, writer, size, count)

    @property
    def num_columns(self) -> int:
        return self.writer.num_columns

    def slice(self, start: int) -> LaneChanges:
        """From a place on."""
        if not start:
            return self
        units = self.units.slice(start, self.num_rows)
        return LaneChanges(units, self.writer, self.writer.size(units), self.num_rows - start)

    def end(self, start: int) -> LaneChanges:
        """The same, copied, so that those before it are gone."""
        units = self.units.slice(start, self.num_rows).copy()
        return LaneChanges(units, self.writer, self.writer.size(units), self.num_rows - start)

    def columns(self, start: int = 0) -> pa.RecordBatch:
        """As Arrow columns, from a place on."""
        return self.writer.columns(self.units.slice(start, len(self.units)) if start else self.units)


def joined(parts: Sequence[LaneChanges]) -> LaneChanges:
    """One after the other, all of one view."""
    units = [part.units for part in parts]
    rows, ts = np.concatenate([one.rows for one in units]), np.concatenate([one.ts for one in units])
    whole = Delta(rows, ts, forever(len(ts)), np.concatenate([one.weight for one in units]))
    return LaneChanges(whole, parts[0].writer, sum([part.nbytes for part in parts]), len(ts))


def owned(delta: Delta) -> Delta:
    """Changes that can be kept: in memory of their own, and not as a small part of what a step needed."""
    if delta.rows.base is None and delta.ts.base is None and delta.weight.base is None:
        return delta
    return Delta(_owned(delta.rows), _owned(delta.ts), delta.expiry, _owned(delta.weight))


def _owned(array: Int64s) -> Int64s:
    base = array.base
    is_own = base is None or (isinstance(base, np.ndarray) and base.base is None and base.nbytes <= 2 * array.nbytes)
    return array if is_own else array.copy()
