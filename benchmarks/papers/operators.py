"""Operators over the stores of the papers, which only the patterns benchmark runs. Each gives what its twin in the engine gives.

    ListExpire        Expire        one list, scanned at every unit of time (direct)
    PartitionExpire   Expire        partitions by expiration (update-pattern-aware)
    BucketJoin        Join          rows that carry their expiry, in a fixed number of buckets
    SignedBucketJoin  SignedJoin    negative rows are joined as positive ones are
    ListDistinct      Distinct      plain: input and output stored; delta-star: the output, and the youngest copy of each row
    BucketDistinct    GroupBy       input and output in buckets, of signed changes
    BucketResult      none          the answer, in buckets by key, from which negative rows take theirs out
    PartitionResult   none          the answer, in partitions by expiration, which are scanned for what leaves early
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers import distinct_kernels as list_distinct
from benchmarks.papers import kernels as lists
from benchmarks.papers.specs import (
    BucketDistinctSpec,
    BucketResultSpec,
    ListDistinctSpec,
    ListExpireSpec,
    PartitionExpireSpec,
    PartitionResultSpec,
    SignedBucketJoinSpec,
)
from benchmarks.papers.store import BucketLog, ChainedLists, ScannedList
from sash.deltas import Delta, Int64s
from sash.kernels.pairs import LEFT, RIGHT
from sash.operators.join.operator import Join
from sash.operators.join.sides import Side, pair_shape
from sash.operators.operator import Operator, OperatorContext, Timeless
from sash.operators.output_chunks import OutputChunks


class ListExpire(Operator):
    """Scan for what has expired."""

    def __init__(self, spec: ListExpireSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._tick = spec.tick
        self._list = ScannedList(spec.layout, context.scope, context.interner)
        if not self._list.registers[lists.TICK]:
            self._list.registers[lists.TICK] = spec.start

    @property
    def kept(self) -> int:
        return len(self._list)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._list.reserve(len(delta))
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[0] <= len(delta):
            out = pieces.next(len(self._list) + len(delta) + 2)
            rows, ts, _, weight = out.room
            out.add(
                lists.expire_list(
                    delta.rows, delta.ts, delta.expiry, delta.weight, now, cursor, self._tick, self._list.registers,
                    self._list.lines, rows, ts, weight,
                )
            )
        return pieces.delta()


class PartitionExpire(Operator):
    """Look at the head of a partition for what has expired."""

    def __init__(self, spec: PartitionExpireSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._stretch = _stretch(spec)
        self._lists = ChainedLists(spec.layout, context.scope, context.interner, spec.partitions)

    @property
    def kept(self) -> int:
        return len(self._lists)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._lists.reserve(len(delta))
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[0] <= len(delta):
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(
                lists.expire_partitions(
                    delta.rows, delta.ts, delta.expiry, delta.weight, now, cursor, self._stretch, *self._lists.arrays, rows, ts,
                    weight,
                )
            )
        return pieces.delta()


class BucketJoin(Join):
    """Pair rows that carry their expiry."""

    LOG = BucketLog


class SignedBucketJoin(Timeless):
    """Pair changes of either sign."""

    def __init__(self, spec: SignedBucketJoinSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._shape = pair_shape(spec)
        self._sides = Side(spec.left.layout, spec.left_keys), Side(spec.right.layout, spec.right_keys)
        self._all = np.arange(spec.left.layout.width), np.arange(spec.right.layout.width)
        self._stores = (
            ChainedLists(spec.left.layout, scope.scope("left"), interner),
            ChainedLists(spec.right.layout, scope.scope("right"), interner),
        )

    @property
    def kept(self) -> int:
        return sum(map(len, self._stores))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        left, right = inputs
        self.probes += len(left) + len(right)
        for store, delta in zip(self._stores, inputs, strict=True):
            store.reserve(len(delta))
        (l_side, r_side), (l_store, r_store) = self._sides, self._stores
        cursor, pieces = np.zeros(3, np.int64), OutputChunks(self.layout.width, len(left) + len(right))
        while cursor[LEFT] < len(left) or cursor[RIGHT] < len(right):
            out = pieces.next()
            rows, ts, _, weight = out.room
            out.add(
                lists.join_buckets(
                    left.rows, left.ts, left.weight, right.rows, right.ts, right.weight, l_side.lanes, r_side.lanes,
                    l_side.masks, r_side.masks, *self._all, self._shape, cursor, *l_store.arrays, *r_store.arrays, rows, ts,
                    weight,
                )
            )
        return pieces.delta()


class ListDistinct(Operator):
    """Scan the output for every row that comes."""

    def __init__(self, spec: ListDistinctSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._scope, self._is_plain = context.scope, spec.is_plain
        self._lanes = np.arange(spec.layout.width)
        self._output = ScannedList(spec.layout, context.scope.scope("result"), context.interner)
        self._inputs = context.scope.array("inputs", 2)
        self._stored = context.scope.array("stored", (2 if spec.is_plain else 1, spec.layout.width + 1))

    @property
    def kept(self) -> int:
        return len(self._output) + int(self._inputs[lists.COUNT] - self._inputs[list_distinct.FIRST])

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._output.reserve(len(delta))
        self._make_room(len(delta))
        cursor, pieces = np.zeros(1, np.int64), OutputChunks(self.layout.width, 2 * len(delta))
        while cursor[0] <= len(delta):
            out = pieces.next(len(self._output) + len(delta) + 3)
            rows, ts, _, weight = out.room
            out.add(
                list_distinct.distinct_list(
                    delta.rows, delta.ts, delta.expiry, now, cursor, self._lanes, self._output.registers, self._output.lines,
                    self._inputs, self._stored, rows, ts, weight,
                )
            )
        return pieces.delta()

    def _make_room(self, extra: int) -> None:
        first, count, room = int(self._inputs[list_distinct.FIRST]), int(self._inputs[lists.COUNT]), len(self._stored)
        if not self._is_plain or count - first + extra <= room:
            return
        numbers = np.arange(first, count)
        kept = self._stored[numbers & (room - 1)]
        self._stored = self._scope.resize("stored", 1 << (count - first + extra - 1).bit_length())
        self._stored[numbers & (len(self._stored) - 1)] = kept


class BucketDistinct(Timeless):
    """Walk the buckets of input and output for every change."""

    def __init__(self, spec: BucketDistinctSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        scope, interner = context.scope, context.interner
        self._lanes = np.arange(spec.layout.width)
        self._stores = (
            ChainedLists(spec.layout, scope.scope("input"), interner), ChainedLists(spec.layout, scope.scope("result"), interner)
        )

    @property
    def kept(self) -> int:
        return sum(map(len, self._stores))

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        for store in self._stores:
            store.reserve(len(delta))
        input_, output = self._stores
        out = Delta.room(len(delta), self.layout.width)
        count = list_distinct.distinct_buckets(
            delta.rows, delta.ts, delta.weight, self._lanes, *input_.arrays, *output.arrays, out.rows, out.ts, out.weight
        )
        return out.slice(0, count)


class BucketResult(Timeless):
    """Keep the answer, by key."""

    def __init__(self, spec: BucketResultSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._key: Int64s = Side(spec.layout, spec.keys).lanes
        self._lanes = np.arange(spec.layout.width)
        self._lists = ChainedLists(spec.layout, context.scope, context.interner)

    @property
    def kept(self) -> int:
        return len(self._lists)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._lists.reserve(len(delta))
        lists.keep_in_buckets(delta.rows, delta.weight, self._key, self._lanes, *self._lists.arrays)
        return delta


class PartitionResult(Timeless):
    """Keep the answer, by expiration."""

    def __init__(self, spec: PartitionResultSpec, context: OperatorContext) -> None:
        super().__init__(spec.layout)
        self._instant, self._longest, self._stretch = spec.layout.lanes[spec.instant], spec.longest, _stretch(spec)
        self._lanes = np.arange(spec.layout.width)
        self._lists = ChainedLists(spec.layout, context.scope, context.interner, spec.partitions)

    @property
    def kept(self) -> int:
        return len(self._lists)

    def run(self, inputs: Sequence[Delta], now: int, begin: int | None) -> Delta:
        (delta,) = inputs
        self._lists.reserve(len(delta))
        lists.keep_in_partitions(
            delta.rows, delta.ts, delta.weight, self._instant, self._longest, self._stretch, self._lanes, *self._lists.arrays
        )
        return delta


def _stretch(spec: PartitionExpireSpec | PartitionResultSpec) -> int:
    """How long a partition reaches: all but the one that time is in hold what is to come."""
    return max(1, -(-spec.longest // (spec.partitions - 1)))
