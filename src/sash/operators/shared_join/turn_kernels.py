"""Turns of a shared join: rows enter the logs first, and go through the windows later, one window after the other.

    rows of one side, by number      … 7  8  9 10 11 12 13 │ all have entered
    tail of the window of 600 s         ^                         its next turn takes rows 8 and on
    tail of the window of 1 s                    ^                rows 8 to 11 are through with it, and not with longer ones

A turn takes some rows through one window. What a row meets there is told to the taps of that window, in the order of time, beside
what leaves it; and numbers of the partners are kept for longer windows, in the order in which rows come. There the row has these
partners first, and walks on from where it stopped. So a walk is done once, however many turns it takes.

    found     2 │ 41 17 │ 0 │ 1 │ 33 │ …      of every row how many partners it has, and their numbers, newest first

Rows of longer windows are told their newest partner by shorter ones before it has come in their own time: `newest_partner` passes
it by.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.prefetching import prefetch
from sash.kernels.row_log import PREVIOUS, TAIL, WEIGHT
from sash.kernels.rows import has_null
from sash.operators.shared_join.kernels import (
    DEEP,
    FAR,
    FOUND,
    FOUND_HEAD,
    KNOWN,
    LEFT,
    LEFT_OVER,
    LONG,
    NEXT,
    OPEN,
    PARTNER,
    RIGHT,
    TAP,
    TS,
    Came,
    SharedSides,
    Side,
    copy_pairs,
    enter,
    has_nulls,
    leave_windows,
    open_sides,
    time_of,
    will_leave,
    write,
)
from sash.schema import FOREVER


class Partners(NamedTuple):
    """Of every row of a turn: how many partners it has, and their numbers. `known` by the windows before, `found` for those that
    follow; empty where there are none.
    """

    known: Line
    found: Line


@kernel
def enter_rows(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, l_hashes: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    r_hashes: Int64s, record: Int64s,
) -> None:
    """Put rows into the logs, in the order in which they come; each is to begin with the newest row that is there before it."""
    left, right = Came(l_rows, l_ts, l_weight, l_hashes), Came(r_rows, r_ts, r_weight, r_hashes)
    join, i, j = open_sides(record), 0, 0
    while i < len(left.ts) or j < len(right.ts):
        if time_of(left, i) <= time_of(right, j):
            enter_one(left, i, join.left, join.right)
            i += 1
        else:
            enter_one(right, j, join.right, join.left)
            j += 1


@inlined
def enter_one(came: Came, i: int, own: Side, other: Side) -> None:
    if i + DEEP < len(came.ts):
        prefetch(own.log.table, came.hashes[i + DEEP] & (len(own.log.table) - 1))
        prefetch(other.log.table, came.hashes[i + DEEP] & (len(other.log.table) - 1))
    if not has_null(came.rows, i, own.masks):
        newest = enter(came, i, own, other)
        own.log.stops[(own.log.registers[TAIL] - 1) & (len(own.log.lines) - 1)] = newest


@inlined
def time_of_row(side: Side, row: int, stop: int) -> int:
    return side.log.lines[row & (len(side.log.lines) - 1), len(side.masks) + TS] if row < stop else FOREVER


@inlined
def take_up(number: int, own: Side, join: SharedSides, partners: Partners) -> bool:
    """Begin with a row: what is known of it goes on to longer windows. Whether there was room for that."""
    cursor, known, found = join.cursor, partners.known, partners.found
    left = known[cursor[KNOWN]] if len(known) else 0
    if len(found):
        place = cursor[FOUND]
        if place + 1 + left > len(found):
            return False
        for k in range(left + 1):
            found[place + k] = known[cursor[KNOWN] + k] if left else 0
        cursor[FOUND_HEAD], cursor[FOUND] = place, place + 1 + left
    cursor[KNOWN] += len(known) > 0
    cursor[LEFT_OVER], cursor[TAP] = left, -1
    will_leave(own.log.lines[number & (len(own.log.lines) - 1), len(own.masks) + TS], own, join)
    return True


@inlined
def walk_on(is_left: int, number: int, own: Side, other: Side, join: SharedSides, partners: Partners) -> bool:
    """Pair a row that comes with those of the other side that are in the window; whether there was room."""
    log, cursor, met, taps, found = other.log, join.cursor, join.met, join.taps, partners.found
    width, mask, i = len(other.masks), len(log.lines) - 1, number & (len(own.log.lines) - 1)
    lines, own_width, last = own.log.lines, len(own.masks), other.oldest[other.order[0]]
    while True:
        row, left, place, count = own.log.stops[i], cursor[LEFT_OVER], cursor[KNOWN], 0
        while count < len(met) and left > 0:
            if left > FAR:
                prefetch(log.lines, partners.known[place + FAR] & mask)
            partner = partners.known[place]
            if partner < last:  # so are all that are older
                place += left
                left = 0
                break
            met[count] = partner & mask
            place, left, count = place + 1, left - 1, count + 1
        begin = count
        while count < len(met) and left == 0 and row >= last:
            line = row & mask
            if count >= LONG:
                prefetch(log.lines, log.jumps[line])
            met[count] = line
            is_partner = equal_lanes(lines, i, own.lanes, log.lines, line, other.lanes)
            if is_partner and len(found):
                if cursor[FOUND] + count - begin == len(found):
                    return False
                found[cursor[FOUND] + count - begin] = row
            count += is_partner
            row = log.lines[line, width + PREVIOUS]
        for k in range(len(other.order)):
            if count > taps.rooms[other.order[k]] - taps.counts[other.order[k]]:
                return False
        if len(found):
            cursor[FOUND] += count - begin
            found[cursor[FOUND_HEAD]] += count - begin
        own.log.stops[i], cursor[LEFT_OVER], cursor[KNOWN] = row, left, place
        if count == 0:
            return True
        for p in range(begin, count):
            log.lines[met[p], width + PARTNER] = max(number, log.lines[met[p], width + PARTNER])
        for p in range(count - FAR):
            log.jumps[met[p]] = met[p + FAR]
        nulls = has_nulls(lines, i, join.shape[1 - is_left], own_width, other, join.shape[is_left], met, count)
        for k in range(len(other.order)):
            tap = other.order[len(other.order) - 1 - k]
            leader = other.leaders[tap]
            if leader == tap:
                join.begins[tap] = taps.counts[tap]
                weight, ts = lines[i, own_width + WEIGHT], lines[i, own_width + TS]
                write(is_left, lines, i, weight, ts, other, met, count, nulls, tap, taps)
            else:
                copy_pairs(leader, join.begins[leader], tap, count, taps)


@inlined
def come_in_turn(is_left: int, number: int, own: Side, other: Side, join: SharedSides, partners: Partners) -> bool:
    """A row comes in the time of a window; whether there was room for its pairs."""
    if join.cursor[TAP] == 0:
        soon = (number + DEEP) & (len(own.log.lines) - 1)
        prefetch(other.log.lines, own.log.stops[soon] & (len(other.log.lines) - 1))
        if not take_up(number, own, join, partners):
            return False
    if not walk_on(is_left, number, own, other, join, partners):
        return False
    join.cursor[TAP] = 0
    return True


@kernel
def run_turn(until: int, left_stop: int, right_stop: int, known: Int64s, found: Int64s, record: Int64s) -> bool:
    """Take rows through a window, up to these numbers, and let those leave that do so up to an instant; whether there was room
    for all.
    """
    join, partners = open_sides(record), Partners(known, found)
    cursor, left, right = join.cursor, join.left, join.right
    while True:
        comes_left, comes_right = time_of_row(left, cursor[LEFT], left_stop), time_of_row(right, cursor[RIGHT], right_stop)
        cursor[OPEN] = comes = min(comes_left, comes_right)
        if cursor[TAP] >= 0 and cursor[NEXT] <= min(comes, until) and not leave_windows(min(comes, until), join):
            return False
        if comes == FOREVER:
            return True
        if comes_left <= comes_right:
            if not come_in_turn(1, cursor[LEFT], left, right, join, partners):
                return False
            cursor[LEFT] += 1
        else:
            if not come_in_turn(0, cursor[RIGHT], right, left, join, partners):
                return False
            cursor[RIGHT] += 1
