"""A calendar of rows by their expiry: for rows that leave in any order.

    buckets   | now | +1 | +2 | ... |   a ring; each holds the rows that expire in one stretch of time
    chunks    each bucket writes its rows into chunks of some lines, the newest chunk first in its chain
    heap      the rows of the bucket that is now: (expiry, line), the least first

A row is written once into its bucket, wherever in time that is, and read once when its bucket comes up; only then is the exact
order found, by a heap small enough for the nearest cache. The chunks of a bucket that is over are used again.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.heap import pop, push
from sash.kernels.prefetching import FAR, NEAR, prefetch
from sash.kernels.rows import copy_row
from sash.schema import FOREVER

# Registers: the bucket that is now (counted from the epoch), log2 of its length in time, first free chunk + 1, chunks ever used,
# chunks in use, rows in the heap, rows in all, the instant reached.
CURRENT, SHIFT, FREE, USED, CHUNKS, OPEN, COUNT, REACHED, REGISTERS = 0, 1, 2, 3, 4, 5, 6, 7, 8
CHUNK = 8  # lines of a chunk
EXPIRY, WEIGHT, EXTRA = 0, 1, 2  # lanes of a line after those of its row
SOON = 2  # buckets ahead whose rows are asked for
NEWEST, FILLED = 0, 1  # of a bucket: its newest chunk + 1, lines in it


@inlined
def _new_line(registers: Int64s, links: Int64s, buckets: Int64s, bucket: int) -> int:
    """Where a bucket's next row goes."""
    chunk, filled = buckets[bucket, NEWEST] - 1, buckets[bucket, FILLED]
    if chunk < 0 or filled == CHUNK:
        before, filled = chunk + 1, 0
        if registers[FREE]:
            chunk = registers[FREE] - 1
            registers[FREE] = links[chunk]
        else:
            chunk = registers[USED]
            registers[USED] += 1
        registers[CHUNKS] += 1
        links[chunk] = before
        buckets[bucket, NEWEST] = chunk + 1
    buckets[bucket, FILLED] = filled + 1
    return chunk * CHUNK + filled


@inlined
def enter_calendar(
    rows: Int64s, i: int, expiry: int, weight: int, registers: Int64s, lines: Int64s, links: Int64s, buckets: Int64s, heap: Int64s
) -> None:
    number, width = expiry >> registers[SHIFT], lines.shape[1] - EXTRA
    line = _new_line(registers, links, buckets, number & (len(buckets) - 1))
    for lane in range(width):
        lines[line, lane] = rows[i, lane]
    lines[line, width + EXPIRY], lines[line, width + WEIGHT] = expiry, weight
    registers[COUNT] += 1
    if number <= registers[CURRENT]:
        push(heap, registers[OPEN], expiry, line)
        registers[OPEN] += 1


@inlined
def _turn(current: int, registers: Int64s, lines: Int64s, links: Int64s, buckets: Int64s, heap: Int64s) -> None:
    """Give back the chunks of the bucket that is over, and open another one."""
    old, new, width = registers[CURRENT] & (len(buckets) - 1), current & (len(buckets) - 1), lines.shape[1] - EXTRA
    chunk = buckets[old, NEWEST] - 1
    while chunk >= 0:
        before = links[chunk] - 1
        links[chunk] = registers[FREE]
        registers[FREE] = chunk + 1
        registers[CHUNKS] -= 1
        chunk = before
    buckets[old, NEWEST], buckets[old, FILLED] = 0, 0
    registers[CURRENT] = current
    soon = (buckets[(current + SOON) & (len(buckets) - 1), NEWEST] - 1) * CHUNK
    for line in range(soon, soon + CHUNK):
        prefetch(lines, line)
    chunk, filled, count = buckets[new, NEWEST] - 1, buckets[new, FILLED], 0
    while chunk >= 0:
        for line in range(chunk * CHUNK, chunk * CHUNK + filled):
            push(heap, count, lines[line, width + EXPIRY], line)
            count += 1
        chunk, filled = links[chunk] - 1, CHUNK
    registers[OPEN] = count


@inlined
def _look_ahead(expiry: Int64s, i: int, shift: int, lines: Int64s, buckets: Int64s) -> None:
    """Ask for where later rows will be written: soon a line, later a bucket."""
    last = len(buckets) - 1
    if i + FAR < len(expiry):
        prefetch(buckets, (expiry[i + FAR] >> shift) & last)
        bucket = (expiry[i + NEAR] >> shift) & last
        prefetch(lines, (buckets[bucket, NEWEST] - 1) * CHUNK + buckets[bucket, FILLED])


@kernel
def longest_life(ts: Int64s, expiry: Int64s) -> int:
    """Of the rows that do not live forever."""
    longest = 0
    for i in range(len(ts)):
        if expiry[i] != FOREVER:
            longest = max(longest, expiry[i] - ts[i])
    return longest


@kernel
def live_lines(registers: Int64s, links: Int64s, buckets: Int64s, heap: Int64s, found: Int64s) -> None:
    """The places of all rows that are there."""
    n, current = registers[OPEN], registers[CURRENT] & (len(buckets) - 1)
    for k in range(n):
        found[k] = heap[k, 1]
    for bucket in range(len(buckets)):
        chunk, filled = buckets[bucket, NEWEST] - 1, buckets[bucket, FILLED]
        while chunk >= 0 and bucket != current:
            for line in range(chunk * CHUNK, chunk * CHUNK + filled):
                found[n] = line
                n += 1
            chunk, filled = links[chunk] - 1, CHUNK


@kernel
def refill(old: Int64s, registers: Int64s, lines: Int64s, links: Int64s, buckets: Int64s, heap: Int64s) -> None:
    """Enter lines of another calendar."""
    width = lines.shape[1] - EXTRA
    for i in range(len(old)):
        enter_calendar(old, i, old[i, width + EXPIRY], old[i, width + WEIGHT], registers, lines, links, buckets, heap)


@kernel
def expire_calendar(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, registers: Int64s,
    lines: Int64s, links: Int64s, buckets: Int64s, heap: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """As `expire_fifo`; no row lives so long that the ring of buckets would not reach."""
    shift, width, n = registers[SHIFT], lines.shape[1] - EXTRA, 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while n < len(out_ts):
            if registers[OPEN]:
                if heap[0, 0] > limit:
                    break
                line = heap[0, 1]
                for lane in range(width):
                    out_rows[n, lane] = lines[line, lane]
                out_ts[n], out_weight[n] = heap[0, 0], -lines[line, width + WEIGHT]
                n += 1
                pop(heap, registers[OPEN])
                registers[OPEN] -= 1
                registers[COUNT] -= 1
            elif registers[CURRENT] >= limit >> shift:
                break
            else:
                following = registers[CURRENT] + 1 if registers[COUNT] else limit >> shift
                _turn(following, registers, lines, links, buckets, heap)
        if n == len(out_ts):
            break
        registers[REACHED] = limit
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        if delta_weight[i] == 0:
            continue  # it only tells the time
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
        _look_ahead(delta_expiry, i, shift, lines, buckets)
        if delta_expiry[i] != FOREVER:
            enter_calendar(delta_rows, i, delta_expiry[i], delta_weight[i], registers, lines, links, buckets, heap)
    return n
