"""Where rows of a stream enter a shard: stamped, sorted out if late, put into lanes, and held until their instants are final.

Where views may come later, the rows of live windows are remembered here, and all rows of a table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout, forever
from sash.kernels.positions import is_ascending, span_of
from sash.operators.lookback import Lookback
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Port
from sash.runtime.delta_columns import as_columns, from_columns
from sash.runtime.graph import Feed
from sash.runtime.packing import WEIGHT
from sash.runtime.partitions import PARTITION
from sash.runtime.remains import Remains
from sash.runtime.stream_clock import StreamClock
from sash.schema import BEGINNING, FOREVER
from sash.stores.arena import Scope
from sash.stores.history import History, KnownTable
from sash.stores.interner import Interner
from sash.stores.lanes import encode
from sash.stores.queue import DeltaQueue


class Intake:
    """One port of a stream."""

    is_plain = True  # rows wait as they are, in the order in which they came

    def __init__(
        self, port: Port, spec: StreamSpec, clock: StreamClock, scope: Scope, interner: Interner, *, remembers: bool
    ) -> None:
        self.port = port
        self._spec = spec
        self._clock = clock
        self._layout = port.spec.layout
        self._interner = interner
        self._held = DeltaQueue(self._held_layout, scope, interner)
        self._came: list[Delta] = []
        self._are_in_order = False  # whether those that came are one batch that is known to be
        self._seed = Delta.empty(self._layout.width)
        self.kept = Lookback()  # how much of the past is to be remembered
        is_table, is_stream = remembers and spec.is_table, remembers and not spec.is_table
        self._table = KnownTable(self._layout, scope.scope("table"), interner) if is_table else None
        self._history = History(self._layout, scope.scope("history"), interner) if is_stream else None

    def take(self, batch: pa.RecordBatch, late_below: int | Int64s, instant: int) -> pa.RecordBatch:
        """Take rows in and give back those that came too late; changes of a table happen at `instant`."""
        ts = self._stamps(batch, instant)
        late, least = batch.slice(0, 0), span_of(ts)[0] if len(ts) else FOREVER
        if isinstance(late_below, np.ndarray) or least < late_below:
            is_late = ts < late_below
            late = batch.filter(pa.array(is_late))
            batch, ts = batch.filter(pa.array(~is_late)), ts[~is_late]
            least = span_of(ts)[0] if len(ts) else FOREVER
        if len(ts):
            self._took(least)
            rows = encode(batch.columns[: len(self._held_layout.schema)], self._held_layout, self._interner)
            self._are_in_order = False
            self._came.append(Delta(rows, ts, forever(len(ts)), self._weights(batch)))
        return late.select(range(len(self._layout.schema)))

    def put(self, came: Delta, *, is_in_order: bool = False) -> None:
        """Take rows of a stream in that are lanes already, with their times, none of them late; its clock knows of them."""
        self._are_in_order = is_in_order and self.is_plain and not self._came
        self._came.append(came)

    def late_example(self, batch: pa.RecordBatch, late_below: int | Int64s) -> tuple[int, int, str | None]:
        """Of the first late one of some rows: its ts, the clock that it came after, and its partition if it has one."""
        ts = self._stamps(batch, BEGINNING)
        place = int(np.argmax(ts < late_below))
        partition = batch.column(PARTITION)[place].as_py() if PARTITION in batch.schema.names else None
        return int(ts[place]), int(np.broadcast_to(late_below, len(ts))[place]), partition

    def _took(self, first: int) -> None:
        if not self._spec.is_table:
            self._clock.took(first)

    def feed(self, clock: int) -> Feed:
        """What is final before `clock`, in the order of (ts, position)."""
        delta = self._due(clock)
        if self._table is not None:
            self._table.append(delta)
        if self._history is not None:
            self._history.append(delta)
        return Feed(delta, clock)

    @property
    def has_grown(self) -> bool:
        """Whether so much has come that it is time to forget something."""
        return self._table is not None or (self._history is not None and self._history.has_grown)

    def forget(self, least_clock: int) -> None:
        """What no window of a view holds need not be remembered; `least_clock` is that of all streams."""
        if self._table is not None:
            self._table.settle(least_clock)
        if self._history is not None:
            self._history.forget(least_clock - self.kept.time, self.kept.rows)

    def remembered(self, clock: int) -> Feed:
        """What a view that comes now would have seen."""
        if self._table is not None:
            return Feed(self._table.delta(), clock)
        if self._history is not None:
            return Feed(self._history.delta(), clock)
        seed, self._seed = self._seed, Delta.empty(self._layout.width)
        return Feed(seed, clock)

    def hand_over(self) -> Remains:
        """All that is here, for other shards."""
        known = self._table or self._history
        past = Delta.empty(self._layout.width) if known is None else known.delta()
        held = as_columns(self._held.peek(), self._held_layout, self._interner)
        return Remains(held, as_columns(past, self._layout, self._interner), self.since, self.forgotten, self.begin)

    def take_over(self, remains: Remains) -> None:
        """What others have handed over."""
        self._held.replace(self._merged(from_columns(remains.held, self._held_layout, self._interner)))
        past = in_order(from_columns(remains.past, self._layout, self._interner))
        if self._table is not None:
            self._table.append(past)
        if self._history is not None:
            self._history.restore(past, remains.since, remains.forgotten)

    @property
    def begin(self) -> int | None:
        """Of one that gives times to rows: the first."""
        return None

    @property
    def since(self) -> int:
        """All rows from this instant on are remembered."""
        return FOREVER if self._history is None else self._history.since

    @property
    def rows(self) -> int:
        """How many rows are remembered."""
        return 0 if self._history is None else len(self._history)

    @property
    def held(self) -> int:
        """How many rows wait for their instant."""
        return len(self._held)

    @property
    def forgotten(self) -> int:
        """How many rows came before those that are remembered."""
        return 0 if self._history is None else self._history.forgotten

    def missed_before(self, greatest: int) -> None:
        """Rows up to this instant may never have come here."""
        if self._history is not None and greatest > BEGINNING:
            self._history.begin(greatest + 1)

    def seed(self, batch: pa.RecordBatch) -> None:
        """The rows of a table, as they were before anybody read it."""
        rows = encode(batch.columns, self._layout, self._interner)
        ones = np.ones(len(rows), np.int64)
        seed = Delta(rows, ones * BEGINNING, ones * FOREVER, ones)
        if self._table is not None:
            self._table.append(seed)
        else:
            self._seed = Delta.concatenate([self._seed, seed], self._layout.width)

    @property
    def _held_layout(self) -> Layout:
        """Of rows that wait."""
        return self._layout

    def _due(self, clock: int) -> Delta:
        if not self._came:
            return self._held.take(clock)
        if self._are_in_order and len(self._came) == 1:
            passed = self._held.pass_on(self._came[0].rows, self._came[0].ts, clock)
            if passed is not None:
                self._came.clear()
                return passed
        width = self._held_layout.width
        came, self._came = self._in_order(Delta.concatenate(self._came, width)), []
        first: int = came.ts.item(0)
        if self._is_before(first, self._held.last):
            self._held.replace(self._merged(Delta.concatenate([self._held.peek(), came], width)))
        elif first < clock:
            return self._take_both(came, clock)
        else:
            self._held.append(came)
        return self._held.take(clock)

    def _take_both(self, came: Delta, clock: int) -> Delta:
        """What waits is over, and most of what came: only the rest of it goes through the queue."""
        over, rest = came.split(clock)
        waited = self._held.take(clock)
        self._held.append(rest)
        return Delta.concatenate([waited, over], self._held_layout.width)

    def _is_before(self, came: int, held: int) -> bool:
        """Whether a row that came goes before one that waits: those of one instant are in the order of their steps."""
        return came < held

    def _merged(self, both: Delta) -> Delta:
        return in_order(both)

    def _in_order(self, came: Delta) -> Delta:
        """The rows of a step, which came split by split."""
        return in_order(came)

    def _stamps(self, batch: pa.RecordBatch, instant: int) -> Int64s:
        if self._spec.is_table:
            return np.full(batch.num_rows, instant)
        place = self._spec.timestamp if self._spec.stamp is Stamp.EXTERNAL else len(self._layout.schema)
        return np.array(batch.column(place).view(pa.int64()), np.int64)

    def _weights(self, batch: pa.RecordBatch) -> Int64s:
        if WEIGHT not in batch.schema.names:
            return np.ones(batch.num_rows, np.int64)
        return np.array(batch.column(WEIGHT), np.int64)


def in_order(delta: Delta) -> Delta:
    """Sorted by ts, rows of one instant as they came."""
    if is_ascending(delta.ts):
        return delta
    return delta.take(np.argsort(delta.ts, kind="stable"))
