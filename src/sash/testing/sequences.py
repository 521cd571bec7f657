"""FOLLOWED BY, straight from its definition.

    RECENT       every right row with the youngest left row before it that it may meet
    CHRONICLE    one to one: every right row, in order, with the oldest left row that is not used up

Pairs of one instant come in the order of their full row, as all derived rows do.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pyarrow as pa

from sash.plan.nodes import Pairing
from sash.testing.recompute import Windowed
from sash.testing.values import order
from sash.testing.windows import Arrival


def pairs(
    left: Sequence[Arrival], right: Sequence[Arrival], meeting: set[tuple[int, int]], pairing: Pairing,
    within: int | None,
) -> list[Arrival]:  # fmt: skip
    """The pairs as a stream; `meeting` are the places of the left and right rows that fulfil the condition."""
    used: set[int] = set()
    found = []
    for place, arrival in enumerate(right):
        choices = [n for n, other in enumerate(left) if (n, place) in meeting and _is_before(other, arrival, within)]
        if pairing is Pairing.CHRONICLE:
            choices = [n for n in choices if n not in used][:1]
        if choices:
            used.add(choices[-1])
            found.append(Arrival(arrival.ts, left[choices[-1]].row + arrival.row))
    return sorted(found, key=lambda pair: (pair.ts, order(pair.row)))


def _is_before(left: Arrival, right: Arrival, within: int | None) -> bool:
    return left.ts <= right.ts and (within is None or right.ts - left.ts < within)


class Half:
    """Some columns of what a window holds, in the order of its rows."""

    def __init__(self, whole: Windowed, columns: slice) -> None:
        self._whole = whole
        self._columns = columns

    def instants(self) -> set[int]:
        return self._whole.instants()

    def signature(self, now: int) -> Hashable:
        return self._whole.signature(now)

    def table(self, now: int) -> pa.Table:
        table = self._whole.table(now)
        places = list(range(table.num_columns))[self._columns]
        return table.select(places)
