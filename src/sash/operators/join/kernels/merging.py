"""Logs of rows in which one line stands for all rows that equal it.

    the same row as line 1, 5 and 9      1: absorbed by 5      5: absorbed by 9      9: counts 3

Rows leave a log in the order they came, so the newest copy, which leaves last, counts for all that are there; an older one knows
only who absorbed it, and takes itself off that one's count when it leaves. A probe meets every distinct row once, and gives one
pair with the weight of all.

To look for its copy costs a row a visit of one more table, so it is done only where that pays: probes tell how many pairs it
spares them, or would. Copies that were not looked for are lines of their own, which is as right; once it turns out that there are
many, one pass over the log looks for all.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes, hash_lanes
from sash.kernels.row_log import EXPIRY, HASH, NOBODY, OLDEST, PREVIOUS, TAIL, WEIGHT, enter_log

COUNT, MERGING_EXTRA = 4, 5  # lanes of a line after those of its row: how many rows it stands for, 0 if it is absorbed
# Registers after those of a log: whether copies are looked for; the probes of late, and how many pairs that spares; the last row
# that was not looked for, the end of the log at the last pass, and when it was last judged whether to look.
MERGES, PROBES, COPIES, UNTRIED, PASSED, JUDGED, MERGING_REGISTERS = 2, 3, 4, 5, 6, 7, 8
ASKED = 16  # rows that a probe meets, of which it is asked how many are copies of the first
MEMORY = 256  # probes after which it is judged anew
WORTH = 2  # pairs that must be spared for every row that is looked for
LOST = 4  # where it is a fourth of that, looking for copies has stopped to pay


class MergingLines(NamedTuple):
    """A log (`row_log.Log`), with a table to the newest copy of every row, all lanes of a row, and for each line another one
    that is some lines further on in its chain.
    """

    registers: Line
    lines: Lines
    table: Line
    copies: Line
    whole: Line
    jumps: Line


open_merging = opened(MergingLines)


@inlined
def enter_merging(rows: Int64s, i: int, expiry: int, weight: int, hash_: int, log: MergingLines) -> None:
    """Add a row at the end of a log, and let it absorb its newest copy, if one is looked for."""
    width, number = rows.shape[1], log.registers[TAIL]
    enter_log(rows, i, expiry, weight, hash_, log)
    log.lines[number & (len(log.lines) - 1), width + COUNT] = weight
    if log.registers[MERGES]:
        absorb_copy(number, width, log)
    else:
        log.registers[UNTRIED] = number


@kernel
def absorb_copy(number: int, width: int, log: MergingLines) -> None:
    """Look for the newest copy of a row, which from now on is this one."""
    lines, copies, whole = log.lines, log.copies, log.whole
    line = number & (len(lines) - 1)
    slot = hash_lanes(lines, line, whole) & (len(copies) - 1)
    copy = copies[slot] - 1
    copies[slot] = number + 1
    if log.registers[OLDEST] <= copy < number:
        other = copy & (len(lines) - 1)
        if lines[other, width + COUNT] and equal_lanes(lines, line, whole, lines, other, whole):
            lines[line, width + COUNT] += lines[other, width + COUNT]
            lines[other, width + COUNT], lines[other, width + HASH] = 0, number


@kernel
def reconsider(width: int, log: MergingLines) -> None:
    """Whether copies are looked for from now on; if they are, and have not been, in the whole log, unless it was done of late."""
    registers, copies = log.registers, log.copies
    came = registers[TAIL] - registers[JUDGED]
    registers[MERGES] = registers[COPIES] * (LOST if registers[MERGES] else 1) > WORTH * came
    registers[PROBES], registers[COPIES], registers[JUDGED] = 0, 0, registers[TAIL]
    live = registers[TAIL] - registers[OLDEST]
    if registers[MERGES] and registers[UNTRIED] >= registers[OLDEST] and registers[TAIL] - registers[PASSED] >= live:
        for slot in range(len(copies)):
            copies[slot] = 0
        for row in range(registers[OLDEST], registers[TAIL]):
            if log.lines[row & (len(log.lines) - 1), width + COUNT]:
                absorb_copy(row, width, log)
        registers[UNTRIED], registers[PASSED] = -1, registers[TAIL]


@inlined
def copies_among(met: Int64s, count: int, width: int, log: MergingLines) -> int:
    """How many pairs a probe is spared, or would be if copies were looked for: all rows may have as many as the first one has."""
    lines, whole = log.lines, log.whole
    absorbed = copies = 0
    if log.registers[MERGES]:
        for p in range(count):
            absorbed += lines[met[p], width + COUNT] - lines[met[p], width + WEIGHT]
    asked = min(count, ASKED)
    for p in range(1, asked):
        copies += equal_lanes(lines, met[p], whole, lines, met[0], whole)
    return absorbed + min(count - 1, copies * count * count // (2 * asked)) if copies else absorbed


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
def leave_merging(width: int, log: MergingLines) -> None:
    """The oldest row leaves."""
    registers, lines = log.registers, log.lines
    line = registers[OLDEST] & (len(lines) - 1)
    lines[standing_for(registers[OLDEST], width, lines), width + COUNT] -= lines[line, width + WEIGHT]
    registers[OLDEST] += 1


@inlined
def first_counting(row: int, now: int, width: int, log: MergingLines) -> int:
    lines, mask, oldest = log.lines, len(log.lines) - 1, log.registers[OLDEST]
    while row >= oldest and (lines[row & mask, width + COUNT] == 0 or lines[row & mask, width + EXPIRY] <= now):
        row = lines[row & mask, width + PREVIOUS]
    return row if row >= oldest else NOBODY


@inlined
def newest_counting(hash_: int, now: int, width: int, log: MergingLines) -> int:
    """The newest row of a bucket that is alive and counts; those before it are cut off, once for all."""
    bucket = hash_ & (len(log.table) - 1)
    newest = log.table[bucket] - 1
    row = first_counting(newest, now, width, log)
    if row != newest:
        log.table[bucket] = row + 1
    return row


@inlined
def next_counting(row: int, now: int, width: int, log: MergingLines) -> int:
    """The next one of a bucket; those in between are cut out."""
    line = row & (len(log.lines) - 1)
    following = log.lines[line, width + PREVIOUS]
    found = first_counting(following, now, width, log)
    if found != following:
        log.lines[line, width + PREVIOUS] = found
    return found


@kernel
def chain_anew(width: int, record: Int64s) -> None:
    """After the tables have grown: the buckets of all rows that count."""
    log = open_merging(record)
    registers, lines, table = log.registers, log.lines, log.table
    mask = len(lines) - 1
    for bucket in range(len(table)):
        table[bucket] = 0
    for row in range(registers[OLDEST], registers[TAIL]):
        if lines[row & mask, width + COUNT]:
            bucket = lines[row & mask, width + HASH] & (len(table) - 1)
            lines[row & mask, width + PREVIOUS] = table[bucket] - 1
            table[bucket] = row + 1
