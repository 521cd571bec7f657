"""Groups over many windows of one stream that jump: what comes is added up once, in slices, whatever the windows are.

    rows          . .. .  | .   ... | ..      | . . .. |         ts ─▶
    parts           a b   |   a b   |   a     |   b    |         what every group added in a slice: one line of the ring
    window of 2   [ - - - - - - - - ) leaves  ) comes  )         a tap adds the parts that come, takes off those that leave
    window of 4   [ - - - - - - - - - - - - - ) comes  )

A part comes to a tap at the end of the slide that it is in, and leaves a window later. For counts and sums a tap has cells, in a
line for every group, with the row that it shows. For MIN and MAX every part knows the first later part of its group that is no
worse (it is better than all between, so windows that begin before it go on there), and, while there is none, the next one that
may be shown. So a tap knows the part it shows, and goes on from there: never back.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import LOAD, MOST_LOAD, NANS, add_192, add_double, add_exact, carry_limbs, take_192
from sash.kernels.hashing import HALF
from sash.kernels.prefetching import FAR, NEAR, prefetch
from sash.operators.group_by.kernels.aggregates import double_of
from sash.operators.group_by.kernels.groups import GroupFacts, tag_rows_by_key
from sash.operators.group_by.kernels.sliding_extremes import FIRST, FIRST_VALUE
from sash.operators.group_by.kernels.sliding_sums import (
    FREE,
    HEAD,
    LAST,
    LIVE,
    TAIL,
    USED,
    find_group,
    forget_group,
    renew_call,
    show_value,
    touch,
)
from sash.operators.group_by.kernels.value_nodes import to_order
from sash.operators.group_by.opcodes import (
    AVG_DOUBLE,
    CALL_CELL,
    CALL_KIND,
    CALL_PART,
    FEED_DOUBLE,
    FEED_EXACT,
    FEED_VALUE,
    FIRST_CELL,
    LINK,
    ROWS,
    SHOWN,
    SUM_DOUBLE,
)
from sash.schema import FOREVER

# Registers beside those of a sliding window: parts below are linked, and the instant up to which all is done.
LINKED, REACHED, REGISTERS = 8, 9, 10
assert max(HEAD, TAIL, LIVE, USED, FREE) < LINKED

# Lanes of a part: its group, the end of its slice, its rows; then what its feeds added up.
GROUP, END, COUNT, SUMS = 0, 1, 2, 3
# Of a feed of values: how many, the best; the first later part that is no worse, the next one that may be shown, the one before.
VALUE, NO_WORSE, FOLLOWING, BEFORE = 1, 2, 3, 4
# Of a feed of doubles: how many, what is counted apart, and the load (`exact_sum.py`), then the limbs.
DOUBLE_LIMBS = LOAD + 1
# Of a feed: what it adds up, of which column (lane, mask, bit), in which order; where it lies in a part; its limbs.
KIND, LANE, MASK, BIT, ORDER, IS_MAX, AT, BASE, LENGTH, FEED_FIELDS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
# In a group's line, where others have what they show: the number of its newest part, from 1 on.
NEWEST = SHOWN

# Of a tap: its window; the first part that has not come, the first that has not left; its next instant; what it gave in a step.
SIZE, SLIDE, ENTER, LEAVE, DUE, GIVEN, FIRST_GIVEN, LAST_GIVEN, CURSORS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Of what a tap gave at an instant: where its lanes and changes begin, how many; the next such line; whether of several groups.
LANES_AT, CHANGES_AT, CHANGES, NEXT_GIVEN, ARE_SEVERAL, GIVEN_FIELDS = 0, 1, 2, 3, 4, 5
# Of a step: the next row, the next instant of any tap; lanes, changes and lines of instants written; the tap without room.
ROW, NEXT, LANES, WRITTEN, INSTANTS, TAP, WORK = 0, 1, 2, 3, 4, 5, 6
ROW_AT, WIDTH, VALUES, SHAPE = 0, 1, 2, 3  # of a tap: where the row begins in its lines, its lanes, those of values
# Of a feed of a tap: what it adds up, where it lies in a part, its first cell; where its limbs lie in a line, and how many.
TAP_KIND, TAP_AT, TAP_CELL, TAP_LIMBS, TAP_LENGTH, TAP_FIELDS = 0, 1, 2, 3, 4, 5


class Tap(NamedTuple):
    facts: GroupFacts
    feeds: Lines
    lines: Lines
    shape: Line
    ranges: Lines  # of sums of doubles: where their limbs are in a line


class Parts(NamedTuple):
    """Groups by key, and what they added in slices of a width (`shape`: that, then how many lanes of a key hold values)."""

    facts: GroupFacts
    feeds: Lines
    shape: Line
    registers: Line
    table: Line
    groups: Lines
    ring: Lines
    newest: Lines  # of every group and feed, the number of the last part that may be shown, from 1 on


class SharedGroups(NamedTuple):
    parts: Parts
    taps: Lines  # their records
    cursors: Lines
    work: Line


class Given(NamedTuple):
    """Room for what taps give, one after the other."""

    instants: Lines
    lanes: Line
    ts: Line
    weight: Line


open_parts, open_tap, open_shared = opened(Parts), opened(Tap), opened(SharedGroups)


@kernel
def tag_rows(rows: Int64s, record: Int64s, tags: Int64s) -> None:
    tag_rows_by_key(rows, open_parts(record).facts, tags)


@kernel
def slide_shared(
    rows: Int64s, ts: Int64s, weight: Int64s, tags: Int64s, now: int, record: Int64s, instants: Int64s, lanes: Int64s,
    out_ts: Int64s, out_weight: Int64s,
) -> bool:
    """All that happens before `now`; False where there is no room, to be called again. There is room for a part for every row."""
    shared, given = open_shared(record), Given(instants, lanes, out_ts, out_weight)
    parts, cursors, work = shared.parts, shared.cursors, shared.work
    registers, i = parts.registers, work[ROW]
    while True:
        while i < len(ts) and ts[i] < work[NEXT]:
            _look_ahead(tags, i, parts)
            _take(rows, i, ts[i], weight[i], tags[i], parts, cursors, work)
            i += 1
        work[ROW] = i
        moment = work[NEXT]
        if moment >= now:
            break
        _link(moment, parts)
        for tap in range(len(cursors)):
            if cursors[tap, DUE] == moment:
                own = open_tap(shared.taps[tap])
                if not _has_room(own, registers, given, work):
                    work[TAP] = tap
                    return False
                _slide_tap(tap, moment, own, parts, cursors, given, work)
        work[NEXT] = _least(cursors, DUE)
    registers[REACHED] = now - 1
    _forget_parts(parts, cursors)
    return True


@inlined
def _look_ahead(tags: Int64s, i: int, parts: Parts) -> None:
    if i + FAR < len(tags):
        prefetch(parts.table, tags[i + FAR] & len(parts.table) - 1)
        prefetch(parts.groups, parts.table[tags[i + NEAR] & len(parts.table) - 1] & HALF)


@inlined
def _take(rows: Int64s, i: int, ts: int, weight: int, tag: int, parts: Parts, cursors: Int64s, work: Int64s) -> None:
    """Add a row to what its group has in its slice."""
    registers, groups, ring, mask = parts.registers, parts.groups, parts.ring, len(parts.ring) - 1
    width = parts.shape[0]
    end = (ts // width + 1) * width
    group = find_group(rows, i, tag, parts.facts.keys, FIRST_CELL, registers, parts.table, groups)
    newest, tail = groups[group, NEWEST], registers[TAIL]
    entry = (newest - 1) & mask
    if newest == 0 or ring[entry, END] != end:
        if tail == registers[HEAD] or ring[(tail - 1) & mask, END] != end:
            _expect(end, cursors, work)
        entry = tail & mask
        for lane in range(ring.shape[1]):
            ring[entry, lane] = 0
        ring[entry, GROUP], ring[entry, END] = group, end
        groups[group, NEWEST] = tail + 1
        groups[group, ROWS] += 1
        registers[TAIL] = tail + 1
    ring[entry, COUNT] += weight
    for feed in range(len(parts.feeds)):
        if rows[i, parts.feeds[feed, MASK]] >> parts.feeds[feed, BIT] & 1 == 0:
            _add_value(rows[i, parts.feeds[feed, LANE]], weight, feed, parts.feeds, ring, entry)


@inlined
def _add_value(value: int, weight: int, feed: int, feeds: Int64s, ring: Int64s, entry: int) -> None:
    kind, at = feeds[feed, KIND], feeds[feed, AT]
    if kind == FEED_EXACT:
        add_exact(ring, entry, at + 1, value, value >> 63, weight)
    elif kind == FEED_DOUBLE:
        first, base, length = at + DOUBLE_LIMBS, feeds[feed, BASE], feeds[feed, LENGTH]
        add_double(ring, entry, at, first, base, length, value, weight)
    elif kind == FEED_VALUE:
        order, _ = to_order(feeds[feed, ORDER], feeds[feed, IS_MAX], value, 0)
        if ring[entry, at] == 0 or order < ring[entry, at + VALUE]:
            ring[entry, at + VALUE] = order
    ring[entry, at] += weight


@kernel
def _expect(end: int, cursors: Int64s, work: Int64s) -> None:
    """A slice has its first row: it comes to every tap at the end of a slide."""
    for tap in range(len(cursors)):
        comes = _visible(end, cursors[tap, SLIDE])
        cursors[tap, DUE] = min(cursors[tap, DUE], comes)
        work[NEXT] = min(work[NEXT], comes)


@inlined
def _least(cursors: Int64s, column: int) -> int:
    least = FOREVER
    for tap in range(len(cursors)):
        least = min(least, cursors[tap, column])
    return least


@inlined
def _visible(end: int, slide: int) -> int:
    """When a slice comes to a window: at the end of the slide that it ends in."""
    return -(-end // slide) * slide


@kernel
def _link(moment: int, parts: Parts) -> None:
    """Link the parts of slices that are over, so that it is known which values may yet be shown."""
    registers, ring, feeds, mask = parts.registers, parts.ring, parts.feeds, len(parts.ring) - 1
    head, tail, number = registers[HEAD], registers[TAIL], max(registers[LINKED], registers[HEAD])
    while number < tail and ring[number & mask, END] <= moment:
        for feed in range(len(feeds)):
            if feeds[feed, KIND] == FEED_VALUE and ring[number & mask, feeds[feed, AT]]:
                _link_value(number, head, feed, feeds[feed, AT], ring, parts.newest)
        number += 1
    registers[LINKED] = number


@inlined
def _link_value(number: int, head: int, feed: int, at: int, ring: Int64s, newest: Int64s) -> None:
    mask, group = len(ring) - 1, ring[number & (len(ring) - 1), GROUP]
    value, last = ring[number & mask, at + VALUE], newest[group, feed]
    while last > head and ring[(last - 1) & mask, at + VALUE] >= value:
        ring[(last - 1) & mask, at + NO_WORSE] = number + 1
        last = ring[(last - 1) & mask, at + BEFORE]
    if last > head:
        ring[(last - 1) & mask, at + FOLLOWING] = number + 1
    ring[number & mask, at + BEFORE] = last
    newest[group, feed] = number + 1


@inlined
def _has_room(own: Tap, registers: Int64s, given: Given, work: Int64s) -> bool:
    """Whether all groups may change: a line for each, two changes, and a line for the instant."""
    most = 2 * registers[LIVE]
    return (
        registers[USED] < len(own.lines) and work[INSTANTS] < len(given.instants) and work[WRITTEN] + most <= len(given.ts)
        and work[LANES] + most * own.shape[WIDTH] <= len(given.lanes)
    )


@kernel
def _slide_tap(tap: int, moment: int, own: Tap, parts: Parts, cursors: Int64s, given: Given, work: Int64s) -> None:
    """Move a window to an instant, and write what changes."""
    ring, lines, mask, tail = parts.ring, own.lines, len(parts.ring) - 1, parts.registers[TAIL]
    size, enter, leave, touched = cursors[tap, SIZE], cursors[tap, ENTER], cursors[tap, LEAVE], LAST
    while leave < enter and ring[leave & mask, END] <= moment - size:  # instants and sizes are whole slides
        prefetch(lines, ring[(leave + NEAR) & mask, GROUP])
        touched = touch(ring[leave & mask, GROUP], touched, lines)
        _subtract(ring, leave & mask, own.feeds, lines)
        leave += 1
    while enter < tail and ring[enter & mask, END] <= moment:
        prefetch(lines, ring[(enter + NEAR) & mask, GROUP])
        touched = touch(ring[enter & mask, GROUP], touched, lines)
        _add(ring, enter, parts, own, lines)
        enter += 1
    cursors[tap, ENTER], cursors[tap, LEAVE] = enter, leave
    cursors[tap, DUE] = _next_instant(tap, ring, tail, cursors)
    are_several = lines[touched, LINK] != LAST
    written, at = 0, work[LANES]
    while touched != LAST:
        group, touched = touched, lines[touched, LINK]
        lines[group, LINK] = 0
        _find_values(group, leave, ring, own)
        written = _show_change(group, moment, own, parts.registers, given, at, work[WRITTEN], written)
        if lines[group, ROWS] == 0:
            for lane in range(lines.shape[1]):
                lines[group, lane] = 0
    if written:
        _note(tap, written, are_several, own, cursors, given, work)


@inlined
def _note(
    tap: int, written: int, are_several: bool, own: Tap, cursors: Int64s, given: Given, work: Int64s
) -> None:
    """Remember where the changes of an instant are."""
    line = work[INSTANTS]
    given.instants[line, LANES_AT], given.instants[line, CHANGES_AT] = work[LANES], work[WRITTEN]
    given.instants[line, CHANGES], given.instants[line, ARE_SEVERAL] = written, are_several
    if cursors[tap, GIVEN]:
        given.instants[cursors[tap, LAST_GIVEN], NEXT_GIVEN] = line
    else:
        cursors[tap, FIRST_GIVEN] = line
    cursors[tap, LAST_GIVEN] = line
    cursors[tap, GIVEN] += written
    work[LANES] += written * own.shape[WIDTH]
    work[WRITTEN] += written
    work[INSTANTS] += 1


@inlined
def _next_instant(tap: int, ring: Int64s, tail: int, cursors: Int64s) -> int:
    """When something comes to a tap, or leaves it."""
    mask, slide, due = len(ring) - 1, cursors[tap, SLIDE], FOREVER
    if cursors[tap, ENTER] < tail:
        due = _visible(ring[cursors[tap, ENTER] & mask, END], slide)
    if cursors[tap, LEAVE] < cursors[tap, ENTER]:
        due = min(due, _visible(ring[cursors[tap, LEAVE] & mask, END], slide) + cursors[tap, SIZE])
    return due


@inlined
def _add(ring: Int64s, number: int, parts: Parts, own: Tap, lines: Int64s) -> None:
    entry = number & (len(ring) - 1)
    group = ring[entry, GROUP]
    if lines[group, ROWS] == 0 and lines[group, SHOWN] == 0:
        _copy_key(group, parts, own, lines)
    lines[group, ROWS] += ring[entry, COUNT]
    for feed in range(len(own.feeds)):
        kind, at, cell = own.feeds[feed, TAP_KIND], own.feeds[feed, TAP_AT], own.feeds[feed, TAP_CELL]
        if kind == FEED_VALUE:
            if ring[entry, at] and lines[group, cell + FIRST] == 0:
                lines[group, cell + FIRST] = number + 1
        else:
            lines[group, cell] += ring[entry, at]
            if kind == FEED_DOUBLE:
                _add_limbs(1, ring, entry, feed, own.feeds, lines, group)
            elif kind == FEED_EXACT:
                add_192(lines, group, cell + 1, ring[entry, at + 1], ring[entry, at + 2], ring[entry, at + 3])


@inlined
def _subtract(ring: Int64s, entry: int, feeds: Int64s, lines: Int64s) -> None:
    group = ring[entry, GROUP]
    lines[group, ROWS] -= ring[entry, COUNT]
    for feed in range(len(feeds)):
        kind, at, cell = feeds[feed, TAP_KIND], feeds[feed, TAP_AT], feeds[feed, TAP_CELL]
        if kind != FEED_VALUE:
            lines[group, cell] -= ring[entry, at]
            if kind == FEED_DOUBLE:
                _add_limbs(-1, ring, entry, feed, feeds, lines, group)
            elif kind == FEED_EXACT:
                take_192(lines, group, cell + 1, ring[entry, at + 1], ring[entry, at + 2], ring[entry, at + 3])


@inlined
def _add_limbs(sign: int, ring: Int64s, entry: int, feed: int, feeds: Int64s, lines: Int64s, group: int) -> None:
    """Add the sum of doubles of a part, or take it off. Each limb of a part is below 2^33 times its load and one."""
    at, cell, first, length = feeds[feed, TAP_AT], feeds[feed, TAP_CELL], feeds[feed, TAP_LIMBS], feeds[feed, TAP_LENGTH]
    for place in range(NANS, LOAD):
        lines[group, cell + place] += sign * ring[entry, at + place]
    if lines[group, cell + LOAD] + ring[entry, at + LOAD] >= MOST_LOAD:
        carry_limbs(lines, group, first, length)
        lines[group, cell + LOAD] = 0
    for limb in range(length):
        lines[group, first + limb] += sign * ring[entry, at + DOUBLE_LIMBS + limb]
    lines[group, cell + LOAD] += ring[entry, at + LOAD] + 1


@inlined
def _copy_key(group: int, parts: Parts, own: Tap, lines: Int64s) -> None:
    key, row_at, values = parts.shape[1], own.shape[ROW_AT], own.shape[VALUES]
    for lane in range(key):
        lines[group, row_at + lane] = parts.groups[group, FIRST_CELL + lane]
    for mask in range(parts.groups.shape[1] - FIRST_CELL - key):
        lines[group, row_at + values + mask] = parts.groups[group, FIRST_CELL + key + mask]


@inlined
def _find_values(group: int, leave: int, ring: Int64s, own: Tap) -> None:
    """Go on to the parts whose values are shown now."""
    mask, lines = len(ring) - 1, own.lines
    for feed in range(len(own.feeds)):
        if own.feeds[feed, TAP_KIND] == FEED_VALUE:
            at, cell = own.feeds[feed, TAP_AT], own.feeds[feed, TAP_CELL]
            number = lines[group, cell + FIRST]
            while number:
                part = (number - 1) & mask
                if ring[part, at + NO_WORSE]:
                    number = ring[part, at + NO_WORSE]
                elif number <= leave:
                    number = ring[part, at + FOLLOWING]
                else:
                    lines[group, cell + FIRST_VALUE] = ring[part, at + VALUE]
                    break
            lines[group, cell + FIRST] = number


@inlined
def _show_change(
    group: int, now: int, own: Tap, registers: Int64s, given: Given, lanes_at: int, changes_at: int, written: int
) -> int:
    """Take back the row that the group shows, write the one that it has now; the answer is how many changes are written then."""
    lines, start = own.lines, written
    if lines[group, SHOWN]:
        written = _write(group, -1, now, own, given, lanes_at, changes_at, written)
    if lines[group, ROWS] == 0:
        return written
    is_other = lines[group, SHOWN] == 0
    for call in range(len(own.facts.calls)):
        is_other |= _renew(call, group, own, registers)
    if not is_other:
        return start
    lines[group, SHOWN] = 1
    return _write(group, 1, now, own, given, lanes_at, changes_at, written)


@inlined
def _renew(call: int, group: int, own: Tap, registers: Int64s) -> bool:
    """Bring the value of one aggregate in the shown row up to date; whether it changed."""
    calls, lines, row_at = own.facts.calls, own.lines, own.shape[ROW_AT]
    kind = calls[call, CALL_KIND]
    if kind not in (SUM_DOUBLE, AVG_DOUBLE):
        return renew_call(call, group, row_at, own.facts, registers, lines)
    cell = calls[call, CALL_CELL]
    count, value = lines[group, cell], 0
    if count:
        divisor = count if kind == AVG_DOUBLE else 0
        value = double_of(lines, group, cell, own.ranges, calls[call, CALL_PART], own.facts.limbs, divisor)
    return show_value(call, group, row_at, calls, lines, value, count == 0)


@inlined
def _write(
    group: int, weight: int, now: int, own: Tap, given: Given, lanes_at: int, changes_at: int, written: int
) -> int:
    width, row_at = own.shape[WIDTH], own.shape[ROW_AT]
    for lane in range(width):
        given.lanes[lanes_at + written * width + lane] = own.lines[group, row_at + lane]
    given.ts[changes_at + written], given.weight[changes_at + written] = now, weight
    return written + 1


@kernel
def _forget_parts(parts: Parts, cursors: Int64s) -> None:
    """Forget the parts that have left all taps, and groups with their last one."""
    registers, ring, mask = parts.registers, parts.ring, len(parts.ring) - 1
    head, first = registers[HEAD], _least(cursors, LEAVE)
    while head < first:
        group = ring[head & mask, GROUP]
        parts.groups[group, ROWS] -= 1
        if parts.groups[group, ROWS] == 0:
            for feed in range(parts.newest.shape[1]):
                parts.newest[group, feed] = 0
            forget_group(group, registers, parts.table, parts.groups)
        head += 1
    registers[HEAD] = head


@kernel
def gather(
    first: int, width: int, instants: Int64s, lanes: Int64s, ts: Int64s, weight: Int64s, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, crowded: Int64s,
) -> int:
    """Copy what a tap gave in a step; the answer is how many instants changed several groups, and `crowded` where they begin."""
    n, crowds, line = 0, 0, first
    while n < len(out_ts):
        start, begin = instants[line, LANES_AT], instants[line, CHANGES_AT]
        if instants[line, ARE_SEVERAL] and instants[line, CHANGES] > 1:
            crowded[crowds] = n
            crowds += 1
        for change in range(instants[line, CHANGES]):
            for lane in range(width):
                out_rows[n, lane] = lanes[start + change * width + lane]
            out_ts[n], out_weight[n] = ts[begin + change], weight[begin + change]
            n += 1
        line = instants[line, NEXT_GIVEN]
    return crowds


@inlined
def _first_after(instant: int, registers: Int64s, ring: Int64s) -> int:
    """The first part of a slice that ends after an instant."""
    low, high, mask = registers[HEAD], registers[TAIL], len(ring) - 1
    while low < high:
        middle = (low + high) // 2
        if ring[middle & mask, END] <= instant:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def place_tap(tap: int, record: Int64s) -> None:
    """Find out where a window begins and ends in the ring, by how far all is done."""
    shared = open_shared(record)
    ring, registers, cursors = shared.parts.ring, shared.parts.registers, shared.cursors
    last = registers[REACHED] // cursors[tap, SLIDE] * cursors[tap, SLIDE]  # the last instant at which it could move
    cursors[tap, LEAVE] = _first_after(last - cursors[tap, SIZE], registers, ring)
    cursors[tap, ENTER] = _first_after(last, registers, ring)
    cursors[tap, DUE] = _next_instant(tap, ring, registers[TAIL], cursors)
    shared.work[NEXT] = _least(cursors, DUE)


@kernel
def fill_tap(tap: int, record: Int64s) -> None:
    """Add up what a window holds that has its place, into lines that are all zero, as if all of it had been shown."""
    shared = open_shared(record)
    parts, cursors, own = shared.parts, shared.cursors, open_tap(shared.taps[tap])
    ring, lines, mask, touched = parts.ring, own.lines, len(parts.ring) - 1, LAST
    for number in range(cursors[tap, LEAVE], cursors[tap, ENTER]):
        group = ring[number & mask, GROUP]
        touched = touch(group, touched, lines)
        _add(ring, number, parts, own, lines)
        for feed in range(len(own.feeds)):
            at, cell = own.feeds[feed, TAP_AT], own.feeds[feed, TAP_CELL]
            if own.feeds[feed, TAP_KIND] == FEED_VALUE and ring[number & mask, at]:
                value = ring[number & mask, at + VALUE]
                if lines[group, cell + FIRST] == number + 1 or value <= lines[group, cell + FIRST_VALUE]:
                    lines[group, cell + FIRST], lines[group, cell + FIRST_VALUE] = number + 1, value
    while touched != LAST:
        group, touched = touched, lines[touched, LINK]
        lines[group, LINK] = 0
        for call in range(len(own.facts.calls)):
            _renew(call, group, own, parts.registers)
        lines[group, SHOWN] = 1


@kernel
def find_groups(keys: Int64s, tags: Int64s, record: Int64s, found: Int64s) -> None:
    """The groups of keys as they lie in the lines of groups, new ones if need be; there is room for all."""
    parts = open_parts(record)
    for i in range(len(keys)):
        found[i] = find_group(keys, i, tags[i], parts.facts.keys, FIRST_CELL, parts.registers, parts.table, parts.groups)


@kernel
def link_anew(record: Int64s) -> None:
    """All parts of slices that are over, after some came in before the others; `newest` is all zero."""
    parts = open_parts(record)
    registers, ring, mask = parts.registers, parts.ring, len(parts.ring) - 1
    for number in range(registers[HEAD], registers[TAIL]):
        for feed in range(len(parts.feeds)):
            if parts.feeds[feed, KIND] == FEED_VALUE:
                for link in range(NO_WORSE, BEFORE + 1):
                    ring[number & mask, parts.feeds[feed, AT] + link] = 0
    registers[LINKED] = registers[HEAD]
    _link(registers[REACHED], parts)
