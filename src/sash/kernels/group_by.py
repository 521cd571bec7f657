"""GROUP BY, row by row: one pass over the changes, in the order of their instants.

    per row        find the group, add the row's values to its cells, remember that it was touched
    per instant    for every touched group: its shown row leaves, its new one enters; nothing if they are equal

Cells and lines have one row for every group: what the group adds up, and the output row it shows (whose key lanes also
tell groups apart). The list of touched groups runs through the cells, so the kernel may stop anywhere, inside an
instant too, when a table is full, and go on when it has grown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.kernels.aggregates import write_call
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import (
    RANGE_BASE,
    RANGE_CELL,
    RANGE_LENGTH,
    add_double,
    add_exact,
    canonical_double,
)
from sash.kernels.extremes import OWNER_BITS, count_value, settle_nodes, to_order
from sash.kernels.group_registers import FREE_GROUP, LAST, LIVE_GROUPS, LIVE_NODES, TOUCHED_GROUP, USED_GROUPS
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.physical.group_by import (
    BY_WIDE_DECIMAL,
    EXTREME_ORDER,
    FEED_BIT,
    FEED_CELL,
    FEED_COUNT,
    FEED_DOUBLE,
    FEED_EXACT,
    FEED_KIND,
    FEED_LANE,
    FEED_MASK,
    FEED_PART,
    KEY_BIT,
    KEY_IS_DOUBLE,
    KEY_LANE,
    KEY_MASK,
    KEY_TO_BIT,
    KEY_TO_MASK,
    LINK,
    ROWS,
    SHOWN,
    TAG,
)

Bytes = npt.NDArray[np.uint8]


@kernel
def group_rows(
    rows: Int64s, ts: Int64s, weight: Int64s, row: int, begin: int, keys: Int64s, key_bits: Int64s, feeds: Int64s,
    calls: Int64s, extremes: Int64s, ranges: Int64s, registers: Int64s, table: Int64s, cells: Int64s, lines: Int64s,
    nodes: Int64s, node_table: Int64s, starts: Int64s, lengths: Int64s, heap: Bytes, out_rows: Int64s, out_ts: Int64s,
    out_weight: Int64s, at: int, key: Int64s, limbs: Int64s,
) -> tuple[int, int]:
    """Take in the changes from `row` on and write those of the output from `at` on; the answer is where both stopped.

    Before the end it stops only for want of room for groups or nodes. Instants before `begin` show nothing.
    `key` and `limbs` are scratch.
    """
    room, node_room = len(cells) - 1, len(nodes) - 1 - len(extremes)
    while row < len(ts):
        if registers[LIVE_GROUPS] >= room or registers[LIVE_NODES] > node_room:
            break
        group = _find_group(rows, row, keys, key_bits, key, registers, table, cells, lines)
        if cells[group, LINK] == 0:
            cells[group, LINK] = registers[TOUCHED_GROUP]
            registers[TOUCHED_GROUP] = group
        _feed(rows, row, weight[row], group, feeds, extremes, ranges, registers, cells, nodes, node_table)
        row += 1
        if row < len(ts) and ts[row] == ts[row - 1]:
            continue
        if len(extremes):
            settle_nodes(nodes, node_table, registers, cells, extremes, starts, lengths, heap)
        group = registers[TOUCHED_GROUP]
        registers[TOUCHED_GROUP] = LAST
        while group != LAST:
            following = cells[group, LINK]
            cells[group, LINK] = 0
            if ts[row - 1] >= begin:
                stop = _show(
                    group, len(keys), key_bits, calls, extremes, ranges, registers, table, cells, lines, nodes, limbs,
                    out_rows, out_weight, at,
                )
                while at < stop:
                    out_ts[at] = ts[row - 1]
                    at += 1
            group = following
    return row, at


@inlined
def _find_group(
    rows: Int64s, row: int, keys: Int64s, key_bits: Int64s, key: Int64s, registers: Int64s, table: Int64s,
    cells: Int64s, lines: Int64s,
) -> int:
    """The group of a row, a new one if need be. `key` is scratch: an output row with nothing but its key."""
    first_mask = lines.shape[1] - len(key_bits)
    for mask in range(first_mask, lines.shape[1]):
        key[0, mask] = 0
    state = 0
    for lane in range(len(keys)):
        value = rows[row, keys[lane, KEY_LANE]]
        if keys[lane, KEY_IS_DOUBLE]:
            value = canonical_double(value)
        key[0, lane] = value
        is_null = rows[row, keys[lane, KEY_MASK]] >> keys[lane, KEY_BIT] & 1
        key[0, keys[lane, KEY_TO_MASK]] |= is_null << keys[lane, KEY_TO_BIT]
        state = mix(state, value)
    for mask in range(first_mask, lines.shape[1]):
        if key[0, mask]:
            state = mix(state, key[0, mask])
    tag = tag_of(state)
    last = len(table) - 1
    slot = tag & last
    while table[slot] != 0:
        if table[slot] >> 32 & HALF == tag:
            group = table[slot] & HALF
            if _has_key(lines, group, key, len(keys), key_bits):
                return group
        slot = (slot + 1) & last
    group = _new_group(registers, cells)
    table[slot] = tag << 32 | group
    cells[group, TAG] = tag
    for lane in range(lines.shape[1]):
        lines[group, lane] = key[0, lane]
    return group


@inlined
def _has_key(lines: Int64s, group: int, key: Int64s, lanes: int, key_bits: Int64s) -> bool:
    for lane in range(lanes):
        if lines[group, lane] != key[0, lane]:
            return False
    first_mask = lines.shape[1] - len(key_bits)
    for mask in range(len(key_bits)):
        if lines[group, first_mask + mask] & key_bits[mask] != key[0, first_mask + mask]:
            return False
    return True


@inlined
def _new_group(registers: Int64s, cells: Int64s) -> int:
    registers[LIVE_GROUPS] += 1
    group = registers[FREE_GROUP]
    if group:
        registers[FREE_GROUP] = cells[group, TAG]
        return group
    registers[USED_GROUPS] += 1
    return registers[USED_GROUPS]


@inlined
def _feed(
    rows: Int64s, row: int, weight: int, group: int, feeds: Int64s, extremes: Int64s, ranges: Int64s, registers: Int64s,
    cells: Int64s, nodes: Int64s, node_table: Int64s,
) -> None:
    """Add what a row has to the cells of its group."""
    cells[group, ROWS] += weight
    for feed in range(len(feeds)):
        if rows[row, feeds[feed, FEED_MASK]] >> feeds[feed, FEED_BIT] & 1:
            continue
        kind, lane, cell, part = (
            feeds[feed, FEED_KIND], feeds[feed, FEED_LANE], feeds[feed, FEED_CELL], feeds[feed, FEED_PART],
        )
        value = rows[row, lane]
        if kind == FEED_COUNT:
            cells[group, cell] += weight
        elif kind == FEED_EXACT:
            cells[group, cell] += weight
            high = rows[row, lane + 1] if part == 2 else value >> 63
            add_exact(cells, group, cell + 1, value, high, weight)
        elif kind == FEED_DOUBLE:
            cells[group, cell] += weight
            first, base, length = ranges[part, RANGE_CELL], ranges[part, RANGE_BASE], ranges[part, RANGE_LENGTH]
            add_double(cells, group, cell, first, base, length, value, weight)
        else:
            high = rows[row, lane + 1] if extremes[part, EXTREME_ORDER] == BY_WIDE_DECIMAL else 0
            major, minor = to_order(extremes, part, value, high)
            count_value(nodes, node_table, registers, group << OWNER_BITS | part, major, minor, weight)


@inlined
def _show(
    group: int, key_lanes: int, key_bits: Int64s, calls: Int64s, extremes: Int64s, ranges: Int64s, registers: Int64s,
    table: Int64s, cells: Int64s, lines: Int64s, nodes: Int64s, limbs: Int64s, out_rows: Int64s, out_weight: Int64s,
    at: int,
) -> int:
    """Write the change of a group's row, if there is one; the answer is where the output ends then."""
    width = lines.shape[1]
    shown = cells[group, SHOWN]
    if shown:
        for lane in range(width):
            out_rows[at, lane] = lines[group, lane]
        out_weight[at] = -1
    if cells[group, ROWS] == 0 and key_lanes:
        _forget_group(group, registers, table, cells, lines)
        return at + shown
    new = at + shown
    for lane in range(key_lanes):
        out_rows[new, lane] = lines[group, lane]
    for mask in range(len(key_bits)):
        lane = width - len(key_bits) + mask
        out_rows[new, lane] = lines[group, lane] & key_bits[mask]
    for call in range(len(calls)):
        write_call(call, group, calls, extremes, ranges, registers, cells, nodes, limbs, out_rows, new)
    out_weight[new] = 1
    is_changed = shown == 0
    for lane in range(key_lanes, width):
        is_changed |= lines[group, lane] != out_rows[new, lane]
        lines[group, lane] = out_rows[new, lane]
    cells[group, SHOWN] = 1
    return new + 1 if is_changed else at


@kernel
def _forget_group(group: int, registers: Int64s, table: Int64s, cells: Int64s, lines: Int64s) -> None:
    remove_entry(table, cells[group, TAG], group)
    for cell in range(cells.shape[1]):
        cells[group, cell] = 0
    for lane in range(lines.shape[1]):
        lines[group, lane] = 0
    cells[group, TAG] = registers[FREE_GROUP]
    registers[FREE_GROUP] = group
    registers[LIVE_GROUPS] -= 1
