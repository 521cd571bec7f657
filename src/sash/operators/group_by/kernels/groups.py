"""GROUP BY, row by row: one pass over the changes, in the order of their instants.

    per row        find the group, add the row's values to its cells, remember that it was touched
    per instant    for every touched group: its shown row leaves, its new one enters; nothing if they are equal

Cells and lines have one row for every group: what the group adds up, and the output row it shows (whose key lanes also
tell groups apart). The list of touched groups runs through the cells, so the kernel may stop anywhere, inside an
instant too, when a table is full, and go on when it has grown.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Letters, Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import canonical_double
from sash.kernels.hashing import HALF, mix, remove_entry, tag_of
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.kernels.strings import Strings
from sash.operators.group_by.kernels.accumulate import add_value
from sash.operators.group_by.kernels.aggregates import write_call
from sash.operators.group_by.kernels.deques import ask_deques, slide_value
from sash.operators.group_by.kernels.end_of_instant import settle_nodes
from sash.operators.group_by.kernels.registers import (
    FREE_GROUP,
    LAST,
    LIVE_GROUPS,
    LIVE_NODES,
    TOUCHED_GROUP,
    TOUCHED_NODE,
    USED_GROUPS,
)
from sash.operators.group_by.kernels.texts import make_texts
from sash.operators.group_by.kernels.value_nodes import OWNER_BITS, count_pair, count_value, to_order
from sash.operators.group_by.opcodes import (
    BY_WIDE_DECIMAL,
    DEQUE,
    FEED_BIT,
    FEED_KIND,
    FEED_LANE,
    FEED_LANES,
    FEED_MASK,
    FEED_OTHER_BIT,
    FEED_OTHER_LANE,
    FEED_OTHER_MASK,
    FEED_PART,
    FEED_SET,
    FEED_VALUE,
    KEY_BIT,
    KEY_IS_DOUBLE,
    KEY_LANE,
    KEY_MASK,
    KEY_TO_BIT,
    KEY_TO_MASK,
    LINK,
    NOTHING_BESIDE,
    ROWS,
    SET_BESIDE,
    SET_IS_MAX,
    SET_KIND,
    SET_ORDER,
    SHOWN,
    TAG,
)


class GroupFacts(NamedTuple):
    """The tables of a GROUP BY (`tables.py` makes them), and room to work with: for a key, and for long numbers."""

    keys: Lines
    key_bits: Line
    feeds: Lines
    calls: Lines
    sets: Lines
    separators: Letters
    key: Lines
    limbs: Line
    spare: Lines


class GroupState(NamedTuple):
    """What is kept of the groups (`groups.py` draws it)."""

    registers: Line
    ranges: Lines
    table: Line
    cells: Lines
    lines: Lines
    nodes: Lines
    beside: Lines
    node_table: Line


class TextRoom(NamedTuple):
    """For the texts that a step makes (`texts.py` says how): where they end, how many there are, their bytes."""

    made: Lines
    used: Line
    buffer: Letters


class Grouping(NamedTuple):
    facts: GroupFacts
    state: GroupState
    strings: Strings
    texts: TextRoom


open_grouping = opened(Grouping)


@kernel
def group_rows(
    rows: Int64s, ts: Int64s, weight: Int64s, row: int, begin: int, record: Int64s, tags: Int64s, out_rows: Int64s,
    out_ts: Int64s, out_weight: Int64s, at: int,
) -> tuple[int, int]:
    """Take in the changes from `row` on and write those of the output from `at` on; the answer is where both stopped.

    Before the end it stops only for want of room: for groups, nodes or texts. Then some groups may still be touched.
    Instants before `begin` show nothing. `tags` is room for those of all rows.
    """
    grouping = open_grouping(record)
    facts, state, strings, texts = grouping.facts, grouping.state, grouping.strings, grouping.texts
    registers, cells = state.registers, state.cells
    if row == 0:
        tag_rows_by_key(rows, facts, tags)
    room, node_room = len(cells) - 1, len(state.nodes) - 1 - len(facts.sets)
    while True:
        if registers[TOUCHED_GROUP] != LAST and (row == len(ts) or ts[row] != ts[row - 1]):
            if registers[TOUCHED_NODE] != LAST:
                settle_nodes(
                    state.nodes, state.beside, state.node_table, registers, cells, facts.sets, facts.feeds, state.ranges,
                    strings.starts, strings.lengths, strings.heap,
                )
            group = registers[TOUCHED_GROUP]
            while group != LAST:
                following = cells[group, LINK]
                if ts[row - 1] >= begin:
                    if len(texts.made) and not make_texts(
                        group, facts.calls, facts.sets, cells, state.nodes, state.beside, strings.starts, strings.lengths,
                        strings.heap, facts.separators, texts.made, texts.used, texts.buffer,
                    ):
                        break
                    stop = _show(group, facts, state, out_rows, out_weight, at)
                    while at < stop:
                        out_ts[at] = ts[row - 1]
                        at += 1
                cells[group, LINK] = 0
                group = following
            registers[TOUCHED_GROUP] = group
            if group != LAST:
                break
        if row == len(ts) or registers[LIVE_GROUPS] >= room or registers[LIVE_NODES] > node_room:
            break
        look_ahead(tags, row, state.table, cells, state.lines)
        if row + NEXT < len(tags):
            ask_deques(state.table[tags[row + NEXT] & len(state.table) - 1] & HALF, facts.sets, cells, state.nodes)
        group = find_group(rows, row, tags[row], facts, state)
        if cells[group, LINK] == 0:
            cells[group, LINK] = registers[TOUCHED_GROUP]
            registers[TOUCHED_GROUP] = group
        feed_row(rows, row, weight[row], group, facts, state, strings)
        row += 1
    return row, at


@inlined
def find_group(rows: Int64s, row: int, tag: int, facts: GroupFacts, state: GroupState) -> int:
    """The group of a row, a new one if need be."""
    table, lines, key = state.table, state.lines, facts.key
    _read_key(rows, row, facts.keys, facts.key_bits, key, lines.shape[1])
    last = len(table) - 1
    slot = tag & last
    while table[slot] != 0:
        if table[slot] >> 32 & HALF == tag:
            group = table[slot] & HALF
            if _has_key(lines, group, key, len(facts.keys), facts.key_bits):
                return group
        slot = (slot + 1) & last
    group = _new_group(state.registers, state.cells)
    table[slot] = tag << 32 | group
    state.cells[group, TAG] = tag
    for lane in range(lines.shape[1]):
        lines[group, lane] = key[0, lane]
    return group


@inlined
def _read_key(rows: Int64s, row: int, keys: Int64s, key_bits: Int64s, key: Int64s, width: int) -> int:
    """Write the key of a row into `key`; the answer is its hash."""
    first_mask = width - len(key_bits)
    for mask in range(first_mask, width):
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
    for mask in range(first_mask, width):
        if key[0, mask]:
            state = mix(state, key[0, mask])
    return state


@inlined
def tag_rows_by_key(rows: Int64s, facts: GroupFacts, tags: Int64s) -> None:
    """The tag of the group of every row."""
    for i in range(len(tags)):
        tags[i] = tag_of(_read_key(rows, i, facts.keys, facts.key_bits, facts.key, facts.key.shape[1]))


@inlined
def look_ahead(tags: Int64s, row: int, table: Int64s, cells: Int64s, lines: Int64s) -> None:
    """Ask for what later rows will need: soon a group, later a slot of the table."""
    last = len(table) - 1
    if row + FAR < len(tags):
        prefetch(table, tags[row + FAR] & last)
        group = table[tags[row + NEAR] & last] & HALF
        prefetch(cells, group)
        prefetch(lines, group)


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
def feed_row(
    rows: Int64s, row: int, weight: int, group: int, facts: GroupFacts, state: GroupState, strings: Strings
) -> None:
    """Add what a row has to the cells and sets of its group."""
    feeds, sets, registers = facts.feeds, facts.sets, state.registers
    cells, nodes, beside = state.cells, state.nodes, state.beside
    cells[group, ROWS] += weight
    for feed in range(len(feeds)):
        if feeds[feed, FEED_SET] >= 0:
            break
        if rows[row, feeds[feed, FEED_MASK]] >> feeds[feed, FEED_BIT] & 1:
            continue
        lane = feeds[feed, FEED_LANE]
        low = rows[row, lane]
        high = rows[row, lane + 1] if feeds[feed, FEED_LANES] == 2 else low >> 63
        if feeds[feed, FEED_KIND] != FEED_VALUE:
            add_value(feeds, feed, low, high, weight, group, state.ranges, cells)
            continue
        set_ = feeds[feed, FEED_PART]
        owner = group << OWNER_BITS | set_
        major, minor = to_order(sets[set_, SET_ORDER], sets[set_, SET_IS_MAX], low, high)
        other_major, other_minor, is_there = 0, 0, 0
        if sets[set_, SET_BESIDE] != NOTHING_BESIDE:
            other_major, other_minor, is_there = _beside(rows, row, feeds, feed, sets, set_)
        if sets[set_, SET_KIND] == DEQUE:
            slide_value(
                nodes, beside, registers, cells, group, sets, set_, major, minor, other_major, other_minor, is_there, weight,
                strings.starts, strings.lengths, strings.heap,
            )
        elif sets[set_, SET_BESIDE] == NOTHING_BESIDE:
            count_value(nodes, state.node_table, registers, owner, major, minor, weight)
        else:
            count_pair(
                nodes, beside, state.node_table, registers, owner, major, minor, other_major, other_minor, is_there, weight
            )


@kernel
def _beside(rows: Int64s, row: int, feeds: Int64s, feed: int, sets: Int64s, set_: int) -> tuple[int, int, int]:
    """The value beside another one, and whether it is there."""
    order, is_max, lane = sets[set_, SET_BESIDE], sets[set_, SET_IS_MAX], feeds[feed, FEED_OTHER_LANE]
    if rows[row, feeds[feed, FEED_OTHER_MASK]] >> feeds[feed, FEED_OTHER_BIT] & 1:
        return 0, 0, 0
    high = rows[row, lane + 1] if order == BY_WIDE_DECIMAL else 0
    major, minor = to_order(order, is_max, rows[row, lane], high)
    return major, minor, 1


@inlined
def _show(group: int, facts: GroupFacts, state: GroupState, out_rows: Int64s, out_weight: Int64s, at: int) -> int:
    """Write the change of a group's row, if there is one; the answer is where the output ends then."""
    key_lanes, key_bits, calls, cells, lines = len(facts.keys), facts.key_bits, facts.calls, state.cells, state.lines
    width = lines.shape[1]
    shown = cells[group, SHOWN]
    if shown:
        for lane in range(width):
            out_rows[at, lane] = lines[group, lane]
        out_weight[at] = -1
    if cells[group, ROWS] == 0 and key_lanes:
        forget_group(group, state.registers, state.table, cells, lines)
        return at + shown
    new = at + shown
    for lane in range(key_lanes):
        out_rows[new, lane] = lines[group, lane]
    for mask in range(len(key_bits)):
        lane = width - len(key_bits) + mask
        out_rows[new, lane] = lines[group, lane] & key_bits[mask]
    for call in range(len(calls)):
        write_call(
            call, group, calls, facts.sets, state.ranges, state.registers, cells, state.nodes, state.beside, facts.limbs,
            facts.spare, out_rows, new,
        )
    out_weight[new] = 1
    is_changed = shown == 0
    for lane in range(key_lanes, width):
        is_changed |= lines[group, lane] != out_rows[new, lane]
        lines[group, lane] = out_rows[new, lane]
    cells[group, SHOWN] = 1
    return new + 1 if is_changed else at


@kernel
def forget_group(group: int, registers: Int64s, table: Int64s, cells: Int64s, lines: Int64s) -> None:
    remove_entry(table, cells[group, TAG], group)
    for cell in range(cells.shape[1]):
        cells[group, cell] = 0
    for lane in range(lines.shape[1]):
        lines[group, lane] = 0
    cells[group, TAG] = registers[FREE_GROUP]
    registers[FREE_GROUP] = group
    registers[LIVE_GROUPS] -= 1
