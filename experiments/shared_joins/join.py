"""Runs a shared join over arrivals, on the simulated clock or the real one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.shared_joins import kernels as kernel
from experiments.shared_joins.streams import Arrivals
from sash.deltas import Int64s
from sash.kernels.bundles import Bundle
from sash.operators.shared_join.throughput import Windows


@dataclass(frozen=True)
class Schedule:
    """Which queue has its turn, and whether a tuple's pairs may go before it is through."""

    name: str
    rule: int
    is_early: bool


LWO = Schedule("LWO", kernel.LWO, is_early=True)
SWF = Schedule("SWF", kernel.SWF, is_early=False)
MQT = Schedule("MQT", kernel.MQT, is_early=True)
SWF_EARLY = Schedule("SWF early", kernel.SWF, is_early=True)  # not in the paper: how much of MQT's lead is its release
MQT_OLDEST = Schedule("MQT, oldest first", kernel.MQT_OLDEST, is_early=True)  # nor is this: ties go to the oldest tuple
SCHEDULES = {one.name: one for one in (LWO, SWF, MQT, SWF_EARLY, MQT_OLDEST)}


@dataclass(frozen=True)
class Clock:
    """`cost` of a tuple that is looked at in nanoseconds; or `speed`, nanoseconds for a thousand cycles of the machine."""

    cost: int = 0
    speed: int = 0


@dataclass(frozen=True)
class Outcome:
    """Times are in nanoseconds of the streams' own time."""

    told: Int64s  # by window
    registers: Int64s
    outputs: list[Int64s]  # by window: (tuple, partner) in the order of release, the last of them where there is not room for all

    @property
    def counts(self) -> Int64s:
        return self.told[:, kernel.COUNT]

    @property
    def means(self) -> list[float]:
        return [float(total) / max(1, count) for count, total in self.told[:, [kernel.COUNT, kernel.SUM]].tolist()]

    @property
    def longest(self) -> list[int]:
        return [int(most) for most in self.told[:, kernel.MOST]]

    def register(self, which: int) -> int:
        return int(self.registers[which])


def run(arrivals: Arrivals, windows: Windows, schedule: Schedule, buckets: int, clock: Clock, kept: int = 0) -> Outcome:
    """One bucket is a join by nested loops. `kept` pairs of every window are there at the end: a power of two, or none."""
    count, rows = len(windows.sizes), len(arrivals.ts)
    options = np.zeros(kernel.OPTIONS, np.int64)
    options[kernel.SCHEDULE], options[kernel.IS_EARLY] = schedule.rule, schedule.is_early
    options[kernel.COST], options[kernel.SPEED], options[kernel.FIRST] = clock.cost, clock.speed, arrivals.first
    options[kernel.ROOM] = kept
    registers, told = np.zeros(kernel.REGISTERS, np.int64), np.zeros((count, kernel.TOLD), np.int64)
    registers[kernel.NOW] = arrivals.ts[arrivals.first]
    outputs = np.zeros((count * kept, 2), np.int64)
    sizes = np.bincount(arrivals.side * buckets + arrivals.key % buckets, minlength=2 * buckets)
    starts: Int64s = (np.cumsum(sizes) - sizes).reshape(2, buckets)
    pieces = most_pairs(arrivals) // kernel.ROOM_OF_PIECE + rows
    streams = Bundle(kernel.Streams, arrivals.ts, arrivals.side, arrivals.key)
    join = Bundle(
        kernel.Join, options, registers, np.array(windows.sizes, np.int64), windows.matrix(), np.zeros(count, np.int64),
        np.zeros((rows, kernel.LANES), np.int64), starts, starts.copy(),
        np.zeros((rows, kernel.WAYS), np.int64), np.empty((pieces, kernel.PIECE), np.int64), np.zeros(rows, np.int64), told,
        outputs,
    )  # fmt: skip
    kernel.run_join(streams.record, join.record)
    assert registers[kernel.HELD] == 0, "pairs are held that nobody will release"
    rings = enumerate(outputs.reshape(count, kept, 2))
    return Outcome(told, registers, [_in_order(ring, int(told[window, kernel.ROUTED])) for window, ring in rings])


def most_pairs(arrivals: Arrivals) -> int:
    """How many pairs there are at most that wait: all of equal keys, as if no window ended. Memory that is never written costs
    nothing."""
    counts = [np.bincount(arrivals.key[arrivals.side == side], minlength=int(arrivals.key.max()) + 1) for side in (0, 1)]
    return int((counts[0] * counts[1]).sum())


def _in_order(ring: Int64s, written: int) -> Int64s:
    room = len(ring)
    return ring[:written] if written <= room else np.roll(ring, -(written % room), axis=0)
