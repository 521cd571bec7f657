"""Strings as codes: every distinct string of a shard is kept once, in a heap of bytes, and known by a number.

    table   open addressing, code or 0; a string's place is its hash
    heap    the bytes of code c are heap[starts[c] : starts[c] + lengths[c]]

Code 0 is nobody's: it stands in the lanes of NULL. Codes of forgotten strings are used again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.bundles import Letters, Line
from sash.kernels.compiling import inlined, kernel

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Places in the registers of an interner.
NEXT_CODE, HEAP_USED, FREE_CODES, LIVE_CODES = 0, 1, 2, 3
SWEEP_CODES, SWEEP_BYTES = 4, 5  # how many there must be before it is worth while to look for those that nobody holds
DONE = -1


class Strings(NamedTuple):
    """What tells the bytes of a code."""

    starts: Line
    lengths: Line
    heap: Letters


@inlined
def hash_bytes(data: Bytes, start: int, stop: int) -> int:
    value = np.uint64(1469598103934665603)
    for place in range(start, stop):
        value = (value ^ np.uint64(data[place])) * np.uint64(1099511628211)
    value ^= value >> np.uint64(32)
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@kernel
def hash_strings(offsets: Int64s, data: Bytes, out: Int64s) -> None:
    for i in range(len(out)):
        out[i] = hash_bytes(data, offsets[i], offsets[i + 1])


@inlined
def _same(data: Bytes, start: int, length: int, heap: Bytes, heap_start: int) -> bool:
    for place in range(length):
        if data[start + place] != heap[heap_start + place]:
            return False
    return True


@kernel
def intern_strings(
    offsets: Int64s, data: Bytes, valid: npt.NDArray[np.bool_], first: int, codes: Int64s, registers: Int64s, table: Int64s,
    hashes: Int64s, starts: Int64s, lengths: Int64s, free: Int64s, heap: Bytes,
) -> int:
    """Write the code of every string from `first` on; stop at the first that finds no room and say which, else DONE."""
    mask = len(table) - 1
    for i in range(first, len(codes)):
        if not valid[i]:
            codes[i] = 0
            continue
        start, length = offsets[i], offsets[i + 1] - offsets[i]
        hashed = hash_bytes(data, start, start + length)
        slot = hashed & mask
        code = table[slot]
        while code and not (
            hashes[code] == hashed and lengths[code] == length and _same(data, start, length, heap, starts[code])
        ):
            slot = (slot + 1) & mask
            code = table[slot]
        if not code:
            is_full = registers[FREE_CODES] == 0 and registers[NEXT_CODE] >= len(starts)
            if is_full or registers[HEAP_USED] + length > len(heap) or 2 * (registers[LIVE_CODES] + 1) > len(table):
                return i
            if registers[FREE_CODES]:
                registers[FREE_CODES] -= 1
                code = free[registers[FREE_CODES]]
            else:
                code = registers[NEXT_CODE]
                registers[NEXT_CODE] += 1
            registers[LIVE_CODES] += 1
            used = registers[HEAP_USED]
            for place in range(length):
                heap[used + place] = data[start + place]
            registers[HEAP_USED] = used + length
            hashes[code], starts[code], lengths[code] = hashed, used, length
            table[slot] = code
        codes[i] = code
    return DONE


@kernel
def rebuild_table(table: Int64s, hashes: Int64s, alive: npt.NDArray[np.bool_]) -> None:
    table[:] = 0
    mask = len(table) - 1
    for code in range(1, len(alive)):
        if alive[code]:
            slot = hashes[code] & mask
            while table[slot]:
                slot = (slot + 1) & mask
            table[slot] = code


@kernel
def mark_codes(rows: Int64s, lanes: Int64s, alive: npt.NDArray[np.bool_]) -> None:
    for i in range(len(rows)):
        for lane in lanes:
            alive[rows[i, lane]] = True


@kernel
def forget_dead(
    alive: npt.NDArray[np.bool_], by_start: Int64s, registers: Int64s, starts: Int64s, lengths: Int64s, free: Int64s,
    heap: Bytes,
) -> None:
    """Move the bytes of live codes together, in the order they lie (`by_start`), and free the other codes."""
    used = 0
    for code in by_start:
        start, length = starts[code], lengths[code]
        for place in range(length):
            heap[used + place] = heap[start + place]
        starts[code] = used
        used += length
    registers[HEAP_USED] = used
    registers[LIVE_CODES] = len(by_start)
    count = 0
    for code in range(registers[NEXT_CODE] - 1, 0, -1):
        if not alive[code]:
            free[count] = code
            count += 1
    registers[FREE_CODES] = count


@kernel
def gather_strings(codes: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes, offsets: Int64s, data: Bytes) -> None:
    """Write the bytes of all codes one after the other; `offsets` are known already."""
    for i in range(len(codes)):
        start, to = starts[codes[i]], offsets[i]
        for place in range(lengths[codes[i]]):
            data[to + place] = heap[start + place]


@kernel
def compare_strings(a: int, b: int, starts: Int64s, lengths: Int64s, heap: Bytes) -> int:
    """The order of two codes' bytes, which is the order of their characters: -1, 0 or 1."""
    if a == b:
        return 0
    start_a, start_b = starts[a], starts[b]
    for place in range(min(lengths[a], lengths[b])):
        byte_a, byte_b = heap[start_a + place], heap[start_b + place]
        if byte_a != byte_b:
            return -1 if byte_a < byte_b else 1
    return -1 if lengths[a] < lengths[b] else 1
