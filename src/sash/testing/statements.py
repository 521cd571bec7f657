"""Statements on tables, for the oracle: when they take effect in a view, found out from where they stand in the input.

    rows of s, by position      1   3   |   5        a statement that stands at |
    for a view of s             takes effect at 3, whatever the streams of other views have come to

Nothing is shared with the engine but what `plan/times.py` says of the streams that a view reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sash.plan.streams import StreamSpec
from sash.plan.times import Time
from sash.schema import BEGINNING, Schema
from sash.testing.arrivals import Rows
from sash.testing.recompute import arrow
from sash.testing.values import Row


@dataclass(frozen=True)
class Statement:
    """Rows enter and leave a table, after so many rows of every stream."""

    table: str
    inserted: Rows = ()
    deleted: Rows = ()
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Came:
    """The rows of a stream as they came: their instants in the order of the source, None where there is none."""

    spec: StreamSpec
    instants: Sequence[int | None]

    def greatest(self, rows: int) -> int:
        return max((ts for ts in self.instants[:rows] if ts is not None), default=BEGINNING)


def instant_of(time: Time, after: Mapping[str, int], streams: Mapping[str, Came]) -> int:
    """The greatest timestamp that these streams had then, or their least clock where that is later."""
    found = {name: streams[name.lower()] for name in time if name}
    if not found:
        return BEGINNING
    greatest = {name: came.greatest(after.get(name, 0)) for name, came in found.items()}
    arrived = max((greatest[name] for name, came in found.items() if came.spec.timestamp is None), default=BEGINNING)
    clocks = [_clock(came.spec, arrived if came.spec.timestamp is None else greatest[name]) for name, came in found.items()]
    return max(*greatest.values(), min(clocks))


def _clock(spec: StreamSpec, greatest: int) -> int:
    if greatest == BEGINNING:
        return BEGINNING
    return greatest + 1 if spec.timestamp is None else greatest - spec.delay


class Changing:
    """A table, by what entered and left it when."""

    def __init__(self, changes: Sequence[tuple[int, Counter[Row]]], schema: Schema) -> None:
        self._changes, self._schema = changes, schema

    def instants(self) -> set[int]:
        return {BEGINNING, *(ts for ts, _ in self._changes)}

    def signature(self, now: int) -> Hashable:
        return sum(ts <= now for ts, _ in self._changes)

    def table(self, now: int) -> pa.Table:
        rows: Counter[Row] = Counter()
        for ts, change in self._changes:
            if ts <= now:
                rows.update(change)
        return arrow(list(rows.elements()), self._schema)
