"""Few rows through many filters, each with a window and a GROUP BY of sums behind it: all of them in one call.

    siblings     due | …            a line for each: when its oldest row leaves, and what its two operators are to count
    conditions   of every filter, one after the other, from its start to that of the next
    records      of every GROUP BY: where its arrays are
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import kernel
from sash.kernels.rows import copy_row
from sash.operators.filter.kernels import is_kept
from sash.operators.group_by.kernels.sliding_extremes import EXPIRY
from sash.operators.group_by.kernels.sliding_sums import CROWDED, HEAD, LIVE, TAIL, count_leaving, open_sliding, slide_sums
from sash.schema import FOREVER

# Of a sibling: when its oldest row leaves; rows that its filter let through; changes that it gave, that enter and that leave
DUE, PASSED, CAME, WENT, COLUMNS = range(5)
# Of a call: the sibling to go on with, those that gave changes, where these end, instants of several groups; the least DUE of all
NEXT, FOUND, END, CROWDS, LEAST, REGISTERS = range(6)
SIBLING, START, STOP, FIRST_CROWD, FOUND_COLUMNS = range(5)  # of one that gave changes: where they are


class SiblingFacts(NamedTuple):
    conditions: Lines
    starts: Line
    sizes: Line  # of the window of each; 0: rows come with their expiry
    row_ats: Line  # where the shown row begins in a line of each


class SiblingRoom(NamedTuple):
    """For the rows that one filter lets through."""

    rows: Lines
    ts: Line
    expiry: Line
    weight: Line
    tags: Line


open_facts, open_room = opened(SiblingFacts), opened(SiblingRoom)


@kernel
def slide_siblings(
    rows: Int64s, ts: Int64s, expiry: Int64s, weight: Int64s, now: int, facts_record: Int64s, records: Int64s,
    room_record: Int64s, siblings: Int64s, registers: Int64s, out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
    found: Int64s, crowded: Int64s,
) -> bool:
    """All that happens before `now`, from the NEXT sibling on; False if one is short of room, in its own arrays or in the output.

    `found` gets a line for every sibling that gave changes, `crowded` the places of instants with several groups among them.
    """
    facts, some = open_facts(facts_record), open_room(room_record)
    while registers[NEXT] < len(siblings):
        s = registers[NEXT]
        count, size = 0, facts.sizes[s]
        for i in range(len(ts)):
            if is_kept(rows, i, facts.conditions, facts.starts[s], facts.starts[s + 1]):
                copy_row(rows, i, some.rows, count)
                some.ts[count], some.weight[count] = ts[i], weight[i]
                some.expiry[count] = FOREVER if size == FOREVER else ts[i] + size if size else expiry[i]
                count += 1
        if count or siblings[s, DUE] < now:
            state = open_sliding(records[s]).state
            live, start = state.registers[TAIL] - state.registers[HEAD], registers[END]
            changes = 2 * (count + count_leaving(some.expiry[:count], now, state.registers, state.ring))
            is_short = live + count >= len(state.ring) or state.registers[LIVE] + count + 1 > len(state.lines)
            if is_short or start + changes > len(out_ts):
                return False
            made = slide_sums(
                some.rows[:count], some.ts[:count], some.expiry[:count], some.weight[:count], now, facts.row_ats[s], records[s],
                some.tags[:count], out_rows[start:], out_ts[start:], out_weight[start:], crowded[registers[CROWDS] :],
            )
            head = state.registers[HEAD]
            is_empty = head == state.registers[TAIL]
            siblings[s, DUE] = FOREVER if is_empty else state.ring[head & len(state.ring) - 1, EXPIRY]
            siblings[s, PASSED] += count
            if made:
                _note(s, made, state.registers[CROWDED], siblings, registers, out_weight, found)
        registers[LEAST] = min(registers[LEAST], siblings[s, DUE])
        registers[NEXT] += 1
    return True


@kernel
def _note(s: int, made: int, crowds: int, siblings: Int64s, registers: Int64s, out_weight: Int64s, found: Int64s) -> None:
    """A sibling gave so many changes."""
    n, start = registers[FOUND], registers[END]
    found[n, SIBLING], found[n, START], found[n, STOP], found[n, FIRST_CROWD] = s, start, start + made, registers[CROWDS]
    for i in range(start, start + made):
        siblings[s, CAME] += out_weight[i] > 0
        siblings[s, WENT] += out_weight[i] < 0
    registers[FOUND], registers[END] = n + 1, start + made
    registers[CROWDS] += crowds
