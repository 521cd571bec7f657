"""Arrays taken apart.

Delta rule:  d(unnest(A)) = unnest(dA), row by row: a row that comes or goes does so once for every element
State:       none
Output:      as the input, with the element, and perhaps its place, as last columns; made in pieces
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sash.bounds import check, spend
from sash.deltas import Delta, Int64s
from sash.kernels.rows import copy_lanes
from sash.operators.columns import evaluate_delta
from sash.operators.operator import OperatorContext, Timeless
from sash.scalar.arrays import array_of, combined, list_ends
from sash.stores.lanes import encode_column

if TYPE_CHECKING:
    from sash.operators.unnest.spec import UnnestSpec

ROWS, ELEMENTS = 1 << 13, 1 << 18  # that a piece is made of, at most; but a row is never cut


class Unnest(Timeless):
    """Write every row as often as its array has elements."""

    def __init__(self, spec: UnnestSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._spec, self._input = spec, spec.input.layout
        self._context = context
        columns = range(len(self._input.schema))
        bits = [(*self._input.mask(column), *self.layout.mask(column)) for column in columns]
        self._lanes = np.repeat(np.arange(self._input.values), 2).reshape(-1, 2)
        self._bits = np.array(bits, np.int64).reshape(len(bits), 4)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        pieces = [piece for start in range(0, len(delta), ROWS) for piece in self._pieces(delta.slice(start, start + ROWS))]
        return Delta.concatenate(pieces, self.layout.width)

    def _pieces(self, delta: Delta) -> Iterator[Delta]:
        arrays = evaluate_delta(self._spec.array, delta, self._input, self._context)
        ends = list_ends(arrays)
        counts = np.diff(ends)
        if self._spec.is_outer:
            counts = np.maximum(counts, 1)
        items, start, made = combined(arrays.flatten()), 0, np.cumsum(counts)
        spend(8 * int(made[-1]) * (self.layout.width + 3))
        while start < len(delta):
            check()
            before = made[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(made, before + ELEMENTS, side="right")))
            yield self._piece(delta.slice(start, stop), counts[start:stop], ends[start : stop + 1], items)
            start = stop

    def _piece(self, delta: Delta, counts: Int64s, ends: Int64s, items: pa.Array) -> Delta:
        """`ends` are those of the rows' own elements among all items."""
        owners = np.repeat(np.arange(len(delta)), counts)
        nth = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        missing = nth >= np.diff(ends)[owners]
        whole, width = delta.take(owners), len(self._input.schema)
        rows = np.zeros((len(owners), self.layout.width), np.int64)
        copy_lanes(whole.rows, self._lanes, self._bits, rows)
        elements = items.take(array_of(ends[owners] + nth, pa.int64(), missing))
        encode_column(rows, width, elements, self.layout, self._context.interner)
        if self._spec.place_name is not None:
            places = array_of(nth + 1, pa.int64(), missing)
            encode_column(rows, width + 1, places, self.layout, self._context.interner)
        return whole.with_rows(rows)
