"""Duplicate elimination as the papers had it (seed 003, 2.1 and 5.3.1): the output is a list that every arrival scans.

    plain        the whole input is stored beside it; when an output row expires, the input is scanned for its youngest copy
    delta-star   beside every output row its youngest copy, nothing else
    buckets      (negative rows) input and output in buckets; every change walks them
"""

from __future__ import annotations

from benchmarks.papers.kernels import COUNT, EXPIRY, NEXT, change_buckets
from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes, hash_lanes
from sash.kernels.rows import copy_row

YOUNGEST = 1  # lane of an output line after its expiry: the expiry of its youngest copy
FIRST = 1  # register: the number of the oldest input row alive
NOBODY = -1


@inlined
def _youngest(rows: Int64s, row: int, lanes: Int64s, limit: int, registers: Int64s, stored: Int64s) -> int:
    """The greatest expiry of an equal row in the input, which is scanned from the newest on; `limit` if there is none."""
    width = len(lanes)
    for number in range(registers[COUNT] - 1, registers[FIRST] - 1, -1):
        line = number & (len(stored) - 1)
        if stored[line, width] <= limit:
            break
        if equal_lanes(rows, row, lanes, stored, line, lanes):
            return stored[line, width]
    return limit


@kernel
def distinct_list(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, now: int, cursor: Int64s, lanes: Int64s, registers: Int64s,
    output: Int64s, inputs: Int64s, stored: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """With an input (`stored` has more than one line) plain, else delta-star. Rows leave in the order they came."""
    width, n, is_plain = len(lanes), 0, len(stored) > 1
    while cursor[0] <= len(delta_ts):
        i = cursor[0]
        if n + registers[COUNT] + 1 >= len(out_ts):
            return n
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        found, place, first = NOBODY, 0, n
        while place < registers[COUNT]:
            expiry = output[place, width + EXPIRY]
            if expiry <= limit:
                youngest = output[place, width + YOUNGEST]
                if is_plain:
                    youngest = _youngest(output, place, lanes, expiry, inputs, stored)
                if youngest > limit:
                    output[place, width + EXPIRY] = youngest
                else:
                    at = n
                    while at > first and out_ts[at - 1] > youngest:
                        copy_row(out_rows, at - 1, out_rows, at)
                        out_ts[at], out_weight[at] = out_ts[at - 1], out_weight[at - 1]
                        at -= 1
                    for lane in range(width):
                        out_rows[at, lane] = output[place, lane]
                    out_ts[at], out_weight[at] = youngest, -1
                    n += 1
                    registers[COUNT] -= 1
                    copy_row(output, registers[COUNT], output, place)
                    continue
            if i < len(delta_ts) and found == NOBODY and equal_lanes(delta_rows, i, lanes, output, place, lanes):
                found = place
            place += 1
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        if is_plain:
            while inputs[FIRST] < inputs[COUNT] and stored[inputs[FIRST] & (len(stored) - 1), width] <= limit:
                inputs[FIRST] += 1
            line = inputs[COUNT] & (len(stored) - 1)
            copy_row(delta_rows, i, stored, line)
            stored[line, width] = delta_expiry[i]
            inputs[COUNT] += 1
        if found != NOBODY:
            output[found, width + YOUNGEST] = delta_expiry[i]
            continue
        place = registers[COUNT]
        copy_row(delta_rows, i, output, place)
        output[place, width + EXPIRY] = output[place, width + YOUNGEST] = delta_expiry[i]
        registers[COUNT] += 1
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_weight[n] = delta_ts[i], 1
        n += 1
    return n


@kernel
def distinct_buckets(
    rows: Int64s, ts: Int64s, weights: Int64s, lanes: Int64s, in_registers: Int64s, in_lines: Int64s, in_heads: Int64s,
    out_registers: Int64s, out_lines: Int64s, out_heads: Int64s, made_rows: Int64s, made_ts: Int64s, made_weight: Int64s,
) -> int:
    """Of signed changes: a row that comes is looked for in the output, one that leaves in the rest of the input."""
    width, n = len(lanes), 0
    for i in range(len(ts)):
        bucket = hash_lanes(rows, i, lanes) & (len(in_heads) - 1)
        change_buckets(rows, i, weights[i], bucket, lanes, in_registers, in_lines, in_heads)
        searched, heads = (out_lines, out_heads) if weights[i] > 0 else (in_lines, in_heads)
        line = heads[bucket] - 1
        while line >= 0 and not equal_lanes(rows, i, lanes, searched, line, lanes):
            line = searched[line, width + NEXT] - 1
        if line >= 0:
            continue
        sign = 1 if weights[i] > 0 else -1
        change_buckets(rows, i, sign, bucket, lanes, out_registers, out_lines, out_heads)
        copy_row(rows, i, made_rows, n)
        made_ts[n], made_weight[n] = ts[i], sign
        n += 1
    return n
