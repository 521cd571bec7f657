"""Messages: changes of no weight, which only tell that some row leaves at their instant (seed 000, 5.2 and 6).

    rows        +a @1 until 5    +b @2 until 6                  +c @7 until 11
    announced   +a @1            +b @2        . @5     . @6     +c @7
    merged      +a @1            +b @2                          +c @7             what follows a message stands for it

A message comes before the rows of its instant. The lanes of one are NULL.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bag import FOLLOWING, KeyedNodes
from sash.kernels.bundles import Changes, Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.heap import pop, push
from sash.kernels.pairs import CHAIN, LEFT, RIGHT, PairSides, newest_of_key
from sash.kernels.row_log import NOBODY
from sash.kernels.rows import copy_row, has_null
from sash.operators.lookup.kernels.look_up import change_table, is_table_next, write_found
from sash.schema import FOREVER

# Registers of a list of instants: the place of the first (in a ring), how many, the one that came last; and of the messages
# sent, whether they are merged, the instant of the last one.
# The last two: the instant up to which rows have been worked off, whether the registers are set up.
FIRST, SIZE, NEWEST, MERGES, LAST, REACHED, IS_SET, REGISTERS = 0, 1, 2, 3, 4, 5, 6, 7
NOBODY_LEAVES = -(2**63)


class AnnouncedLookup(NamedTuple):
    """`joined` are registers of a list of instants, `heap` the list."""

    sides: PairSides
    table: KeyedNodes
    joined: Line
    heap: Lines


open_announced = opened(AnnouncedLookup)


@inlined
def write_message(instant: int, values: int, out: Changes, n: int) -> None:
    for lane in range(values):
        out.rows[n, lane] = 0
    for lane in range(values, out.rows.shape[1]):
        out.rows[n, lane] = -1
    out.ts[n], out.expiry[n], out.weight[n] = instant, instant, 0


@inlined
def after_merging(registers: Int64s, out_weight: Int64s, n: int) -> int:
    """Where the next change goes: with merging, over the message that it stands for."""
    return n - 1 if registers[MERGES] and n > 0 and out_weight[n - 1] == 0 else n


@kernel
def announce_in_order(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, values: int,
    registers: Int64s, ring: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Rows and messages; the rows leave in the order they came. `ring` has every instant once."""
    out, mask, n = Changes(out_rows, out_ts, out_expiry, out_weight), len(ring) - 1, 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while registers[SIZE] and ring[registers[FIRST] & mask] <= limit and n < len(out_ts):
            n = after_merging(registers, out_weight, n)
            write_message(ring[registers[FIRST] & mask], values, out, n)
            n += 1
            registers[FIRST] += 1
            registers[SIZE] -= 1
        if n == len(out_ts):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        n = after_merging(registers, out_weight, n)
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_expiry[n], out_weight[n] = delta_ts[i], delta_expiry[i], delta_weight[i]
        n += 1
        if delta_expiry[i] != FOREVER and (registers[SIZE] == 0 or registers[NEWEST] != delta_expiry[i]):
            ring[(registers[FIRST] + registers[SIZE]) & mask] = registers[NEWEST] = delta_expiry[i]
            registers[SIZE] += 1
    return n


@kernel
def announce_by_heap(
    delta_rows: Int64s, delta_ts: Int64s, delta_expiry: Int64s, delta_weight: Int64s, now: int, cursor: Int64s, values: int,
    registers: Int64s, heap: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """The same for rows that leave in any order."""
    out, n = Changes(out_rows, out_ts, out_expiry, out_weight), 0
    while cursor[0] <= len(delta_ts) and n < len(out_ts):
        i = cursor[0]
        limit = delta_ts[i] if i < len(delta_ts) else now - 1
        while registers[SIZE] and heap[0, 0] <= limit and n < len(out_ts):
            instant = pop_instant(registers, heap)
            n = after_merging(registers, out_weight, n)
            write_message(instant, values, out, n)
            n += 1
        if n == len(out_ts):
            break
        cursor[0] = i + 1
        if i == len(delta_ts):
            break
        n = after_merging(registers, out_weight, n)
        copy_row(delta_rows, i, out_rows, n)
        out_ts[n], out_expiry[n], out_weight[n] = delta_ts[i], delta_expiry[i], delta_weight[i]
        n += 1
        if delta_expiry[i] != FOREVER:
            push(heap, registers[SIZE], delta_expiry[i], 0)
            registers[SIZE] += 1
    return n


@inlined
def pop_instant(registers: Int64s, heap: Int64s) -> int:
    """Take the least instant out, all copies of it."""
    instant = heap[0, 0]
    while registers[SIZE] and heap[0, 0] == instant:
        pop(heap, registers[SIZE])
        registers[SIZE] -= 1
    return instant


@inlined
def greatest_due(limit: int, registers: Int64s, heap: Int64s) -> int:
    """The greatest instant in the table up to a limit; it is taken out, with all before it."""
    found = NOBODY_LEAVES
    while registers[SIZE] and heap[0, 0] <= limit:
        found = pop_instant(registers, heap)
    return found


@kernel
def look_up_announced(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s,
    record: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """As `look_up`; the expiries of rows that were joined are in a table (`heap`), and only their messages go on."""
    left, out = Changes(l_rows, l_ts, l_expiry, l_weight), Changes(out_rows, out_ts, out_expiry, out_weight)
    lookup = open_announced(record)
    sides, table, joined, heap, cursor = lookup.sides, lookup.table, lookup.joined, lookup.heap, lookup.sides.cursor
    r_width, n = r_rows.shape[1], 0
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        i = cursor[LEFT]
        if is_table_next(l_ts, r_ts, cursor):
            change_table(r_rows, r_weight, sides, table)
            continue
        partner = cursor[CHAIN] - 1
        if cursor[CHAIN] == 0:
            if n == len(out_ts):
                return n
            # A row stands for the messages that were merged with it.
            if l_weight[i] == 0 or joined[MERGES]:
                due = greatest_due(l_ts[i], joined, heap)
                if due != NOBODY_LEAVES:
                    n = after_merging(joined, out_weight, n)
                    write_message(due, sides.shape[0] + sides.shape[1], out, n)
                    n += 1
            if l_weight[i] != 0 and not has_null(l_rows, i, sides.left.masks):
                partner = newest_of_key(l_rows, i, sides.left.lanes, table)
                if partner != NOBODY and l_expiry[i] != FOREVER:
                    push(heap, joined[SIZE], l_expiry[i], 0)
                    joined[SIZE] += 1
        while partner != NOBODY:
            if n == len(out_ts):
                cursor[CHAIN] = partner + 1
                return n
            n = after_merging(joined, out_weight, n)
            write_found(left, i, partner, r_width, sides, table, out, n)
            n += 1
            partner = table.nodes[partner, r_width + FOLLOWING]
        cursor[CHAIN] = 0
        cursor[LEFT] += 1
    return n
