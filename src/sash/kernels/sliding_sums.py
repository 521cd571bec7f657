"""GROUP BY over a sliding window with nothing but counts and sums of integers; DISTINCT is the one without aggregates.

    ring    group | expiry | weight | which values are NULL | values          what a live row added, in the order of leaving
    lines   cells of the group | its key, as in an output row                 one place in memory for all of a group

A row finds its group when it comes, and never again: what leaves is taken from the cells by its entry of the ring. The row that a
group shows is a function of its cells, so the old one is written before they change and the new one after.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.aggregates import average_of_integers, is_one_lane
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import add_exact, canonical_double
from sash.kernels.hashing import HALF, remove_entry
from sash.kernels.prefetching import FAR, NEAR, prefetch
from sash.physical.group_by import (
    CALL_BIT,
    CALL_CELL,
    CALL_KIND,
    CALL_LANE,
    CALL_MASK,
    COUNT,
    FEED_BIT,
    FEED_CELL,
    FEED_COUNT,
    FEED_KIND,
    FEED_LANE,
    FEED_MASK,
    KEY_BIT,
    KEY_IS_DOUBLE,
    KEY_LANE,
    KEY_MASK,
    KEY_TO_BIT,
    KEY_TO_MASK,
    LINK,
    ROWS,
    SUM_INTEGER,
    TAG,
)
from sash.schema import FOREVER

# Registers: the oldest entry of the ring, the next one; groups alive, ever used, the first free one; sums that did not fit.
HEAD, TAIL, LIVE, USED, FREE, OVERFLOWS, REGISTERS = 0, 1, 2, 3, 4, 5, 8
GROUP, EXPIRY, WEIGHT, NULLS, VALUES = 0, 1, 2, 3, 4  # lanes of an entry
LAST = -1  # the end of the list of touched groups; 0 is said of those not in it


@kernel
def slide_sums(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, tags: Int64s, now: int, keys: Int64s, key_bits: Int64s,
    feeds: Int64s, calls: Int64s, key_at: int, registers: Int64s, ring: Int64s, table: Int64s, lines: Int64s, limbs: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """All that happens before `now`. There is room for every row in the ring, for a group of its own, and for two changes.

    `key_at` is where the key begins in a line.
    """
    head, tail, mask, i, n = registers[HEAD], registers[TAIL], len(ring) - 1, 0, 0
    while True:
        moment = ring[head & mask, EXPIRY] if head < tail else FOREVER
        if i < len(ts):
            moment = min(moment, ts[i])
        if moment >= now:
            break
        touched = LAST
        while head < tail and ring[head & mask, EXPIRY] <= moment:
            prefetch(lines, ring[(head + NEAR) & mask, GROUP])
            group = ring[head & mask, GROUP]
            if lines[group, LINK] == 0:
                n = _show(
                    group, -1, moment, calls, key_bits, key_at, len(keys), registers, lines, limbs, out_rows, out_ts,
                    out_weight, n,
                )
                lines[group, LINK] = touched
                touched = group
            _add(ring, head & mask, -ring[head & mask, WEIGHT], group, feeds, lines)
            head += 1
        while i < len(ts) and ts[i] == moment:
            _look_ahead(tags, i, table, lines)
            group, entry = _find(rows, i, tags[i], keys, key_at, registers, table, lines), tail & mask
            if lines[group, LINK] == 0:
                n = _show(
                    group, -1, moment, calls, key_bits, key_at, len(keys), registers, lines, limbs, out_rows, out_ts,
                    out_weight, n,
                )
                lines[group, LINK] = touched
                touched = group
            _enter(rows, i, group, expiry[i], weight[i], feeds, ring, entry)
            _add(ring, entry, weight[i], group, feeds, lines)
            tail += expiry[i] != FOREVER
            i += 1
        while touched != LAST:
            group, touched = touched, lines[touched, LINK]
            lines[group, LINK] = 0
            if lines[group, ROWS]:
                n = _show(
                    group, 1, moment, calls, key_bits, key_at, len(keys), registers, lines, limbs, out_rows, out_ts,
                    out_weight, n,
                )
            else:
                _forget(group, registers, table, lines)
    registers[HEAD], registers[TAIL] = head, tail
    return n


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
def _has_key(rows: Int64s, i: int, keys: Int64s, key_at: int, lines: Int64s, group: int) -> bool:
    for lane in range(len(keys)):
        if lines[group, key_at + lane] != _key_value(rows, i, keys, lane):
            return False
        null = lines[group, key_at + keys[lane, KEY_TO_MASK]] >> keys[lane, KEY_TO_BIT] & 1
        if null != _is_null(rows, i, keys, lane):
            return False
    return True


@inlined
def _find(
    rows: Int64s, i: int, tag: int, keys: Int64s, key_at: int, registers: Int64s, table: Int64s, lines: Int64s
) -> int:
    """The group of a row, a new one if need be."""
    last = len(table) - 1
    slot = tag & last
    while table[slot] != 0:
        if table[slot] >> 32 & HALF == tag and _has_key(rows, i, keys, key_at, lines, table[slot] & HALF):
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
        lines[group, key_at + lane] = _key_value(rows, i, keys, lane)
        lines[group, key_at + keys[lane, KEY_TO_MASK]] |= _is_null(rows, i, keys, lane) << keys[lane, KEY_TO_BIT]
    return group


@kernel
def _forget(group: int, registers: Int64s, table: Int64s, lines: Int64s) -> None:
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
        if nulls >> feed & 1 == 0:
            cell = feeds[feed, FEED_CELL]
            lines[group, cell] += weight
            if feeds[feed, FEED_KIND] != FEED_COUNT:
                value = ring[entry, VALUES + feed]
                add_exact(lines, group, cell + 1, value, value >> 63, weight)


@inlined
def _show(
    group: int, weight: int, now: int, calls: Int64s, key_bits: Int64s, key_at: int, key_lanes: int, registers: Int64s,
    lines: Int64s, limbs: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s, n: int,
) -> int:
    """Write the row of a group as it is now, if it has rows; the answer is where the output ends then.

    A new row that equals the old one, which is right before it when only one group is touched, takes it back.
    """
    if lines[group, ROWS] == 0:
        return n
    width = out_rows.shape[1]
    for lane in range(key_lanes):
        out_rows[n, lane] = lines[group, key_at + lane]
    for lane in range(width - len(key_bits), width):
        out_rows[n, lane] = lines[group, key_at + lane]
    for call in range(len(calls)):
        _write(call, group, weight > 0, calls, registers, lines, limbs, out_rows, n)
    out_ts[n], out_weight[n] = now, weight
    if weight > 0 and n > 0 and out_ts[n - 1] == now and out_weight[n - 1] < 0:
        for lane in range(width):
            if out_rows[n, lane] != out_rows[n - 1, lane]:
                return n + 1
        return n - 1
    return n + 1


@inlined
def _write(
    call: int, group: int, is_new: bool, calls: Int64s, registers: Int64s, lines: Int64s, limbs: Int64s, out_rows: Int64s, n: int
) -> None:
    """The value of one aggregate; the mask says not NULL so far."""
    kind, cell = calls[call, CALL_KIND], calls[call, CALL_CELL]
    value, is_null = lines[group, cell], False
    if kind != COUNT:
        is_null = value == 0
        if kind == SUM_INTEGER:
            value = lines[group, cell + 1]
            if not is_null and not is_one_lane(lines, group, cell + 1):
                is_null = True
                registers[OVERFLOWS] += is_new
        elif not is_null:
            value = average_of_integers(lines, group, cell, limbs)
    if is_null:
        value = 0
        out_rows[n, calls[call, CALL_MASK]] |= 1 << calls[call, CALL_BIT]
    out_rows[n, calls[call, CALL_LANE]] = value
