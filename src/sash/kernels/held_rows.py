"""Rows of a stream on their way to a port, in one pass: what waited and what came, up to where time is; the rest waits."""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bundles import Line, Lines, opened
from sash.kernels.compiling import kernel
from sash.kernels.rows import copy_row
from sash.schema import FOREVER

HEAD, COUNT = 0, 1  # registers of both
CANNOT = -1


class Held(NamedTuple):
    """A queue of changes (`stores/queue.py`)."""

    registers: Line
    rows: Lines
    ts: Line
    expiry: Line
    weight: Line


class Remembered(NamedTuple):
    """A history of rows (`stores/history.py`)."""

    registers: Line
    rows: Lines
    ts: Line


open_held, open_remembered = opened(Held), opened(Remembered)


@kernel
def pass_rows(rows: Int64s, ts: Int64s, now: int, held_record: Int64s, out_rows: Int64s, out_ts: Int64s) -> int:
    """Rows that come, in order, each once, into a queue of such rows; what happens before `now` goes out: how many those are.

    If there is no room in the queue, or rows that wait come after one that came, nothing has changed, and it CANNOT be told.
    """
    held = open_held(held_record)
    head, count, came = held.registers[HEAD], held.registers[COUNT], len(ts)
    if count and ts[0] < held.ts[head + count - 1]:
        return CANNOT
    waited = 0
    while waited < count and held.ts[head + waited] < now:
        waited += 1
    over = 0
    while over < came and ts[over] < now:
        over += 1
    end = head + count if waited < count else 0
    if end + came - over > len(held.ts):
        return CANNOT
    for i in range(waited):
        copy_row(held.rows, head + i, out_rows, i)
        out_ts[i] = held.ts[head + i]
    for i in range(over):
        copy_row(rows, i, out_rows, waited + i)
        out_ts[waited + i] = ts[i]
    for i in range(over, came):
        place = end + i - over
        copy_row(rows, i, held.rows, place)
        held.ts[place], held.expiry[place], held.weight[place] = ts[i], FOREVER, 1
    held.registers[HEAD] = head + waited if waited < count else 0
    held.registers[COUNT] = count - waited + came - over
    return waited + over


@kernel
def remember_rows(rows: Int64s, ts: Int64s, remembered_record: Int64s) -> bool:
    """Rows behind those that are remembered, if there is room."""
    kept = open_remembered(remembered_record)
    end = kept.registers[HEAD] + kept.registers[COUNT]
    if end + len(ts) > len(kept.ts):
        return False
    for i in range(len(ts)):
        copy_row(rows, i, kept.rows, end + i)
        kept.ts[end + i] = ts[i]
    kept.registers[COUNT] += len(ts)
    return True
