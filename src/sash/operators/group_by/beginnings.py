"""The one group of an aggregate without GROUP BY: it is there from the first row of its streams on, before it has a row."""

from __future__ import annotations

import numpy as np

from sash.deltas import Delta, Int64s, Layout
from sash.operators.group_by.kernels.registers import BEGUN
from sash.schema import BEGINNING, FOREVER

ALWAYS = -(2**63)


def from_beginning(delta: Delta, now: int, begin: int | None, registers: Int64s, layout: Layout) -> tuple[Delta, int]:
    """What such an aggregate takes in, and from which instant on it shows something; the beginning is noted."""
    if registers[BEGUN]:
        return delta, ALWAYS
    if begin is None or begin >= now:
        return delta, FOREVER
    registers[BEGUN] = 1
    return _with_beginning(delta, begin, layout), begin


def due(registers: Int64s) -> int:
    """Until it has begun it sees every move of time."""
    return FOREVER if registers[BEGUN] else BEGINNING


def _with_beginning(delta: Delta, begin: int, layout: Layout) -> Delta:
    """A row of NULLs and no weight at the beginning: it changes nothing, but the one group is there."""
    row = np.zeros((1, layout.width), np.int64)
    row[0, layout.values :] = -1
    stamp = np.array([begin], np.int64)
    nothing = Delta(row, stamp, np.array([FOREVER], np.int64), np.zeros(1, np.int64))
    before, after = delta.split(begin)
    return Delta.concatenate([before, nothing, after], layout.width)
