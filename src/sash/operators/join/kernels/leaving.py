"""Join of two windows that also says when pairs leave, without keeping any.

    arrivals      left  ·   ·       ·            each is paired with the rows of the other side that are alive
    expirations   left           ·  ·            each again with those that it was, or came to be, paired with and that still live

Rows leave a log in the order they came, so the next one to leave is at its head. At one instant what leaves comes first; when
both rows of a pair leave together, the left one takes it along.

The rows of a key lie all over a log, and each tells only which one was before it, so a long chain is a walk from one miss of the
cache to the next. Whoever walks it leaves word in `jumps` where it leads some lines further on, and the next one asks memory for
them in time. Pairs are written column by column, for many lines that were met.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Changes, Line, Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, PairSide, PairSides, hash_sides
from sash.kernels.prefetching import prefetch
from sash.kernels.row_log import EXPIRY, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT, look_ahead
from sash.kernels.rows import has_null
from sash.operators.join.kernels.merging import (
    COPIES,
    COUNT,
    MEMORY,
    PROBES,
    MergingLines,
    copies_among,
    enter_merging,
    leave_merging,
    newest_counting,
    next_counting,
    reconsider,
    standing_for,
)
from sash.schema import FOREVER

FAR = 8  # lines of a chain from one that is met to the one that memory is asked for
SOON = 6  # rows from one thing that is made ready for those to leave to the next


class Moves(NamedTuple):
    """From where to where columns are copied: `lanes` has lines (is right, from, to), `bits` lines (is right, from lane, bit,
    to lane, bit). `met` has room for some lines that a row meets.
    """

    lanes: Lines
    bits: Lines
    met: Line


class LeavingSides(NamedTuple):
    """The shape of the sides holds the numbers of value lanes and of lanes, left, right and out."""

    sides: PairSides
    left: MergingLines
    right: MergingLines
    moves: Moves


open_leaving = opened(LeavingSides)


@inlined
def head_expiry(width: int, log: MergingLines) -> int:
    if log.registers[OLDEST] == log.registers[TAIL]:
        return FOREVER
    return log.lines[log.registers[OLDEST] & (len(log.lines) - 1), width + EXPIRY]


@inlined
def write_columns(
    rows: Int64s, i: int, is_left: int, lines: Int64s, count: int, moves: Moves, shape: Int64s, out: Int64s, n: int
) -> None:
    """Pairs of a row with so many lines that were met, column by column. Most pairs have no NULL."""
    lanes, bits, met = moves.lanes, moves.bits, moves.met
    for k in range(len(lanes)):
        lane, to = lanes[k, 1], lanes[k, 2]
        if lanes[k, 0] != is_left:
            value = rows[i, lane]
            for p in range(count):
                out[n + p, to] = value
        else:
            for p in range(count):
                out[n + p, to] = lines[met[p], lane]
    for lane in range(shape[4], shape[5]):
        for p in range(count):
            out[n + p, lane] = 0
    own, other = (0, 2) if is_left else (2, 0)  # places in shape
    nulls = 0
    for lane in range(shape[own], shape[own + 1]):
        nulls |= rows[i, lane]
    for lane in range(shape[other], shape[other + 1]):
        for p in range(count):
            nulls |= lines[met[p], lane]
    if nulls:
        for p in range(count):
            for k in range(len(bits)):
                mask = rows[i, bits[k, 1]] if bits[k, 0] != is_left else lines[met[p], bits[k, 1]]
                out[n + p, bits[k, 3]] |= (mask >> bits[k, 2] & 1) << bits[k, 4]


@inlined
def make_ready(width: int, log: MergingLines, other_width: int, other: MergingLines) -> None:
    """Ask for what rows that will leave soon need of the other side: the bucket of a later one, of an earlier one the newest row
    in it, and of one still earlier the row before that.
    """
    registers, lines, table, others = log.registers, log.lines, other.table, other.lines
    mask, last, other_mask, row = len(lines) - 1, len(table) - 1, len(others) - 1, registers[OLDEST] + SOON
    if row + 2 * SOON < registers[TAIL]:
        prefetch(table, lines[(row + 2 * SOON) & mask, width + HASH] & last)
        prefetch(others, (table[lines[(row + SOON) & mask, width + HASH] & last] - 1) & other_mask)
        newest = (table[lines[row & mask, width + HASH] & last] - 1) & other_mask
        prefetch(others, others[newest, other_width + PREVIOUS] & other_mask)


@inlined
def meet(
    is_left: int, rows: Int64s, i: int, weight: int, row: int, ts: int, own: PairSide, other: PairSide, log: MergingLines,
    moves: Moves, shape: Int64s, out: SignedChanges, n: int,
) -> tuple[int, int]:
    """Pair a row that comes or leaves with those of the other side from one of them on. Where the output ends, and the row to
    go on with once there is room again, or NOBODY.
    """
    found, alive, width, lines, met = 0, ts if weight > 0 else ts - 1, len(other.masks), log.lines, moves.met
    while row != NOBODY:
        count, room = 0, min(len(met), len(out.ts) - n)
        if room == 0:
            return n, row
        while row != NOBODY and count < room:
            line = row & (len(lines) - 1)
            if count >= 2:
                prefetch(lines, log.jumps[line])
            is_pair = equal_lanes(rows, i, own.lanes, lines, line, other.lanes)
            met[count] = line
            count += is_pair
            row = next_counting(row, alive, width, log)
        for p in range(count - FAR):
            log.jumps[met[p]] = met[p + FAR]
        write_columns(rows, i, is_left, lines, count, moves, shape, out.rows, n)
        for p in range(count):
            out.ts[n + p], out.weight[n + p] = ts, weight * lines[met[p], width + COUNT]
        found += copies_among(met, count, width, log)
        n += count
    log.registers[PROBES] += 1
    log.registers[COPIES] += found
    return n, NOBODY


@inlined
def _leave(
    is_left: int, ts: int, row: int, own: PairSide, own_log: MergingLines, other: PairSide, log: MergingLines, moves: Moves,
    shape: Int64s, out: SignedChanges, n: int,
) -> tuple[int, int]:
    """The oldest row of one side leaves; the answer as that of `meet`."""
    width, lines, oldest = len(own.masks), own_log.lines, own_log.registers[OLDEST]
    line = oldest & (len(lines) - 1)
    if row == NOBODY:
        make_ready(width, own_log, len(other.masks), log)
        hash_ = lines[standing_for(oldest, width, lines), width + HASH]
        row = newest_counting(hash_, ts - 1, len(other.masks), log)
    n, row = meet(is_left, lines, line, -lines[line, width + WEIGHT], row, ts, own, other, log, moves, shape, out, n)
    if row == NOBODY:
        leave_merging(width, own_log)
    return n, row


@inlined
def _come(
    is_left: int, changes: Changes, i: int, row: int, own: PairSide, own_log: MergingLines, other: PairSide, log: MergingLines,
    moves: Moves, shape: Int64s, out: SignedChanges, n: int,
) -> tuple[int, int]:
    """A row comes on one side; the answer as that of `meet`."""
    if row == NOBODY and not has_null(changes.rows, i, own.masks):
        look_ahead(own.hashes, i, len(changes.ts), len(other.masks), own_log.table, log)
        enter_merging(changes.rows, i, changes.expiry[i], changes.weight[i], own.hashes[i], own_log)
        row = newest_counting(own.hashes[i], changes.ts[i], len(other.masks), log)
    return meet(is_left, changes.rows, i, changes.weight[i], row, changes.ts[i], own, other, log, moves, shape, out, n)


@inlined
def time_of(changes: Changes, i: int) -> int:
    return changes.ts[i] if i < len(changes.ts) else FOREVER


@kernel
def join_leaving(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_expiry: Int64s,
    r_weight: Int64s, now: int, record: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Stops when its output is full, with the cursor at the event at hand; is through when all arrivals, and all rows that leave
    before `now`, are.
    """
    left, right = Changes(l_rows, l_ts, l_expiry, l_weight), Changes(r_rows, r_ts, r_expiry, r_weight)
    out, join = SignedChanges(out_rows, out_ts, out_weight), open_leaving(record)
    l_side, r_side, l_log, r_log = join.sides.left, join.sides.right, join.left, join.right
    cursor, shape, moves = join.sides.cursor, join.sides.shape, join.moves
    l_width, r_width = len(l_side.masks), len(r_side.masks)
    hash_sides(left, right, join.sides)
    i, j, row, n = cursor[LEFT], cursor[RIGHT], cursor[CHAIN] - 1, 0
    comes_left, comes_right = time_of(left, i), time_of(right, j)
    leaves_left, leaves_right = head_expiry(l_width, l_log), head_expiry(r_width, r_log)
    while True:
        leaves, comes = min(leaves_left, leaves_right), min(comes_left, comes_right)
        if leaves < now and leaves <= comes:
            if leaves_left <= leaves_right:
                n, row = _leave(1, leaves, row, l_side, l_log, r_side, r_log, moves, shape, out, n)
                leaves_left = head_expiry(l_width, l_log)
            else:
                n, row = _leave(0, leaves, row, r_side, r_log, l_side, l_log, moves, shape, out, n)
                leaves_right = head_expiry(r_width, r_log)
        elif comes == FOREVER:
            break
        elif comes_left <= comes_right:
            n, row = _come(1, left, i, row, l_side, l_log, r_side, r_log, moves, shape, out, n)
            leaves_left = head_expiry(l_width, l_log)
            if row == NOBODY:
                i += 1
                comes_left = time_of(left, i)
        else:
            n, row = _come(0, right, j, row, r_side, r_log, l_side, l_log, moves, shape, out, n)
            leaves_right = head_expiry(r_width, r_log)
            if row == NOBODY:
                j += 1
                comes_right = time_of(right, j)
        if row != NOBODY:
            break
        if l_log.registers[PROBES] >= MEMORY:
            reconsider(l_width, l_log)
        if r_log.registers[PROBES] >= MEMORY:
            reconsider(r_width, r_log)
    cursor[LEFT], cursor[RIGHT], cursor[CHAIN] = i, j, row + 1
    return n
