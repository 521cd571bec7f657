"""What groups add in slices: rows become parts, parts are linked, and forgotten when they have left all windows."""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import add_double, add_exact
from sash.kernels.hashing import HALF
from sash.kernels.prefetching import FAR, NEAR, prefetch
from sash.operators.group_by.kernels.groups import tag_rows_by_key
from sash.operators.group_by.kernels.sliding_sums import (
    HEAD,
    TAIL,
    find_group,
    forget_group,
)
from sash.operators.group_by.kernels.value_nodes import to_order
from sash.operators.group_by.opcodes import (
    FEED_DOUBLE,
    FEED_EXACT,
    FEED_VALUE,
    FIRST_CELL,
    ROWS,
)
from sash.operators.shared_groups.kernels.records import (
    AT,
    BASE,
    BEFORE,
    BIT,
    COUNT,
    DOUBLE_LIMBS,
    DUE,
    END,
    FOLLOWING,
    GROUP,
    IS_MAX,
    KIND,
    LANE,
    LEAVE,
    LENGTH,
    LINKED,
    MASK,
    NEWEST,
    NEXT,
    NO_WORSE,
    ORDER,
    REACHED,
    SLIDE,
    VALUE,
    Parts,
    open_parts,
)
from sash.schema import FOREVER


@kernel
def tag_rows(rows: Int64s, record: Int64s, tags: Int64s) -> None:
    tag_rows_by_key(rows, open_parts(record).facts, tags)


@inlined
def look_ahead(tags: Int64s, i: int, parts: Parts) -> None:
    if i + FAR < len(tags):
        prefetch(parts.table, tags[i + FAR] & len(parts.table) - 1)
        prefetch(parts.groups, parts.table[tags[i + NEAR] & len(parts.table) - 1] & HALF)


@inlined
def take_row(rows: Int64s, i: int, ts: int, weight: int, tag: int, parts: Parts, cursors: Int64s, work: Int64s) -> None:
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
        comes = comes_at(end, cursors[tap, SLIDE])
        cursors[tap, DUE] = min(cursors[tap, DUE], comes)
        work[NEXT] = min(work[NEXT], comes)


@inlined
def least_of(cursors: Int64s, column: int) -> int:
    least = FOREVER
    for tap in range(len(cursors)):
        least = min(least, cursors[tap, column])
    return least


@inlined
def comes_at(end: int, slide: int) -> int:
    """When a slice comes to a window: at the end of the slide that it ends in."""
    return -(-end // slide) * slide


@kernel
def link_parts(moment: int, parts: Parts) -> None:
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


@kernel
def forget_parts(parts: Parts, cursors: Int64s) -> None:
    """Forget the parts that have left all taps, and groups with their last one."""
    registers, ring, mask = parts.registers, parts.ring, len(parts.ring) - 1
    head, first = registers[HEAD], least_of(cursors, LEAVE)
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
    link_parts(registers[REACHED], parts)


@inlined
def first_after(instant: int, registers: Int64s, ring: Int64s) -> int:
    """The first part of a slice that ends after an instant."""
    low, high, mask = registers[HEAD], registers[TAIL], len(ring) - 1
    while low < high:
        middle = (low + high) // 2
        if ring[middle & mask, END] <= instant:
            low = middle + 1
        else:
            high = middle
    return low
