"""Joins: pairs of rows with equal keys that are alive together.

Both kernels take the changes of the two sides in the order of time, enter each into its own side and pair it with what the other
side holds. The number of pairs is not known before: a kernel that finds its output full stops, and goes on at the cursor in the
next call.
"""

from __future__ import annotations

from typing import NamedTuple

from sash.deltas import Int64s
from sash.kernels.bag import COUNT, FOLLOWING, KeyedNodes, change_keyed
from sash.kernels.bundles import Changes, SignedChanges, opened
from sash.kernels.compiling import inlined, kernel
from sash.kernels.hashing import equal_lanes
from sash.kernels.pairs import (
    CHAIN,
    LEFT,
    RIGHT,
    PairSide,
    PairSides,
    hash_sides,
    is_left_next,
    newest_of_key,
    write_pair_of,
)
from sash.kernels.row_log import EXPIRY, NOBODY, WEIGHT, Log, enter_log, look_ahead, newest_alive, next_alive, pass_expired
from sash.kernels.rows import has_null


class ExpiringJoin(NamedTuple):
    sides: PairSides
    left: Log
    right: Log


class SignedSides(NamedTuple):
    sides: PairSides
    left: KeyedNodes
    right: KeyedNodes


open_expiring, open_signed = opened(ExpiringJoin), opened(SignedSides)


@kernel
def join_expiring(
    l_rows: Int64s, l_ts: Int64s, l_expiry: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_expiry: Int64s,
    r_weight: Int64s, record: Int64s, out_rows: Int64s, out_ts: Int64s, out_expiry: Int64s, out_weight: Int64s,
) -> int:
    """Join of rows that carry their expiry; a pair lives until the first of its two rows expires."""
    left, right = Changes(l_rows, l_ts, l_expiry, l_weight), Changes(r_rows, r_ts, r_expiry, r_weight)
    out, join = Changes(out_rows, out_ts, out_expiry, out_weight), open_expiring(record)
    sides, shape, cursor = join.sides, join.sides.shape, join.sides.cursor
    n, row = 0, cursor[CHAIN] - 1
    hash_sides(left, right, sides)
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        if is_left_next(left, right, cursor):
            n, row = _meet_alive(1, left, cursor[LEFT], row, sides.left, join.left, sides.right, join.right, shape, out, n)
            cursor[LEFT] += row == NOBODY
        else:
            n, row = _meet_alive(0, right, cursor[RIGHT], row, sides.right, join.right, sides.left, join.left, shape, out, n)
            cursor[RIGHT] += row == NOBODY
        if row != NOBODY:
            break
    cursor[CHAIN] = row + 1
    return n


@inlined
def _meet_alive(
    is_left: int, changes: Changes, i: int, row: int, own: PairSide, own_log: Log, other: PairSide, log: Log, shape: Int64s,
    out: Changes, n: int,
) -> tuple[int, int]:
    """A row comes, or goes on with a row of the other side. Where the output ends, and with whom to go on once there is room."""
    now, width = changes.ts[i], len(other.masks)
    if row == NOBODY and not has_null(changes.rows, i, own.masks):
        look_ahead(own.hashes, i, len(changes.ts), width, own_log.table, log)
        enter_log(changes.rows, i, changes.expiry[i], changes.weight[i], own.hashes[i], own_log)
        pass_expired(now, width, log.registers, log.lines)
        row = newest_alive(own.hashes[i], now, width, log)
    while row != NOBODY:
        line = row & (len(log.lines) - 1)
        if equal_lanes(changes.rows, i, own.lanes, log.lines, line, other.lanes):
            if n == len(out.ts):
                return n, row
            write_pair_of(is_left, changes.rows, i, len(own.masks), log.lines, line, width, shape, out.rows, n)
            out.ts[n] = now
            out.expiry[n] = min(changes.expiry[i], log.lines[line, width + EXPIRY])
            out.weight[n] = changes.weight[i] * log.lines[line, width + WEIGHT]
            n += 1
        row = next_alive(row, now, width, log)
    return n, NOBODY


@kernel
def join_signed(
    l_rows: Int64s, l_ts: Int64s, l_weight: Int64s, r_rows: Int64s, r_ts: Int64s, r_weight: Int64s, record: Int64s,
    out_rows: Int64s, out_ts: Int64s, out_weight: Int64s,
) -> int:
    """Join of signed changes over two keyed bags: the weight of a pair is the product of the weights."""
    left, right = SignedChanges(l_rows, l_ts, l_weight), SignedChanges(r_rows, r_ts, r_weight)
    out, join = SignedChanges(out_rows, out_ts, out_weight), open_signed(record)
    sides, shape, cursor = join.sides, join.sides.shape, join.sides.cursor
    n, node = 0, cursor[CHAIN] - 1
    while cursor[LEFT] < len(l_ts) or cursor[RIGHT] < len(r_ts):
        if is_left_next(left, right, cursor):
            n, node = _meet_all(1, left, cursor[LEFT], node, sides.left, join.left, sides.right, join.right, shape, out, n)
            cursor[LEFT] += node == NOBODY
        else:
            n, node = _meet_all(0, right, cursor[RIGHT], node, sides.right, join.right, sides.left, join.left, shape, out, n)
            cursor[RIGHT] += node == NOBODY
        if node != NOBODY:
            break
    cursor[CHAIN] = node + 1
    return n


@inlined
def _meet_all(
    is_left: int, changes: SignedChanges, i: int, node: int, own: PairSide, own_bag: KeyedNodes, other: PairSide,
    bag: KeyedNodes, shape: Int64s, out: SignedChanges, n: int,
) -> tuple[int, int]:
    """As `_meet_alive`, with the nodes of a bag."""
    width = len(other.masks)
    if node == NOBODY and not has_null(changes.rows, i, own.masks):
        change_keyed(changes.rows, i, changes.weight[i], own_bag)
        node = newest_of_key(changes.rows, i, own.lanes, bag)
    while node != NOBODY:
        if n == len(out.ts):
            return n, node
        write_pair_of(is_left, changes.rows, i, len(own.masks), bag.nodes, node, width, shape, out.rows, n)
        out.ts[n], out.weight[n] = changes.ts[i], changes.weight[i] * bag.nodes[node, width + COUNT]
        node = bag.nodes[node, width + FOLLOWING]
        n += 1
    return n, NOBODY
