"""Time-messages and piggybacking (seed 000, 5 and 6).

Delta rule:  Announce: as the input, and a message at every instant at which a row leaves
             MessageJoin, MessageLookup: as Join and Lookup; of the messages those go on that a pair leaves by
             MessageExpire: + at ts; - at expiry, once a message, or a row that stands for one, has come
State:       Announce: the instants at which rows leave, not the rows
             MessageJoin: as Join, every row with the number of pairs that leave with it
             MessageLookup: the table; the instants at which rows leave that were joined
             MessageExpire: the rows that are alive
Output:      rows that carry their expiry, and messages; MessageExpire: signed

Where messages are merged, a change takes the place of the message before it in the arc, and stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Delta
from sash.kernels.bundles import Bundle
from sash.operators.expiry.expire import ExpireByCalendar, ExpireInOrder
from sash.operators.expiry.kernels import messages as kernel
from sash.operators.expiry.kernels.message_join import AnnouncedJoin, join_announced
from sash.operators.expiry.message_stores import InstantHeap, InstantList, NoInstants, PairLog
from sash.operators.join.operator import Join
from sash.operators.join.sides import Sides
from sash.operators.operator import Operator, OperatorContext, Timeless
from sash.operators.output_chunks import OutputChunks
from sash.plan.patterns import Pattern
from sash.stores.bag import KeyedBag

if TYPE_CHECKING:
    from sash.operators.expiry.spec import AnnounceSpec, MessageExpireSpec
    from sash.operators.join.spec import MessageJoinSpec
    from sash.operators.lookup.spec import MessageLookupSpec


class Announce(Operator):
    """Say when rows leave."""

    def __init__(self, spec: AnnounceSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        is_in_order = spec.pattern is Pattern.WEAKEST
        self._kernel = kernel.announce_in_order if is_in_order else kernel.announce_by_heap
        self._leaving = (InstantList if is_in_order else InstantHeap)(context.scope, merges=spec.merges)

    @property
    def kept(self) -> int:
        return len(self._leaving)

    def due(self) -> int:
        return self._leaving.first

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._leaving.reserve(len(delta))
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta), expires=True)
        while cursor[0] <= len(delta):
            out = pieces.next()
            out.add(
                self._kernel(
                    delta.rows, delta.ts, delta.expiry, delta.weight, now, cursor, self.layout.values,
                    self._leaving.registers, self._leaving.instants, *out.room,
                )
            )
        return pieces.delta()


class MessageJoin(Join):
    """Pair arriving rows; let messages pass."""

    LOG = PairLog

    def __init__(self, spec: MessageJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec, context)
        self.in_parts = not spec.merges
        is_in_order = spec.left.pattern is Pattern.WEAKEST and spec.right.pattern is Pattern.WEAKEST
        self._joined = (NoInstants if is_in_order else InstantHeap)(context.scope.scope("joined"), merges=spec.merges)
        logs = [log.bundle for log in self._logs]
        self._bundle = Bundle(AnnouncedJoin, self._sides.bundle, *logs, self._joined.registers, self._joined.instants)

    @property
    def kept(self) -> int:
        return super().kept + len(self._joined)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        self.probes -= sum(len(delta) - int(np.count_nonzero(delta.weight)) for delta in inputs)  # messages look at nobody
        return super().run(inputs, now, begin)

    def _join(self, left: Delta, right: Delta, pieces: OutputChunks) -> Iterator[None]:
        l_log, r_log = self._logs
        reached = int(self._joined.registers[kernel.REACHED])
        l_log.reserve(len(left), reached)
        r_log.reserve(len(right), reached)
        self._joined.reserve(len(l_log) + len(r_log) + len(left) + len(right))
        self._bundle.replace(heap=self._joined.instants)
        self._sides.start(len(left), len(right))
        while not self._sides.is_done:
            out = pieces.next()
            out.add(
                join_announced(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.expiry, right.weight,
                    self._bundle.record, *out.room,
                )
            )
            yield


class MessageLookup(Timeless):
    """Pair arriving rows with a table; let the messages of those pass that were paired."""

    def __init__(self, spec: MessageLookupSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._sides = Sides(spec, spec.left_keys, spec.right_keys)
        self._table = KeyedBag(spec.right.layout, self._sides.right.lanes, context.scope, context.interner)
        self._joined = InstantHeap(context.scope.scope("joined"), merges=spec.merges)
        joined = self._joined.registers, self._joined.instants
        self._bundle = Bundle(kernel.AnnouncedLookup, self._sides.bundle, self._table.bundle, *joined)

    @property
    def kept(self) -> int:
        return len(self._table) + len(self._joined)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        self.probes += int(np.count_nonzero(left.weight))
        self._table.reserve(len(right))
        self._joined.reserve(len(left))
        self._bundle.replace(heap=self._joined.instants)
        self._sides.start(len(left), len(right))
        pieces = OutputChunks(self.layout.width, len(left), expires=True)
        while not self._sides.is_done:
            out = pieces.next()
            out.add(
                kernel.look_up_announced(
                    left.rows, left.ts, left.expiry, left.weight, right.rows, right.ts, right.weight, self._bundle.record,
                    *out.room,
                )
            )
        return pieces.delta()


class MessageExpireInOrder(Timeless, ExpireInOrder):
    """For rows that leave in the order in which they came. Only what comes in tells the time, no clock does."""

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        return super().run(inputs, told_until(inputs[0]), begin) if len(inputs[0]) else self.nothing


class MessageExpireByCalendar(Timeless, ExpireByCalendar):
    """For rows that leave in any order. Only what comes in tells the time, no clock does."""

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        return super().run(inputs, told_until(inputs[0]), begin) if len(inputs[0]) else self.nothing


def told_until(delta: Delta) -> int:
    """The instant after the last that a delta tells of."""
    return int(delta.ts[-1]) + 1


def message_expire(spec: MessageExpireSpec, context: OperatorContext) -> Operator:
    kind = MessageExpireByCalendar if spec.input.pattern is Pattern.WEAK else MessageExpireInOrder
    return kind(spec, context)
