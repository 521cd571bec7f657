"""Lanes of rows as lanes of columns: the way out of the engine."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import kernel


@kernel
def spread_lanes(rows: Int64s, columns: Int64s) -> bool:
    """Write the first lanes of every row as columns, one line each; whether any of the other lanes has a bit set."""
    bits = 0
    for i in range(len(rows)):
        for lane in range(len(columns)):
            columns[lane, i] = rows[i, lane]
        for lane in range(len(columns), rows.shape[1]):
            bits |= rows[i, lane]
    return bits != 0
