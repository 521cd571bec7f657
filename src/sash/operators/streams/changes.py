"""What enters or leaves a relation, as a stream.

Delta rule:  net changes of every instant; Insertions gives only what comes, Deletions what goes, once for every unit of weight
State:       none
Output:      a stream
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.operators.net_changes import NetChanges, repeat
from sash.operators.operator import OperatorContext, Timeless

if TYPE_CHECKING:
    from sash.operators.streams.spec import DeletionsSpec, InsertionsSpec


class Insertions(Timeless):
    """The rows that enter a relation, as a stream."""

    def __init__(self, spec: InsertionsSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._net = NetChanges(spec.layout, context.interner)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        net = self._net.per_instant(inputs[0])
        return repeat(net, np.maximum(net.weight, 0))


class Deletions(Timeless):
    """The rows that leave a relation, as a stream."""

    def __init__(self, spec: DeletionsSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._net = NetChanges(spec.layout, context.interner)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        net = self._net.per_instant(inputs[0])
        left = Delta(net.rows, net.ts, net.expiry, -net.weight)
        return repeat(left, np.maximum(left.weight, 0))
