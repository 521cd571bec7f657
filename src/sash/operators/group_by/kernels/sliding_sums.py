"""GROUP BY over a sliding window with nothing but counts, sums of integers, and least and greatest numbers.

    ring    group | expiry | weight | which values are NULL | values | links     what a live row added, in the order of leaving
    lines   cells of the group | the row it shows, as it was written last        one place in memory for all of a group

A row finds its group when it comes, and never again: what leaves is taken from the cells by its entry of the ring. At the end of
an instant every group that was touched takes back the row of its line and writes a new one, if that differs; groups have other
keys, so that is the net change, and only instants of several groups are left to be put in order.

For MIN and MAX the rows of a group whose values may yet be shown are linked (`sliding_extremes.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import add_exact, canonical_double
from sash.kernels.hashing import HALF, remove_entry
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.operators.group_by.kernels.aggregates import average_of_integers, is_one_lane
from sash.operators.group_by.kernels.groups import GroupFacts, tag_rows_by_key
from sash.operators.group_by.kernels.sliding_extremes import (
    EXPIRY,
    GROUP,
    NULLS,
    VALUES,
    WEIGHT,
    ask_last_rows,
    enter_deques,
    leave_deques,
    shown_extreme,
)
from sash.operators.group_by.opcodes import (
    CALL_BIT,
    CALL_CELL,
    CALL_KIND,
    CALL_LANE,
    CALL_MASK,
    CALL_PART,
    COUNT,
    EXTREME,
    FEED_BIT,
    FEED_CELL,
    FEED_COUNT,
    FEED_KIND,
    FEED_LANE,
    FEED_MASK,
    FEED_VALUE,
    KEY_BIT,
    KEY_IS_DOUBLE,
    KEY_LANE,
    KEY_MASK,
    KEY_TO_BIT,
    KEY_TO_MASK,
    LINK,
    ROWS,
    SHOWN,
    SUM_INTEGER,
    TAG,
)
from sash.schema import FOREVER

# Registers: the oldest entry of the ring, the next one; groups alive, ever used, the first free one; sums that did not fit;
# how many instants of the last call changed several groups.
HEAD, TAIL, LIVE, USED, FREE, OVERFLOWS, CROWDED, REGISTERS = 0, 1, 2, 3, 4, 5, 6, 8
LAST = -1  # the end of the list of touched groups; 0 is said of those not in it


class SlidingState(NamedTuple):
    registers: Line
    ring: Lines
    table: Line
    lines: Lines


class SlidingGrouping(NamedTuple):
    facts: GroupFacts
    state: SlidingState


open_sliding = opened(SlidingGrouping)


@kernel
def slide_sums(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, now: int, row_at: int, record: Int64s, tags: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, crowded: Int64s,
) -> int:
    """All that happens before `now`. There is room for every row in the ring, for a group of its own, and for two changes.

    `row_at` is where the shown row begins in a line. `tags` is room for those of all rows, `crowded` for where the instants of
    several groups begin in the output.
    """
    out = SignedChanges(out_rows, out_ts, out_weight)
    return slide(open_sliding(record), rows, ts, expiry, weight, now, row_at, tags, out, crowded)


@inlined
def slide(
    sliding: SlidingGrouping, rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, now: int, row_at: int, tags: Int64s,
    out: SignedChanges, crowded: Int64s,
) -> int:
    """The same, of a grouping that is open. What the caller knows of its shape is known in here."""
    keys, feeds, sets = sliding.facts.keys, sliding.facts.feeds, sliding.facts.sets
    registers, ring, table, lines = sliding.state.registers, sliding.state.ring, sliding.state.table, sliding.state.lines
    tag_rows_by_key(rows, sliding.facts, tags)
    head, tail, mask, i, n, crowds = registers[HEAD], registers[TAIL], len(ring) - 1, 0, 0, 0
    while True:
        moment = ring[head & mask, EXPIRY] if head < tail else FOREVER
        if i < len(ts):
            moment = min(moment, ts[i])
        if moment >= now:
            break
        touched, begin = LAST, n
        while head < tail and ring[head & mask, EXPIRY] <= moment:
            prefetch(lines, ring[(head + NEAR) & mask, GROUP])
            group = ring[head & mask, GROUP]
            touched = touch(group, touched, lines)
            _add(ring, head & mask, -ring[head & mask, WEIGHT], group, feeds, lines)
            if len(sets):
                leave_deques(head, group, feeds, sets, ring, lines)
            head += 1
        while i < len(ts) and ts[i] == moment:
            _look_ahead(tags, i, table, lines)
            if len(sets) and i + NEXT < len(tags):
                ask_last_rows(table[tags[i + NEXT] & len(table) - 1] & HALF, sets, ring, lines)
            group, entry = find_group(rows, i, tags[i], keys, row_at, registers, table, lines), tail & mask
            touched = touch(group, touched, lines)
            _enter(rows, i, group, expiry[i], weight[i], feeds, ring, entry)
            _add(ring, entry, weight[i], group, feeds, lines)
            if len(sets):
                enter_deques(tail, head, group, feeds, sets, ring, lines)
            tail += expiry[i] != FOREVER
            i += 1
        are_several = lines[touched, LINK] != LAST
        while touched != LAST:
            group, touched = touched, lines[touched, LINK]
            lines[group, LINK] = 0
            n = _show_change(group, moment, row_at, sliding.facts, registers, lines, out, n)
            if lines[group, ROWS] == 0:
                forget_group(group, registers, table, lines)
        if are_several and n - begin > 1:
            crowded[crowds] = begin
            crowds += 1
    registers[HEAD], registers[TAIL], registers[CROWDED] = head, tail, crowds
    return n


@kernel
def count_leaving(expiry: Int64s, now: int, registers: Int64s, ring: Int64s) -> int:
    """How many rows leave before `now`: of those in the ring, which are in that order, and of new ones."""
    low, high, mask, count = registers[HEAD], registers[TAIL], len(ring) - 1, 0
    while low < high:
        middle = (low + high) // 2
        if ring[middle & mask, EXPIRY] < now:
            low = middle + 1
        else:
            high = middle
    for i in range(len(expiry)):
        count += expiry[i] < now
    return low - registers[HEAD] + count


@inlined
def touch(group: int, touched: int, lines: Int64s) -> int:
    """Enter a group into the list of those touched, whose first one is given; the answer is the first one then."""
    if lines[group, LINK]:
        return touched
    lines[group, LINK] = touched
    return group


@inlined
def _look_ahead(tags: Int64s, i: int, table: Int64s, lines: Int64s) -> None:
    last = len(table) - 1
    if i + FAR < len(tags):
        prefetch(table, tags[i + FAR] & last)
        prefetch(lines, table[tags[i + NEAR] & last] & HALF)


@inlined
def _key_value(rows: Int64s, i: int, keys: Int64s, lane: int) -> int:
    value = rows[i, keys[lane, KEY_LANE]]
    return canonical_double(value) if keys[lane, KEY_IS_DOUBLE] else value


@inlined
def _is_null(rows: Int64s, i: int, keys: Int64s, lane: int) -> int:
    return rows[i, keys[lane, KEY_MASK]] >> keys[lane, KEY_BIT] & 1


@inlined
def _has_key(rows: Int64s, i: int, keys: Int64s, row_at: int, lines: Int64s, group: int) -> bool:
    for lane in range(len(keys)):
        if lines[group, row_at + lane] != _key_value(rows, i, keys, lane):
            return False
        null = lines[group, row_at + keys[lane, KEY_TO_MASK]] >> keys[lane, KEY_TO_BIT] & 1
        if null != _is_null(rows, i, keys, lane):
            return False
    return True


@inlined
def find_group(
    rows: Int64s, i: int, tag: int, keys: Int64s, row_at: int, registers: Int64s, table: Int64s, lines: Int64s
) -> int:
    """The group of a row, a new one if need be."""
    last = len(table) - 1
    slot = tag & last
    while table[slot] != 0:
        if table[slot] >> 32 & HALF == tag and _has_key(rows, i, keys, row_at, lines, table[slot] & HALF):
            return table[slot] & HALF
        slot = (slot + 1) & last
    group = registers[FREE]
    if group:
        registers[FREE] = lines[group, TAG]
    else:
        registers[USED] += 1
        group = registers[USED]
    registers[LIVE] += 1
    table[slot] = tag << 32 | group
    lines[group, TAG] = tag
    for lane in range(len(keys)):
        lines[group, row_at + lane] = _key_value(rows, i, keys, lane)
        lines[group, row_at + keys[lane, KEY_TO_MASK]] |= _is_null(rows, i, keys, lane) << keys[lane, KEY_TO_BIT]
    return group


@kernel
def forget_group(group: int, registers: Int64s, table: Int64s, lines: Int64s) -> None:
    remove_entry(table, lines[group, TAG], group)
    for lane in range(lines.shape[1]):
        lines[group, lane] = 0
    lines[group, TAG] = registers[FREE]
    registers[FREE] = group
    registers[LIVE] -= 1


@inlined
def _enter(
    rows: Int64s, i: int, group: int, expiry: int, weight: int, feeds: Int64s, ring: Int64s, entry: int
) -> None:
    nulls = 0
    for feed in range(len(feeds)):
        nulls |= (rows[i, feeds[feed, FEED_MASK]] >> feeds[feed, FEED_BIT] & 1) << feed
        ring[entry, VALUES + feed] = rows[i, feeds[feed, FEED_LANE]]
    ring[entry, GROUP], ring[entry, EXPIRY], ring[entry, WEIGHT], ring[entry, NULLS] = group, expiry, weight, nulls


@inlined
def _add(ring: Int64s, entry: int, weight: int, group: int, feeds: Int64s, lines: Int64s) -> None:
    lines[group, ROWS] += weight
    nulls = ring[entry, NULLS]
    for feed in range(len(feeds)):
        if nulls >> feed & 1 == 0 and feeds[feed, FEED_KIND] != FEED_VALUE:
            cell = feeds[feed, FEED_CELL]
            lines[group, cell] += weight
            if feeds[feed, FEED_KIND] != FEED_COUNT:
                value = ring[entry, VALUES + feed]
                add_exact(lines, group, cell + 1, value, value >> 63, weight)


@inlined
def _show_change(
    group: int, now: int, row_at: int, facts: GroupFacts, registers: Int64s, lines: Int64s, out: SignedChanges, n: int
) -> int:
    """Take back the row that the group shows, write the one that it has now; the answer is where the output ends then."""
    start = n
    if lines[group, SHOWN]:
        n = _write(group, -1, now, row_at, lines, out, n)
    if lines[group, ROWS] == 0:
        return n
    is_other = lines[group, SHOWN] == 0
    for call in range(len(facts.calls)):
        is_other |= renew_call(call, group, row_at, facts, registers, lines)
    if not is_other:
        return start
    lines[group, SHOWN] = 1
    return _write(group, 1, now, row_at, lines, out, n)


@inlined
def _write(group: int, weight: int, now: int, row_at: int, lines: Int64s, out: SignedChanges, n: int) -> int:
    for lane in range(out.rows.shape[1]):
        out.rows[n, lane] = lines[group, row_at + lane]
    out.ts[n], out.weight[n] = now, weight
    return n + 1


@inlined
def renew_call(call: int, group: int, row_at: int, facts: GroupFacts, registers: Int64s, lines: Int64s) -> bool:
    """Bring the value of one aggregate in the shown row up to date; whether it changed."""
    calls = facts.calls
    kind, cell = calls[call, CALL_KIND], calls[call, CALL_CELL]
    value, is_null = lines[group, cell], False
    if kind != COUNT:
        is_null = value == 0
        if kind == SUM_INTEGER:
            value = lines[group, cell + 1]
            if not is_null and not is_one_lane(lines, group, cell + 1):
                is_null = True
                registers[OVERFLOWS] += 1
        elif kind == EXTREME:
            value = shown_extreme(group, calls[call, CALL_PART], facts.sets, lines)
        elif not is_null:
            value = average_of_integers(lines, group, cell, facts.limbs)
    return show_value(call, group, row_at, calls, lines, value, is_null)


@inlined
def show_value(call: int, group: int, row_at: int, calls: Int64s, lines: Int64s, value: int, is_null: bool) -> bool:
    """Put the value of one aggregate into the shown row; whether it changed."""
    if is_null:
        value = 0
    lane, mask, bit = row_at + calls[call, CALL_LANE], row_at + calls[call, CALL_MASK], calls[call, CALL_BIT]
    if lines[group, lane] == value and lines[group, mask] >> bit & 1 == is_null:
        return False
    lines[group, lane] = value
    lines[group, mask] = lines[group, mask] & ~(1 << bit) | int(is_null) << bit
    return True
