"""Stores as the papers had them: lists that are scanned, partitions by expiration, hash tables of a fixed number of buckets.

Only the patterns benchmark uses them, to see the shapes of the papers' figures: every search walks a list.

    list         lines in no order, scanned whole: to find a row, and at every unit of time to find what has expired
    partitions   a ring of lists, each for one stretch of expiries and in their order (seed 003, figure 7)
    buckets      lists of lines whose keys hash alike, the newest first
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes, hash_lanes
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, write_pair
from sash.kernels.rows import copy_row, has_null

# Registers: lines in use, the next unit of time, lines ever used, the first free one + 1, the least expiry there is.
COUNT, TICK, USED, FREE, LEAST, REGISTERS = 0, 1, 2, 3, 4, 5
EXPIRY, WEIGHT, LIST_EXTRA = 0, 1, 2  # lanes of a line of a list after those of its row
NEXT, CHAIN_EXTRA = 2, 3  # of a line of partitions or buckets, also the line after it + 1
NEVER = 2**63 - 1


@inlined
def _emit_in_order(
    lines: Int64s, line: int, width: int, instant: int, weight: int, first: int, n: int, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s,
) -> None:
    """Write a change behind those of `first` to n that are not later."""
    place = n
    while place > first and out_ts[place - 1] > instant:
        copy_row(out_rows, place - 1, out_rows, place)
        out_ts[place], out_weight[place] = out_ts[place - 1], out_weight[place - 1]
        place -= 1
    for lane in range(width):
        out_rows[place, lane] = lines[line, lane]
    out_ts[place], out_weight[place] = instant, weight


@inlined
def _scan(
    limit: int, width: int, registers: Int64s, lines: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int
) -> int:
    """Take out all lines that have expired; as far as there is room, in the order of time."""
    first, place, least = n, 0, NEVER
    while place < registers[COUNT]:
        expiry = lines[place, width + EXPIRY]
        if expiry > limit or n == len(out_ts):
            least = min(least, expiry)
            place += 1
            continue
        _emit_in_order(lines, place, width, expiry, -lines[place, width + WEIGHT], first, n, out_rows, out_ts, out_weight)
        n += 1
        registers[COUNT] -= 1
        copy_row(lines, registers[COUNT], lines, place)
    registers[LEAST] = least
    return n


@kernel
def expire_list(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, tick: int,
    registers: Int64s, lines: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """As `expire_fifo`, over one list that is scanned at every unit of time. There is room for what can expire at once."""
    width, n = delta_rows.shape[1], 0
    while cursor[0] <= len(delta_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while registers[TICK] <= limit:
            if n + registers[COUNT] >= len(out_ts):
                return n
            n = _scan(registers[TICK], width, registers, lines, out_rows, out_ts, out_weight, n)
            registers[TICK] += tick
        if n + registers[COUNT] >= len(out_ts):
            return n
        if registers[COUNT] and registers[LEAST] <= limit:
            n = _scan(limit, width, registers, lines, out_rows, out_ts, out_weight, n)
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
        line = registers[COUNT]
        copy_row(delta_rows, i, lines, line)
        lines[line, width + EXPIRY], lines[line, width + WEIGHT] = delta_expiry[i], delta_weight[i]
        registers[LEAST] = min(registers[LEAST], delta_expiry[i]) if line else delta_expiry[i]
        registers[COUNT] += 1
    return n


@inlined
def take_line(registers: Int64s, lines: Int64s, following: int) -> int:
    registers[COUNT] += 1
    if registers[FREE]:
        line = registers[FREE] - 1
        registers[FREE] = lines[line, following]
        return line
    registers[USED] += 1
    return registers[USED] - 1


@inlined
def free_line(line: int, registers: Int64s, lines: Int64s, following: int) -> None:
    lines[line, following] = registers[FREE]
    registers[FREE] = line + 1
    registers[COUNT] -= 1


@kernel
def expire_partitions(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, stretch: int,
    registers: Int64s, lines: Int64s, heads: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """As `expire_fifo`, over partitions. A row is entered by walking its partition; what expires is at the head of one."""
    width, n = delta_rows.shape[1], 0
    following = width + NEXT
    while cursor[0] <= len(delta_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while True:
            place = registers[TICK] % len(heads)
            line = heads[place] - 1
            if line >= 0 and lines[line, width + EXPIRY] <= limit:
                if n == len(out_ts):
                    return n
                for lane in range(width):
                    out_rows[n, lane] = lines[line, lane]
                out_ts[n], out_weight[n] = lines[line, width + EXPIRY], -lines[line, width + WEIGHT]
                n += 1
                heads[place] = lines[line, following]
                free_line(line, registers, lines, following)
            elif registers[TICK] < limit // stretch:
                registers[TICK] += 1
            else:
                break
        if n == len(out_ts):
            return n
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], delta_weight[i]
        n += 1
        _enter_partition(delta_rows, i, delta_expiry[i], delta_weight[i], stretch, registers, lines, heads)
    return n


@inlined
def _enter_partition(
    rows: Int64s, i: int, expiry: int, weight: int, stretch: int, registers: Int64s, lines: Int64s, heads: Int64s
) -> None:
    """Walk the partition of a row to its place in the order of expiries."""
    width = rows.shape[1]
    following = width + NEXT
    line = take_line(registers, lines, following)
    copy_row(rows, i, lines, line)
    lines[line, width + EXPIRY], lines[line, width + WEIGHT] = expiry, weight
    place = (expiry // stretch) % len(heads)
    before, after = -1, heads[place] - 1
    while after >= 0 and lines[after, width + EXPIRY] <= expiry:
        before, after = after, lines[after, following] - 1
    lines[line, following] = after + 1
    if before < 0:
        heads[place] = line + 1
    else:
        lines[before, following] = line + 1


@kernel
def keep_in_partitions(
    rows: Int64s, ts: Int64s, weights: Int64s, instant: int, longest: int, stretch: int, all_lanes: Int64s, registers: Int64s,
    lines: Int64s, heads: Int64s,
) -> None:
    """A result, by expiration: a row that leaves in time is near the head of its partition, for one that leaves early all
    partitions are scanned. `instant` is the lane that says when a row came to its window.
    """
    for i in range(len(ts)):
        expiry = rows[i, instant] + longest
        home = (expiry // stretch) % len(heads)
        if weights[i] > 0:
            _enter_partition(rows, i, expiry, weights[i], stretch, registers, lines, heads)
        elif expiry == ts[i]:
            _leave_list(rows, i, weights[i], home, all_lanes, registers, lines, heads)
        else:
            place = 0
            while place < len(heads) and not _leave_list(rows, i, weights[i], place, all_lanes, registers, lines, heads):
                place += 1


@inlined
def _leave_list(
    rows: Int64s, i: int, weight: int, place: int, all_lanes: Int64s, registers: Int64s, lines: Int64s, heads: Int64s
) -> bool:
    """Walk a list for a row and take it out, or some of it; whether it was there."""
    width = rows.shape[1]
    following = width + NEXT
    before, line = -1, heads[place] - 1
    while line >= 0 and not equal_lanes(rows, i, all_lanes, lines, line, all_lanes):
        before, line = line, lines[line, following] - 1
    if line < 0:
        return False
    lines[line, width + WEIGHT] += weight
    if lines[line, width + WEIGHT] <= 0:
        if before < 0:
            heads[place] = lines[line, following]
        else:
            lines[before, following] = lines[line, following]
        free_line(line, registers, lines, following)
    return True


@inlined
def change_buckets(
    rows: Int64s, i: int, weight: int, bucket: int, all_lanes: Int64s, registers: Int64s, lines: Int64s, heads: Int64s
) -> None:
    """Enter a row, or walk its bucket for an equal one and take that out."""
    width = rows.shape[1]
    following = width + NEXT
    if weight > 0:
        line = take_line(registers, lines, following)
        copy_row(rows, i, lines, line)
        lines[line, width + WEIGHT], lines[line, following] = weight, heads[bucket]
        heads[bucket] = line + 1
        return
    _leave_list(rows, i, weight, bucket, all_lanes, registers, lines, heads)


@kernel
def keep_in_buckets(
    rows: Int64s, weights: Int64s, key_lanes: Int64s, all_lanes: Int64s, registers: Int64s, lines: Int64s, heads: Int64s
) -> None:
    """A result, by key: rows are entered, and looked for when they leave."""
    for i in range(len(weights)):
        bucket = hash_lanes(rows, i, key_lanes) & (len(heads) - 1)
        change_buckets(rows, i, weights[i], bucket, all_lanes, registers, lines, heads)


@kernel
def join_buckets(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, l_lanes: Int64s,
    r_lanes: Int64s, l_masks: Int64s, r_masks: Int64s, l_all: Int64s, r_all: Int64s, shape: Int64s, cursor: Int64s,
    l_registers: Int64s, l_lines: Int64s, l_heads: Int64s, r_registers: Int64s, r_lines: Int64s, r_heads: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """As `join_signed`: every change, also one that leaves, walks a bucket of its own side and one of the other."""
    l_width, r_width, n = l_rows.shape[1], r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i, j = cursor[LEFT], cursor[RIGHT]
        is_left = j >= len(r_ts) or (i < len(l_ts) and l_ts[i] <= r_ts[j])
        if is_left:
            if not has_null(l_rows, i, l_masks):
                bucket = hash_lanes(l_rows, i, l_lanes) & (len(l_heads) - 1)
                line = cursor[CHAIN] - 1
                if cursor[CHAIN] == 0:
                    change_buckets(l_rows, i, l_weight[i], bucket, l_all, l_registers, l_lines, l_heads)
                    line = r_heads[bucket] - 1
                while line >= 0:
                    if equal_lanes(l_rows, i, l_lanes, r_lines, line, r_lanes):
                        if n == len(out_ts):
                            cursor[CHAIN] = line + 1
                            return n
                        write_pair(l_rows, i, l_width, r_lines, line, r_width, shape, out_rows, n)
                        out_ts[n], out_weight[n] = l_ts[i], l_weight[i] * r_lines[line, r_width + WEIGHT]
                        n += 1
                    line = r_lines[line, r_width + NEXT] - 1
            cursor[LEFT] += 1
        else:
            if not has_null(r_rows, j, r_masks):
                bucket = hash_lanes(r_rows, j, r_lanes) & (len(l_heads) - 1)
                line = cursor[CHAIN] - 1
                if cursor[CHAIN] == 0:
                    change_buckets(r_rows, j, r_weight[j], bucket, r_all, r_registers, r_lines, r_heads)
                    line = l_heads[bucket] - 1
                while line >= 0:
                    if equal_lanes(r_rows, j, r_lanes, l_lines, line, l_lanes):
                        if n == len(out_ts):
                            cursor[CHAIN] = line + 1
                            return n
                        write_pair(l_lines, line, l_width, r_rows, j, r_width, shape, out_rows, n)
                        out_ts[n], out_weight[n] = r_ts[j], r_weight[j] * l_lines[line, l_width + WEIGHT]
                        n += 1
                    line = l_lines[line, l_width + NEXT] - 1
            cursor[RIGHT] += 1
        cursor[CHAIN] = 0
    return n
