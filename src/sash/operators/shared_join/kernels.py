"""One join for many windows: a walk through the rows of a key finds the pairs of all of them.

    rows of a key   new ──▶ ──▶ ──▶ ──▶ ──▶ ──▶ old       every row tells which one was before it, so the pairs of a window
    window of 1 s   ─────▶│                               are the first ones of a walk, and each window ends where its
    window of 60 s  ───────────────▶│                     oldest row is
    window of 600 s ──────────────────────────▶│

A row that comes walks once, as far as the longest window; each tap gets the first so many pairs. A row that leaves a window walks
again, as far as that window, and only its tap gets something. At one instant what leaves comes first; when both rows of a pair
leave together, the left one takes it along. Taps have outputs of their own, so what leaves one window need not be in order with
what leaves another.

Lines of a log are those of `kernels/row_log.py`; instead of an expiry, which differs by window, they hold when a row came.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.prefetching import prefetch
from sash.kernels.row_log import EXPIRY, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT, Log, enter_log, look_ahead
from sash.kernels.rows import has_null
from sash.schema import FOREVER

TS = EXPIRY  # the lane of a line that says when its row came
FAR = 8  # lines of a chain from one that is met to the one that memory is asked for
SOON = 6  # rows from one thing that is made ready for those to leave to the next
ASKED = 8  # lines met by a probe of which it is asked whether they are copies of the first

# Places of the cursor. A call that finds an output full stops in the midst of a row, and the next one goes on there.
LEFT, RIGHT = 0, 1  # next row to come
CHAIN = 2  # where in the chain of the row at hand, plus one; 0: no row is at hand
TAP = 3  # whose row leaves; or, of a row that comes, how many taps are through with it
NEXT = 4  # when the next row leaves a window
PROBES, COPIES = 5, 6  # walks in which copies were looked for, and pairs that they would be spared if those were one
CURSOR = 7


class Side(NamedTuple):
    """The rows of one input that come, its log, and for every tap its window and the first row that has not left it."""

    rows: Int64s
    ts: Int64s
    weight: Int64s
    hashes: Int64s
    lanes: Int64s  # of the key
    masks: Int64s
    whole: Int64s  # all lanes of a row
    registers: Int64s
    lines: Int64s
    table: Int64s
    jumps: Int64s  # lines further on in chains; not state: only to ask memory for them
    windows: Int64s
    oldest: Int64s
    order: Int64s  # taps, the shortest window first


class Outputs(NamedTuple):
    """Room for the changes of all taps, one tap behind the other."""

    values: Int64s  # lanes, row by row
    ts: Int64s
    weight: Int64s
    starts: Int64s  # of a tap: its first place in `ts` and `weight`
    ends: Int64s  # and its last one
    bases: Int64s  # and its first place in `values`
    counts: Int64s  # changes written
    widths: Int64s  # lanes of a row
    masks: Int64s  # the first lane that says which columns are NULL
    lanes: Int64s  # lines (is right, from, to), those of a tap from `lane_ends[tap]` to `lane_ends[tap + 1]`
    lane_ends: Int64s
    bits: Int64s  # lines (is right, from lane, bit, to lane, bit)
    bit_ends: Int64s


@kernel
def first_in_window(after: int, width: int, registers: Int64s, lines: Int64s) -> int:
    """The first row of a log that came after an instant; rows are in the order of time."""
    low, high = registers[OLDEST], registers[TAIL]
    while low < high:
        middle = (low + high) // 2
        if lines[middle & (len(lines) - 1), width + TS] > after:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def head(side: Side, tap: int) -> int:
    """When the next row leaves a window."""
    row = side.oldest[tap]
    if row == side.registers[TAIL]:
        return FOREVER
    return side.lines[row & (len(side.lines) - 1), side.rows.shape[1] + TS] + side.windows[tap]


@inlined
def time_of(ts: Int64s, i: int) -> int:
    return ts[i] if i < len(ts) else FOREVER


@inlined
def room_of(out: Outputs, tap: int) -> int:
    return out.ends[tap] - out.starts[tap] - out.counts[tap]


@inlined
def write(
    rows: Int64s, i: int, weight: int, ts: int, is_left: int, other: Side, met: Int64s, count: int, nulls: int, tap: int,
    out: Outputs,
) -> None:
    """Pairs of a row with so many lines that it met, for one tap, column by column."""
    width, start = out.widths[tap], out.starts[tap] + out.counts[tap]
    base, place = out.bases[tap] + out.counts[tap] * width, other.rows.shape[1] + WEIGHT
    for k in range(out.lane_ends[tap], out.lane_ends[tap + 1]):
        lane, to = out.lanes[k, 1], base + out.lanes[k, 2]
        if out.lanes[k, 0] != is_left:
            value = rows[i, lane]
            for p in range(count):
                out.values[to + p * width] = value
        else:
            for p in range(count):
                out.values[to + p * width] = other.lines[met[p], lane]
    for lane in range(out.masks[tap], width):
        for p in range(count):
            out.values[base + p * width + lane] = 0
    if nulls:
        for p in range(count):
            for k in range(out.bit_ends[tap], out.bit_ends[tap + 1]):
                source = out.bits[k, 1]
                mask = rows[i, source] if out.bits[k, 0] != is_left else other.lines[met[p], source]
                out.values[base + p * width + out.bits[k, 3]] |= (mask >> out.bits[k, 2] & 1) << out.bits[k, 4]
    for p in range(count):
        out.ts[start + p], out.weight[start + p] = ts, weight * other.lines[met[p], place]
    out.counts[tap] += count


@inlined
def has_nulls(
    rows: Int64s, i: int, values: int, width: int, other: Side, other_values: int, met: Int64s, count: int
) -> int:
    """Whether a column of a row, or of the lines that it met, is NULL; most are not."""
    nulls = 0
    for lane in range(values, width):
        nulls |= rows[i, lane]
    for lane in range(other_values, other.rows.shape[1]):
        for p in range(count):
            nulls |= other.lines[met[p], lane]
    return nulls


@inlined
def is_pair(rows: Int64s, i: int, own: Side, other: Side, line: int) -> bool:
    return equal_lanes(rows, i, own.lanes, other.lines, line, other.lanes)


@inlined
def come(
    own: Side, i: int, row: int, through: int, is_left: int, other: Side, shape: Int64s, met: Int64s, stops: Int64s,
    cursor: Int64s, out: Outputs,
) -> tuple[int, int]:
    """Pair a row that comes with those of the other side from one of them on, for all taps but so many that are through with it.
    The row to go on with once there is room again, or NOBODY; and how many taps are through.
    """
    width, mask, taps = other.rows.shape[1], len(other.lines) - 1, len(other.order)
    weight, ts = own.weight[i], own.ts[i]
    while row != NOBODY:
        room, count, first = len(met), 0, through
        for k in range(through, taps):
            room = min(room, room_of(out, other.order[k]))
        if room == 0:
            return row, through
        while count < room:
            while through < taps and row < other.oldest[other.order[through]]:
                stops[through] = count
                through += 1
            if through == taps:
                row = NOBODY
                break
            line = row & mask
            if count >= 2:
                prefetch(other.lines, other.jumps[line])
            met[count] = line
            count += is_pair(own.rows, i, own, other, line)
            row = other.lines[line, width + PREVIOUS]
        if count:
            for p in range(count - FAR):
                other.jumps[met[p]] = met[p + FAR]
            nulls = has_nulls(own.rows, i, shape[1 - is_left], own.rows.shape[1], other, shape[is_left], met, count)
            for k in range(first, taps):
                of_tap = stops[k] if k < through else count
                write(own.rows, i, weight, ts, is_left, other, met, of_tap, nulls, other.order[k], out)
            if count > 1 and i & 7 == 0:
                count_copies(other, met, count, cursor)
    return NOBODY, taps


@inlined
def count_copies(side: Side, met: Int64s, count: int, cursor: Int64s) -> None:
    """How many pairs a walk would be spared if equal rows were one: all may have as many copies as the first one has."""
    copies, asked = 0, min(count, ASKED)
    for p in range(1, asked):
        copies += equal_lanes(side.lines, met[p], side.whole, side.lines, met[0], side.whole)
    cursor[PROBES] += 1
    cursor[COPIES] += min(count - 1, copies * count * count // (2 * asked))


@inlined
def leave(own: Side, tap: int, row: int, ts: int, is_left: int, other: Side, shape: Int64s, met: Int64s, out: Outputs) -> int:
    """Pair the row that leaves a window with those of the other side that are still in it, from one of them on. The row to go on
    with once there is room again, or NOBODY.
    """
    width, mask, last = other.rows.shape[1], len(other.lines) - 1, other.oldest[tap]
    i = own.oldest[tap] & (len(own.lines) - 1)
    weight = -own.lines[i, own.rows.shape[1] + WEIGHT]
    while row >= last:
        room, count = min(len(met), room_of(out, tap)), 0
        if room == 0:
            return row
        while row >= last and count < room:
            line = row & mask
            if count >= 2:
                prefetch(other.lines, other.jumps[line])
            met[count] = line
            count += is_pair(own.lines, i, own, other, line)
            row = other.lines[line, width + PREVIOUS]
        if count:
            for p in range(count - FAR):
                other.jumps[met[p]] = met[p + FAR]
            nulls = has_nulls(own.lines, i, shape[1 - is_left], own.rows.shape[1], other, shape[is_left], met, count)
            write(own.lines, i, weight, ts, is_left, other, met, count, nulls, tap, out)
    return NOBODY


@inlined
def newest(hash_: int, other: Side) -> int:
    return other.table[hash_ & (len(other.table) - 1)] - 1


@inlined
def make_ready(own: Side, tap: int, other: Side) -> None:
    """Ask for what rows that leave soon need: the bucket of a later one, of an earlier one the newest row in it, and of one still
    earlier the row before that.
    """
    width, mask, last, row = own.rows.shape[1], len(own.lines) - 1, len(other.table) - 1, own.oldest[tap] + SOON
    if row + 2 * SOON < own.registers[TAIL]:
        others = len(other.lines) - 1
        prefetch(other.table, own.lines[(row + 2 * SOON) & mask, width + HASH] & last)
        prefetch(other.lines, (other.table[own.lines[(row + SOON) & mask, width + HASH] & last] - 1) & others)
        soon = (other.table[own.lines[row & mask, width + HASH] & last] - 1) & others
        prefetch(other.lines, other.lines[soon, other.rows.shape[1] + PREVIOUS] & others)


@inlined
def leave_window(
    left: Side, right: Side, tap: int, until: int, shape: Int64s, met: Int64s, cursor: Int64s, out: Outputs
) -> bool:
    """Let all rows leave a window that do so up to an instant; whether there was room."""
    while True:
        from_left, from_right = head(left, tap), head(right, tap)
        ts = min(from_left, from_right)
        if ts > until:
            return True
        row, is_left = cursor[CHAIN] - 1, from_left <= from_right
        own, other = (left, right) if is_left else (right, left)
        if row == NOBODY:
            make_ready(own, tap, other)
            line = own.oldest[tap] & (len(own.lines) - 1)
            row = newest(own.lines[line, own.rows.shape[1] + HASH], other)
        row = leave(own, tap, row, ts, int(is_left), other, shape, met, out)
        own.oldest[tap] += row == NOBODY
        cursor[CHAIN] = row + 1
        if row != NOBODY:
            return False


@kernel
def join_shared(
    left: Side, right: Side, until: int, shape: Int64s, met: Int64s, stops: Int64s, cursor: Int64s, out: Outputs
) -> bool:
    """Take all rows in that come, and let those leave that do so up to an instant; whether there was room for all changes.

    `shape` holds the numbers of value lanes, left and right; `met` has room for some lines that a row meets, `stops` for a number
    a tap.
    """
    i, j, taps = cursor[LEFT], cursor[RIGHT], len(left.order)
    is_at_hand = cursor[CHAIN] != 0
    is_leaving = is_at_hand and cursor[TAP] >= 0
    while True:
        comes_left, comes_right = time_of(left.ts, i), time_of(right.ts, j)
        comes = min(comes_left, comes_right)
        if is_leaving or (not is_at_hand and cursor[NEXT] <= min(comes, until)):
            for tap in range(cursor[TAP] if is_leaving else 0, taps):
                if not leave_window(left, right, tap, min(comes, until), shape, met, cursor, out):
                    cursor[LEFT], cursor[RIGHT], cursor[TAP] = i, j, tap
                    return False
            is_at_hand = is_leaving = False
            cursor[NEXT] = FOREVER
            for tap in range(taps):
                cursor[NEXT] = min(cursor[NEXT], head(left, tap), head(right, tap))
        if comes == FOREVER:
            break
        row, through, is_left = NOBODY, 0, comes_left <= comes_right
        own, other = (left, right) if is_left else (right, left)
        at = i if is_left else j
        if is_at_hand:
            row, through = cursor[CHAIN] - 1, -cursor[TAP] - 1
        elif not has_null(own.rows, at, own.masks):
            log = Log(other.registers, other.lines, other.table)
            look_ahead(own.hashes, at, len(own.ts), other.rows.shape[1], own.table, log)
            log = Log(own.registers, own.lines, own.table)
            enter_log(own.rows, at, comes, own.weight[at], own.hashes[at], log)
            cursor[NEXT] = min(cursor[NEXT], comes + own.windows[own.order[0]])
            row = newest(own.hashes[at], other)
        if row != NOBODY:
            row, through = come(own, at, row, through, int(is_left), other, shape, met, stops, cursor, out)
        if row == NOBODY:
            i += is_left
            j += not is_left
        is_at_hand, cursor[CHAIN] = False, 0
        if row != NOBODY:
            cursor[LEFT], cursor[RIGHT], cursor[CHAIN], cursor[TAP] = i, j, row + 1, -through - 1
            return False
    cursor[LEFT], cursor[RIGHT], cursor[CHAIN] = i, j, 0
    return True
