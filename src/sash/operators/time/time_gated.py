"""Changes that wait for the time: of tables alone, for a window that rows leave by time.

Delta rule:  as the left input
State:       none; what is ahead of time waits in the arc
Output:      as the left input
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sash.deltas import Delta
from sash.operators.operator import OperatorContext, Timeless

if TYPE_CHECKING:
    from sash.operators.time.spec import TimeGatedSpec


class TimeGated(Timeless):
    """Let pass what is given, which is never more than both inputs have promised."""

    def __init__(self, spec: TimeGatedSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        return inputs[0]
