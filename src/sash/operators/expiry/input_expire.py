"""Input-triggered expiration (seed 000, 3.1): rows that carry their expiry become signed changes, some of them late.

Delta rule:  + at ts; - at the first instant, at or after expiry, at which a row comes: here, or to another part of the view
State:       the rows that are alive, as far as has been told
Output:      signed; at the end of the input all that is over leaves
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta, Int64s, forever
from sash.operators.delays import Delays
from sash.operators.expiry.expire import ExpireByCalendar, ExpireInOrder
from sash.operators.operator import AwaitsEnd, OperatorContext
from sash.operators.sets.kernels.combine import merge_changes
from sash.plan.patterns import Pattern
from sash.schema import FOREVER

if TYPE_CHECKING:
    from sash.operators.expiry.spec import InputExpireSpec


class InputExpire(AwaitsEnd):
    """Let rows leave when others come."""

    is_told_its_instant = True

    def __init__(self, spec: InputExpireSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        kind = ExpireByCalendar if spec.input.pattern is Pattern.WEAK else ExpireInOrder
        self._expire = kind(spec, context)
        self.delays: Delays = Delays()
        self.time = spec.time.timed_by

    @property
    def kept(self) -> int:
        return self._expire.kept

    def due(self) -> int:
        return FOREVER if self.end is None else self.end

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        delta = inputs[0]
        instants = np.unique(np.concatenate([one.ts for one in inputs]))
        if self.end is not None and self.end < now:
            instants = np.union1d(instants, [self.end])
        if not len(instants):
            return self.nothing
        # No clock lets a row leave: time is what the instants say.
        told = _with_instants(delta, instants)
        return self._late(self._expire.run([told], int(instants[-1]) + 1, begin), instants)

    def _late(self, out: Delta, instants: Int64s) -> Delta:
        """What leaves does so at the instant that told it."""
        leaves = out.weight < 0
        if not leaves.any():
            self.delays.add_none(len(out))
            return out
        ts = np.where(leaves, instants[np.minimum(np.searchsorted(instants, out.ts), len(instants) - 1)], out.ts)
        self.delays.add(ts - out.ts)
        return Delta(out.rows, ts, out.expiry, out.weight)


def _with_instants(delta: Delta, instants: Int64s) -> Delta:
    """The rows, and before those of every instant one change of no weight."""
    count, width = len(instants), delta.rows.shape[1]
    nothing = Delta(np.zeros((count, width), np.int64), instants, forever(count), np.zeros(count, np.int64))
    if not len(delta) or not count:
        return delta if len(delta) else nothing
    out = Delta.room(count + len(delta), width, expires=True)
    merge_changes(
        nothing.rows, nothing.ts, nothing.expiry, nothing.weight, delta.rows, delta.ts, delta.expiry, delta.weight, out.rows,
        out.ts, out.expiry, out.weight,
    )
    return out
