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

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.prefetching import NEAR, prefetch
from sash.operators.group_by.kernels.sliding_extremes import FIRST, FIRST_VALUE
from sash.operators.group_by.kernels.sliding_sums import (
    LAST,
    LIVE,
    TAIL,
    USED,
    touch,
)
from sash.operators.group_by.opcodes import (
    FEED_VALUE,
    LINK,
    ROWS,
    SHOWN,
)
from sash.operators.shared_groups.kernels.records import (
    ARE_SEVERAL,
    CHANGES,
    CHANGES_AT,
    DUE,
    END,
    ENTER,
    FIRST_GIVEN,
    GIVEN,
    GROUP,
    INSTANTS,
    LANES,
    LANES_AT,
    LAST_GIVEN,
    LEAVE,
    NEXT,
    NEXT_GIVEN,
    REACHED,
    ROW,
    SIZE,
    SLIDE,
    TAP,
    TAP_AT,
    TAP_CELL,
    TAP_KIND,
    VALUE,
    WIDTH,
    WRITTEN,
    Given,
    Parts,
    Tap,
    open_shared,
    open_tap,
)
from sash.operators.shared_groups.kernels.slices import (
    comes_at,
    first_after,
    forget_parts,
    least_of,
    link_parts,
    look_ahead,
    take_row,
)
from sash.operators.shared_groups.kernels.tap_lines import (
    add_part,
    find_values,
    renew,
    show_change,
    subtract_part,
)
from sash.schema import FOREVER


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
            look_ahead(tags, i, parts)
            take_row(rows, i, ts[i], weight[i], tags[i], parts, cursors, work)
            i += 1
        work[ROW] = i
        moment = work[NEXT]
        if moment >= now:
            break
        link_parts(moment, parts)
        for tap in range(len(cursors)):
            if cursors[tap, DUE] == moment:
                own = open_tap(shared.taps[tap])
                if not _has_room(own, registers, given, work):
                    work[TAP] = tap
                    return False
                _slide_tap(tap, moment, own, parts, cursors, given, work)
        work[NEXT] = least_of(cursors, DUE)
    registers[REACHED] = now - 1
    forget_parts(parts, cursors)
    return True


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
        subtract_part(ring, leave & mask, own.feeds, lines)
        leave += 1
    while enter < tail and ring[enter & mask, END] <= moment:
        prefetch(lines, ring[(enter + NEAR) & mask, GROUP])
        touched = touch(ring[enter & mask, GROUP], touched, lines)
        add_part(ring, enter, parts, own, lines)
        enter += 1
    cursors[tap, ENTER], cursors[tap, LEAVE] = enter, leave
    cursors[tap, DUE] = _next_instant(tap, ring, tail, cursors)
    are_several = lines[touched, LINK] != LAST
    written, at = 0, work[LANES]
    while touched != LAST:
        group, touched = touched, lines[touched, LINK]
        lines[group, LINK] = 0
        find_values(group, leave, ring, own)
        written = show_change(group, moment, own, parts.registers, given, at, work[WRITTEN], written)
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
        due = comes_at(ring[cursors[tap, ENTER] & mask, END], slide)
    if cursors[tap, LEAVE] < cursors[tap, ENTER]:
        due = min(due, comes_at(ring[cursors[tap, LEAVE] & mask, END], slide) + cursors[tap, SIZE])
    return due


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


@kernel
def place_tap(tap: int, record: Int64s) -> None:
    """Find out where a window begins and ends in the ring, by how far all is done."""
    shared = open_shared(record)
    ring, registers, cursors = shared.parts.ring, shared.parts.registers, shared.cursors
    last = registers[REACHED] // cursors[tap, SLIDE] * cursors[tap, SLIDE]  # the last instant at which it could move
    cursors[tap, LEAVE] = first_after(last - cursors[tap, SIZE], registers, ring)
    cursors[tap, ENTER] = first_after(last, registers, ring)
    cursors[tap, DUE] = _next_instant(tap, ring, registers[TAIL], cursors)
    shared.work[NEXT] = least_of(cursors, DUE)


@kernel
def fill_tap(tap: int, record: Int64s) -> None:
    """Add up what a window holds that has its place, into lines that are all zero, as if all of it had been shown."""
    shared = open_shared(record)
    parts, cursors, own = shared.parts, shared.cursors, open_tap(shared.taps[tap])
    ring, lines, mask, touched = parts.ring, own.lines, len(parts.ring) - 1, LAST
    for number in range(cursors[tap, LEAVE], cursors[tap, ENTER]):
        group = ring[number & mask, GROUP]
        touched = touch(group, touched, lines)
        add_part(ring, number, parts, own, lines)
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
            renew(call, group, own, parts.registers)
        lines[group, SHOWN] = 1
