"""Logs of rows in which one line stands for all rows that equal it.

    the same row as line 1, 5 and 9      1: absorbed by 5      5: absorbed by 9      9: counts 3

Rows leave a log in the order they came, so the newest copy, which leaves last, counts for all that are there; an older one knows
only who absorbed it, and takes itself off that one's count when it leaves. A probe meets every distinct row once, and gives one
pair with the weight of all.

To look for its copy costs a row a visit of one more table. That is not done unless probes meet many rows, and then for few rows
until it is known that there are copies: for every sixteenth by hash, which sees all copies of those it sees, and every
thirty-second by place, which sees rows that are all the same. Of copies that are not looked for each is a line of its own, which
is as right; once it turns out that there are many, they are looked for in one pass over the log.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes, hash_lanes
from sash.kernels.join import EXPIRY, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT, enter_log

COUNT, MERGING_EXTRA = 4, 5  # lanes of a line after those of its row: how many rows it stands for, 0 if it is absorbed
# Registers after those of a log. All of late: how many rows were looked for and found, how many probes met how many rows. The
# last row that was not looked for, and the end of the log at the last pass.
TRIED, FOUND, PROBES, MET, UNTRIED, PASSED, MERGING_REGISTERS = 2, 3, 4, 5, 6, 7, 8
MEMORY = 4096  # tries, or probes, after which older ones count half
MANY = 4  # rows that a probe meets


@inlined
def enter_merging(
    rows: Int64s, i: int, expiry: int, weight: int, hash_: int, registers: Int64s, lines: Int64s, table: Int64s, copies: Int64s,
    whole: Int64s,
) -> None:
    """Add a row at the end of a log, and let it absorb its newest copy, if one is found. `whole` are all lanes of a row."""
    width, number = rows.shape[1], registers[TAIL]
    enter_log(rows, i, expiry, weight, hash_, registers, lines, table)
    line = number & (len(lines) - 1)
    lines[line, width + COUNT] = weight
    if meets_many(registers):
        tag = hash_lanes(rows, i, whole)
        if pays(registers) or tag & 15 == 0 or number & 31 == 0:
            absorb_copy(number, tag, width, registers, lines, copies, whole)
            return
    registers[UNTRIED] = number


@inlined
def meets_many(registers: Int64s) -> bool:
    return registers[MET] >= MANY * registers[PROBES]


@inlined
def pays(registers: Int64s) -> bool:
    """Whether of the rows that a probe meets one at least is a copy, as far as is known."""
    return registers[FOUND] * registers[MET] >= registers[TRIED] * registers[PROBES]


@inlined
def absorb_copy(
    number: int, tag: int, width: int, registers: Int64s, lines: Int64s, copies: Int64s, whole: Int64s
) -> None:
    """Look for the newest copy of a row, which from now on is this one."""
    slot, line = tag >> 4 & (len(copies) - 1), number & (len(lines) - 1)
    copy = copies[slot] - 1
    copies[slot] = number + 1
    registers[TRIED] += 1
    if registers[OLDEST] <= copy < number:
        other = copy & (len(lines) - 1)
        if lines[other, width + COUNT] and equal_lanes(lines, line, whole, lines, other, whole):
            registers[FOUND] += 1
            lines[line, width + COUNT] += lines[other, width + COUNT]
            lines[other, width + COUNT], lines[other, width + HASH] = 0, number
    if registers[TRIED] >= MEMORY:
        registers[TRIED], registers[FOUND] = registers[TRIED] >> 1, registers[FOUND] >> 1


@kernel
def merge_all(width: int, registers: Int64s, lines: Int64s, copies: Int64s, whole: Int64s) -> None:
    """Look for the copies of all rows, if that has paid of late, not all were looked for, and the last time is long ago."""
    if registers[UNTRIED] < registers[OLDEST] or not meets_many(registers) or not pays(registers):
        return
    if registers[TAIL] - registers[PASSED] < registers[TAIL] - registers[OLDEST]:
        return
    for slot in range(len(copies)):
        copies[slot] = 0
    for row in range(registers[OLDEST], registers[TAIL]):
        line = row & (len(lines) - 1)
        if lines[line, width + COUNT]:
            absorb_copy(row, hash_lanes(lines, line, whole), width, registers, lines, copies, whole)
    registers[UNTRIED], registers[PASSED] = -1, registers[TAIL]


@inlined
def has_met(registers: Int64s, rows: int) -> None:
    """A probe is through; so many rows, each copy counted, it was paired with."""
    registers[PROBES] += 1
    registers[MET] += rows
    if registers[PROBES] >= MEMORY:
        registers[PROBES], registers[MET] = registers[PROBES] >> 1, registers[MET] >> 1


@inlined
def standing_for(row: int, width: int, lines: Int64s) -> int:
    """The line that counts for a row; those on the way to it come to know a nearer one."""
    mask = len(lines) - 1
    line = row & mask
    while lines[line, width + COUNT] == 0:
        following = lines[line, width + HASH] & mask
        if lines[following, width + COUNT] == 0:
            lines[line, width + HASH] = lines[following, width + HASH]
        line = following
    return line


@inlined
def leave_merging(width: int, registers: Int64s, lines: Int64s) -> None:
    """The oldest row leaves."""
    line = registers[OLDEST] & (len(lines) - 1)
    lines[standing_for(registers[OLDEST], width, lines), width + COUNT] -= lines[line, width + WEIGHT]
    registers[OLDEST] += 1


@inlined
def first_counting(row: int, now: int, width: int, oldest: int, lines: Int64s) -> int:
    mask = len(lines) - 1
    while row >= oldest and (lines[row & mask, width + COUNT] == 0 or lines[row & mask, width + EXPIRY] <= now):
        row = lines[row & mask, width + PREVIOUS]
    return row if row >= oldest else NOBODY


@inlined
def newest_counting(hash_: int, now: int, width: int, oldest: int, lines: Int64s, table: Int64s) -> int:
    """The newest row of a bucket that is alive and counts; those before it are cut off, once for all."""
    bucket = hash_ & (len(table) - 1)
    newest = table[bucket] - 1
    row = first_counting(newest, now, width, oldest, lines)
    if row != newest:
        table[bucket] = row + 1
    return row


@inlined
def next_counting(row: int, now: int, width: int, oldest: int, lines: Int64s) -> int:
    """The next one of a bucket; those in between are cut out."""
    line = row & (len(lines) - 1)
    following = lines[line, width + PREVIOUS]
    found = first_counting(following, now, width, oldest, lines)
    if found != following:
        lines[line, width + PREVIOUS] = found
    return found


@kernel
def chain_anew(width: int, registers: Int64s, lines: Int64s, table: Int64s) -> None:
    """After the tables have grown: the buckets of all rows that count."""
    mask = len(lines) - 1
    for bucket in range(len(table)):
        table[bucket] = 0
    for row in range(registers[OLDEST], registers[TAIL]):
        if lines[row & mask, width + COUNT]:
            bucket = lines[row & mask, width + HASH] & (len(table) - 1)
            lines[row & mask, width + PREVIOUS] = table[bucket] - 1
            table[bucket] = row + 1
