"""Logs of rows, chained by key from the newest to the oldest; chains end by themselves where rows have expired."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.prefetching import FAR, NEAR, NEXT, prefetch
from sash.kernels.rows import copy_row

Int64s = npt.NDArray[np.int64]

TAIL, OLDEST = 0, 1  # registers of a log: the number of the next row, that of the first which may be alive

EXPIRY, WEIGHT, PREVIOUS, HASH, EXTRA = 0, 1, 2, 3, 4  # lanes of a line after those of its row

NOBODY = -1


class Log(NamedTuple):
    """What a log is made of (`stores/row_log.py` draws it)."""

    registers: Line
    lines: Lines
    table: Line


open_log = opened(Log)


@inlined
def enter_log(rows: Int64s, i: int, expiry: int, weight: int, hash_: int, log: Log) -> None:
    """Add a row at the end of a log and make it the newest of its bucket."""
    registers, lines, table = log.registers, log.lines, log.table
    width, bucket, line = rows.shape[1], hash_ & (len(table) - 1), registers[TAIL] & (len(lines) - 1)
    copy_row(rows, i, lines, line)
    lines[line, width + EXPIRY], lines[line, width + WEIGHT] = expiry, weight
    lines[line, width + PREVIOUS], lines[line, width + HASH] = table[bucket] - 1, hash_
    registers[TAIL] += 1
    table[bucket] = registers[TAIL]


@kernel
def forget_expired(now: int, width: int, record: Int64s) -> None:
    """Move the rows that are alive at `now` together and chain them anew."""
    log = open_log(record)
    registers, lines, table = log.registers, log.lines, log.table
    mask, live = len(lines) - 1, registers[OLDEST]
    for bucket in range(len(table)):
        table[bucket] = 0
    for row in range(registers[OLDEST], registers[TAIL]):
        if lines[row & mask, width + EXPIRY] > now:
            if live != row:
                copy_row(lines, row & mask, lines, live & mask)
            bucket = lines[live & mask, width + HASH] & (len(table) - 1)
            lines[live & mask, width + PREVIOUS] = table[bucket] - 1
            live += 1
            table[bucket] = live
    registers[TAIL] = live


@kernel
def pass_expired(now: int, width: int, registers: Int64s, lines: Int64s) -> None:
    """All rows before OLDEST have expired, so chains end there and nobody looks at them any more."""
    mask, oldest = len(lines) - 1, registers[OLDEST]
    while oldest < registers[TAIL] and lines[oldest & mask, width + EXPIRY] <= now:
        oldest += 1
    registers[OLDEST] = oldest


@inlined
def first_alive(row: int, now: int, width: int, log: Log) -> int:
    mask, oldest = len(log.lines) - 1, log.registers[OLDEST]
    while row >= oldest and log.lines[row & mask, width + EXPIRY] <= now:
        row = log.lines[row & mask, width + PREVIOUS]
    return row if row >= oldest else NOBODY


@inlined
def newest_alive(hash_: int, now: int, width: int, log: Log) -> int:
    """The newest row alive in a bucket; expired ones before it are cut off, once for all."""
    bucket = hash_ & (len(log.table) - 1)
    newest = log.table[bucket] - 1
    row = first_alive(newest, now, width, log)
    if row != newest:
        log.table[bucket] = row + 1
    return row


@inlined
def next_alive(row: int, now: int, width: int, log: Log) -> int:
    """The next one alive in a bucket; expired ones in between are cut out."""
    line = row & (len(log.lines) - 1)
    following = log.lines[line, width + PREVIOUS]
    alive = first_alive(following, now, width, log)
    if alive != following:
        log.lines[line, width + PREVIOUS] = alive
    return alive


@inlined
def look_ahead(hashes: Int64s, i: int, count: int, width: int, own_table: Int64s, log: Log) -> None:
    """Ask for the buckets of later ones of so many rows, and for the first two rows that the other side has in them."""
    table, lines = log.table, log.lines
    last, mask = len(table) - 1, len(lines) - 1
    if i + FAR < count:
        prefetch(own_table, hashes[i + FAR] & (len(own_table) - 1))
        prefetch(table, hashes[i + FAR] & last)
        prefetch(lines, (table[hashes[i + NEAR] & last] - 1) & mask)
        prefetch(lines, lines[(table[hashes[i + NEXT] & last] - 1) & mask, width + PREVIOUS] & mask)
