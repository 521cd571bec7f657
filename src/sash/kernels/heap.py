"""A heap of (instant, item), the least instant first: lines of two lanes, four children each."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined


@inlined
def push(heap: Int64s, count: int, instant: int, item: int) -> None:
    """Add to a heap of `count` lines, which has room."""
    place = count
    while place > 0:
        parent = (place - 1) >> 2
        if heap[parent, 0] <= instant:
            break
        heap[place, 0], heap[place, 1] = heap[parent, 0], heap[parent, 1]
        place = parent
    heap[place, 0], heap[place, 1] = instant, item


@inlined
def pop(heap: Int64s, count: int) -> None:
    """Take the least away from a heap of `count` lines."""
    last = count - 1
    instant, item, place = heap[last, 0], heap[last, 1], 0
    while True:
        child = 4 * place + 1
        if child >= last:
            break
        least = child
        for other in range(child + 1, min(child + 4, last)):
            if heap[other, 0] < heap[least, 0]:
                least = other
        if heap[least, 0] >= instant:
            break
        heap[place, 0], heap[place, 1] = heap[least, 0], heap[least, 1]
        place = least
    heap[place, 0], heap[place, 1] = instant, item
