"""One join for many windows: a walk through the rows of a key finds the pairs of all of them.

    rows of a key   new ──▶ ──▶ ──▶ ──▶ ──▶ ──▶ old       every row tells which one was before it, so the pairs of a window
    window of 1 s   ─────▶│                               are the first ones of a walk, and each window ends where its
    window of 60 s  ───────────────▶│                     oldest row is
    window of 600 s ──────────────────────────▶│

A row that comes walks once, as far as the longest window. Its pairs are written once, for the longest window of those that want
the same columns; the others copy the first so many of them, which are at hand. A row that leaves a window walks again, as far as
that window, and only its tap gets something. Every row is told its newest partner, so a walk begins there and nothing is searched
for; most rows leave a short window without one.

At one instant what leaves comes first; when both rows of a pair leave together, the left one takes it along. Taps have outputs of
their own, so what leaves one window need not be in order with what leaves another.

Lines of a log are those of `kernels/row_log.py`; instead of an expiry, which differs by window, they hold when a row came.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.prefetching import prefetch
from sash.kernels.row_log import EXPIRY, EXTRA, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT
from sash.kernels.rows import copy_row, has_null
from sash.schema import FOREVER

TS = EXPIRY  # the lane of a line that says when its row came
PARTNER = EXTRA  # one lane more: the newest row of the other side that may be its partner
SHARED_EXTRA = EXTRA + 1

FAR = 8  # lines of a chain from one that is met to the one that memory is asked for
LONG = 12  # lines that were met before a chain is taken for a long one
SOON = 4  # rows from one thing that is made ready for those to leave to the next
MANY = 2048  # rows of a window that are too many for a near cache
DEEP, APART = 6, 2  # lines of a chain that are asked for ahead, and rows from one to the next
AHEAD = 16  # room for rows whose chains are walked ahead; a power of two above DEEP * APART
ASKED = 8  # lines met by a probe of which it is asked whether they are copies of the first
SAMPLE = 8  # one row in so many is asked for copies among what it meets; a power of two

# Places of the cursor. A call that finds an output full stops in the midst of a row, and the next one goes on there.
LEFT, RIGHT = 0, 1  # next row to come
CHAIN = 2  # where in the chain of the row at hand, plus one; 0: no row is at hand
TAP = 3  # whose row leaves, in the order of taps; or, below zero, of a row that comes, how many taps are through with it, and one
NEXT = 4  # when the next row leaves a window
PROBES, COPIES = 5, 6  # walks in which copies were looked for, and pairs that they would be spared if those were one
KNOWN, LEFT_OVER = 7, 8  # in a turn: the next partner that is known, and how many are left of the row at hand
FOUND, FOUND_HEAD = 9, 10  # where the next partner that was found is kept, and where it is told how many the row at hand has
OPEN = 11  # the instant of the next row to come, or of the one at hand: nothing comes before it any more
CURSOR = 12


class SharedLines(NamedTuple):
    """What a log is made of; no state are `jumps`, lines further on in chains, only to ask memory for them, and `stops`: of a row
    that has been entered and is not through with all windows, where its walk goes on.
    """

    registers: Line
    lines: Lines
    table: Line
    jumps: Line
    stops: Line


class Side(NamedTuple):
    """One side: the lanes of its key, the bits that say that a key is NULL, all lanes of a row; its log; of every tap its window,
    the first row that has not left it, and from whose output it copies the pairs of a row that comes on the other side.
    """

    lanes: Line
    masks: Line
    whole: Line
    log: SharedLines
    windows: Line
    oldest: Line
    order: Line  # the taps that are run now, the shortest window first
    leaders: Line
    tail: Line  # the number of the next row, in the time of these taps
    ahead: Line  # of rows that come, where the walk ahead through the chain of the other side is


class Output(NamedTuple):
    """Room for the changes of a tap."""

    values: Line  # lanes, row by row
    ts: Line
    weight: Line


class Taps(NamedTuple):
    """Of every tap: its output, what was written, what it is made of."""

    outputs: Lines  # the records of outputs
    rooms: Line  # for so many changes
    counts: Line  # changes written
    due: Line  # when the next row leaves
    widths: Line  # lanes of a row
    masks: Line  # the first lane that says which columns are NULL
    lanes: Lines  # lines (from, to): those of left rows, then those of right ones, tap by tap
    lane_ends: Line  # where each of these ends, after a zero
    bits: Lines  # lines (is right, from lane, bit, to lane, bit)
    bit_ends: Line


class SharedSides(NamedTuple):
    """`shape` holds the numbers of value lanes, left and right; `met` has room for some lines that a row meets, `stops` and
    `begins` for a number a tap.
    """

    left: Side
    right: Side
    taps: Taps
    shape: Line
    met: Line
    stops: Line
    begins: Line
    cursor: Line


class Came(NamedTuple):
    """Rows that come on one side, and their hashes."""

    rows: Lines
    ts: Line
    weight: Line
    hashes: Line


open_sides = opened(SharedSides)
open_log = opened(SharedLines)
open_output = opened(Output)


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


@kernel
def find_partners(
    width: int, own_record: Int64s, lanes: Int64s, other_width: int, other_record: Int64s, other_lanes: Int64s
) -> None:
    """Tell all rows of a log that was filled their newest partners."""
    own, other = open_log(own_record), open_log(other_record)
    mask, other_mask = len(own.lines) - 1, len(other.lines) - 1
    for number in range(own.registers[OLDEST], own.registers[TAIL]):
        line = number & mask
        row = other.table[own.lines[line, width + HASH] & (len(other.table) - 1)] - 1
        while row >= other.registers[OLDEST]:
            if equal_lanes(own.lines, line, lanes, other.lines, row & other_mask, other_lanes):
                break
            row = other.lines[row & other_mask, other_width + PREVIOUS]
        own.lines[line, width + PARTNER] = row


@inlined
def head(side: Side, tap: int) -> int:
    """When the next row leaves a window."""
    row = side.oldest[tap]
    if row == side.tail[0]:
        return FOREVER
    return side.log.lines[row & (len(side.log.lines) - 1), len(side.masks) + TS] + side.windows[tap]


@inlined
def time_of(came: Came, i: int) -> int:
    return came.ts[i] if i < len(came.ts) else FOREVER


@inlined
def write(
    is_left: int, rows: Int64s, i: int, weight: int, ts: int, other: Side, met: Int64s, count: int, nulls: int, tap: int,
    taps: Taps,
) -> None:
    """Pairs of a row with so many lines that it met, for one tap."""
    out, lines, width, n = open_output(taps.outputs[tap]), other.log.lines, taps.widths[tap], taps.counts[tap]
    place = len(other.masks) + WEIGHT
    begin, middle, end = taps.lane_ends[2 * tap], taps.lane_ends[2 * tap + 1], taps.lane_ends[2 * tap + 2]
    first, last = (begin, middle) if is_left else (middle, end)
    other_first, other_last = (middle, end) if is_left else (begin, middle)
    for p in range(count):
        line, base = met[p], (n + p) * width
        for k in range(first, last):
            out.values[base + taps.lanes[k, 1]] = rows[i, taps.lanes[k, 0]]
        for k in range(other_first, other_last):
            out.values[base + taps.lanes[k, 1]] = lines[line, taps.lanes[k, 0]]
        for lane in range(taps.masks[tap], width):
            out.values[base + lane] = 0
        out.ts[n + p], out.weight[n + p] = ts, weight * lines[line, place]
    if nulls:
        for p in range(count):
            for k in range(taps.bit_ends[tap], taps.bit_ends[tap + 1]):
                source = taps.bits[k, 1]
                mask = rows[i, source] if taps.bits[k, 0] != is_left else lines[met[p], source]
                out.values[(n + p) * width + taps.bits[k, 3]] |= (mask >> taps.bits[k, 2] & 1) << taps.bits[k, 4]
    taps.counts[tap] += count


@inlined
def copy_pairs(leader: int, begin: int, tap: int, count: int, taps: Taps) -> None:
    """The first so many pairs that were written for another tap from a place on."""
    theirs, mine = open_output(taps.outputs[leader]), open_output(taps.outputs[tap])
    width, n = taps.widths[tap], taps.counts[tap]
    for k in range(count * width):
        mine.values[n * width + k] = theirs.values[begin * width + k]
    for p in range(count):
        mine.ts[n + p], mine.weight[n + p] = theirs.ts[begin + p], theirs.weight[begin + p]
    taps.counts[tap] += count


@inlined
def has_nulls(rows: Int64s, i: int, values: int, width: int, other: Side, other_values: int, met: Int64s, count: int) -> int:
    """Whether a column of a row, or of the lines that it met, is NULL; most are not."""
    nulls = 0
    for lane in range(values, width):
        nulls |= rows[i, lane]
    for lane in range(other_values, len(other.masks)):
        for p in range(count):
            nulls |= other.log.lines[met[p], lane]
    return nulls


@inlined
def come(
    is_left: int, came: Came, i: int, row: int, through: int, own: Side, other: Side, join: SharedSides
) -> tuple[int, int]:
    """Pair a row that comes with those of the other side from one of them on, for all taps but so many that are through with it.
    The row to go on with once there is room again, or NOBODY; and how many taps are through.
    """
    log, met, stops, taps, number = other.log, join.met, join.stops, join.taps, own.tail[0] - 1
    width, mask, all_taps = len(other.masks), len(log.lines) - 1, len(other.order)
    while row != NOBODY:
        start, first, count = row, through, 0
        while count < len(met):
            while through < all_taps and row < other.oldest[other.order[through]]:
                stops[through] = count
                through += 1
            if through == all_taps:
                row = NOBODY
                break
            line = row & mask
            if count >= LONG:
                prefetch(log.lines, log.jumps[line])
            met[count] = line
            count += equal_lanes(came.rows, i, own.lanes, log.lines, line, other.lanes)
            row = log.lines[line, width + PREVIOUS]
        if count == 0:
            continue
        for k in range(through, all_taps):
            stops[k] = count
        while stops[first] == 0:
            first += 1
        for k in range(first, all_taps):
            if stops[k] > taps.rooms[other.order[k]] - taps.counts[other.order[k]]:
                return start, first
        for p in range(count):
            log.lines[met[p], width + PARTNER] = number
        for p in range(count - FAR):
            log.jumps[met[p]] = met[p + FAR]
        nulls = has_nulls(came.rows, i, join.shape[1 - is_left], len(own.masks), other, join.shape[is_left], met, count)
        for place in range(all_taps - first):
            k = all_taps - 1 - place
            tap, leader = other.order[k], other.leaders[other.order[k]]
            if leader == tap:
                join.begins[tap] = taps.counts[tap]
                write(is_left, came.rows, i, came.weight[i], came.ts[i], other, met, stops[k], nulls, tap, taps)
            else:
                copy_pairs(leader, join.begins[leader], tap, stops[k], taps)
        if count > 1 and i & (SAMPLE - 1) == 0:
            count_copies(other, met, count, join.cursor)
    return NOBODY, all_taps


@inlined
def count_copies(side: Side, met: Int64s, count: int, cursor: Int64s) -> None:
    """How many pairs a walk would be spared if equal rows were one: all may have as many copies as the first one has."""
    copies, asked, lines = 0, min(count, ASKED), side.log.lines
    for p in range(1, asked):
        copies += equal_lanes(lines, met[p], side.whole, lines, met[0], side.whole)
    cursor[PROBES] += 1
    cursor[COPIES] += min(count - 1, copies * count * count // (2 * asked))


@inlined
def leave(is_left: int, tap: int, row: int, ts: int, own: Side, other: Side, join: SharedSides) -> int:
    """Pair the row that leaves a window with those of the other side that are still in it, from one of them on. The row to go on
    with once there is room again, or NOBODY.
    """
    log, own_lines, met, taps, last = other.log, own.log.lines, join.met, join.taps, other.oldest[tap]
    width, mask, i = len(other.masks), len(log.lines) - 1, own.oldest[tap] & (len(own_lines) - 1)
    while row >= last:
        start, count = row, 0
        while row >= last and count < len(met):
            line = row & mask
            if count >= LONG:
                prefetch(log.lines, log.jumps[line])
            met[count] = line
            count += equal_lanes(own_lines, i, own.lanes, log.lines, line, other.lanes)
            row = log.lines[line, width + PREVIOUS]
        if count > taps.rooms[tap] - taps.counts[tap]:
            return start
        for p in range(count - FAR):
            log.jumps[met[p]] = met[p + FAR]
        nulls = has_nulls(own_lines, i, join.shape[1 - is_left], len(own.masks), other, join.shape[is_left], met, count)
        weight = -own_lines[i, len(own.masks) + WEIGHT]
        write(is_left, own_lines, i, weight, ts, other, met, count, nulls, tap, taps)
    return NOBODY


@inlined
def make_ready(tap: int, own: Side, other: Side) -> None:
    """Ask for the newest partner of a row that leaves a large window soon, and of an earlier one for the row before that."""
    row, width, mask = own.oldest[tap] + SOON, len(own.masks), len(own.log.lines) - 1
    if row + SOON + MANY < own.log.registers[TAIL]:
        others = len(other.log.lines) - 1
        prefetch(other.log.lines, own.log.lines[(row + SOON) & mask, width + PARTNER] & others)
        partner = own.log.lines[row & mask, width + PARTNER] & others
        prefetch(other.log.lines, other.log.lines[partner, len(other.masks) + PREVIOUS] & others)


@inlined
def newest_partner(tap: int, own: Side, other: Side) -> int:
    """Of the oldest row in a window. Rows that have come in longer or shorter windows alone are passed by."""
    row = own.log.lines[own.oldest[tap] & (len(own.log.lines) - 1), len(own.masks) + PARTNER]
    while row >= other.tail[0]:
        row = other.log.lines[row & (len(other.log.lines) - 1), len(other.masks) + PREVIOUS]
    return row


@inlined
def leave_one(is_left: int, tap: int, ts: int, own: Side, other: Side, join: SharedSides) -> bool:
    """Let the oldest row leave a window; whether there was room."""
    row = join.cursor[CHAIN] - 1
    if row == NOBODY:
        make_ready(tap, own, other)
        row = newest_partner(tap, own, other)
    if row >= other.oldest[tap]:
        row = leave(is_left, tap, row, ts, own, other, join)
        join.cursor[CHAIN] = row + 1
        if row != NOBODY:
            return False
    own.oldest[tap] += 1
    return True


@inlined
def leave_window(tap: int, until: int, join: SharedSides) -> bool:
    """Let all rows leave a window that do so up to an instant; whether there was room."""
    left, right = join.left, join.right
    from_left, from_right, has_room = head(left, tap), head(right, tap), True
    while has_room and min(from_left, from_right) <= until:
        if from_left <= from_right:
            has_room = leave_one(1, tap, from_left, left, right, join)
            from_left = head(left, tap)
        else:
            has_room = leave_one(0, tap, from_right, right, left, join)
            from_right = head(right, tap)
    join.taps.due[tap] = min(from_left, from_right)
    return has_room


@inlined
def walk_ahead(came: Came, i: int, own: Side, other: Side) -> None:
    """Ask for what later rows need: their buckets, and one after the other the first rows that the other side has in them."""
    table, lines = other.log.table, other.log.lines
    width, last, mask, near = len(other.masks), len(table) - 1, len(lines) - 1, DEEP * APART
    if i + near + 2 * APART < len(came.ts):
        bucket = came.hashes[i + near + 2 * APART]
        prefetch(own.log.table, bucket & (len(own.log.table) - 1))
        prefetch(table, bucket & last)
    if i + near < len(came.ts):
        own.ahead[(i + near) & (AHEAD - 1)] = row = (table[came.hashes[i + near] & last] - 1) & mask
        prefetch(lines, row)
    for step in range(1, DEEP):
        place = (i + near - step * APART) & (AHEAD - 1)
        own.ahead[place] = row = lines[own.ahead[place] & mask, width + PREVIOUS] & mask
        prefetch(lines, row)


@inlined
def enter(came: Came, i: int, own: Side, other: Side) -> int:
    """Add a row at the end of a log and make it the newest of its bucket. The newest row in the bucket of the other side."""
    log, width, hash_ = own.log, len(own.masks), came.hashes[i]
    newest = other.log.table[hash_ & (len(other.log.table) - 1)] - 1
    bucket, line = hash_ & (len(log.table) - 1), log.registers[TAIL] & (len(log.lines) - 1)
    copy_row(came.rows, i, log.lines, line)
    log.lines[line, width + TS], log.lines[line, width + WEIGHT] = came.ts[i], came.weight[i]
    log.lines[line, width + PREVIOUS], log.lines[line, width + HASH] = log.table[bucket] - 1, hash_
    log.lines[line, width + PARTNER] = newest
    log.registers[TAIL] += 1
    log.table[bucket] = log.registers[TAIL]
    return newest


@inlined
def will_leave(ts: int, own: Side, join: SharedSides) -> None:
    """One row more is in the windows of these taps."""
    own.tail[0] += 1
    for place in range(len(own.order)):
        tap = own.order[place]
        join.taps.due[tap] = min(join.taps.due[tap], ts + own.windows[tap])
    join.cursor[NEXT] = min(join.cursor[NEXT], ts + own.windows[own.order[0]])


@inlined
def come_one(is_left: int, came: Came, i: int, own: Side, other: Side, join: SharedSides) -> bool:
    """A row comes on one side; whether there was room for its pairs."""
    cursor, row, through = join.cursor, join.cursor[CHAIN] - 1, 0
    if row != NOBODY:
        through = -cursor[TAP] - 1
    elif not has_null(came.rows, i, own.masks):
        walk_ahead(came, i, own, other)
        row = enter(came, i, own, other)
        will_leave(came.ts[i], own, join)
    if row != NOBODY:
        row, through = come(is_left, came, i, row, through, own, other, join)
    cursor[CHAIN], cursor[TAP] = row + 1, -through - 1 if row != NOBODY else 0
    return row == NOBODY


@inlined
def leave_windows(until: int, join: SharedSides) -> bool:
    """Let all rows leave the windows of these taps that do so up to an instant; whether there was room."""
    cursor, due, order = join.cursor, join.taps.due, join.left.order
    for place in range(cursor[TAP], len(order)):
        tap = order[place]
        if due[tap] <= until and not leave_window(tap, until, join):
            cursor[TAP] = place
            return False
    cursor[TAP], cursor[NEXT] = 0, FOREVER
    for place in range(len(order)):
        cursor[NEXT] = min(cursor[NEXT], due[order[place]])
    return True


@kernel
def join_shared(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    r_hashes: Int64s, until: int, record: Int64s,
) -> bool:
    """Take all rows in that come, and let those leave that do so up to an instant; whether there was room for all changes."""
    left, right = Came(l_rows, l_ts, l_weight, l_hashes), Came(r_rows, r_ts, r_weight, r_hashes)
    join = open_sides(record)
    cursor, has_room = join.cursor, True
    while True:
        comes_left, comes_right = time_of(left, cursor[LEFT]), time_of(right, cursor[RIGHT])
        cursor[OPEN] = comes = min(comes_left, comes_right)
        is_coming = cursor[CHAIN] != 0 and cursor[TAP] < 0
        if not is_coming and cursor[NEXT] <= min(comes, until):
            has_room = leave_windows(min(comes, until), join)
        if not has_room or comes == FOREVER:
            break
        if comes_left <= comes_right:
            has_room = come_one(1, left, cursor[LEFT], join.left, join.right, join)
            cursor[LEFT] += has_room
        else:
            has_room = come_one(0, right, cursor[RIGHT], join.right, join.left, join)
            cursor[RIGHT] += has_room
        if not has_room:
            break
    return has_room
