"""Hashes of rows, and the hash table that groups and values are found with.

A table is one int64 array, its length a power of two. A slot is 0 when empty, else it holds a tag (the high half of a
hash) and an id above 0:

    slot   | tag, 32 bits | id, 32 bits |        home slot = tag mod length, collisions go to the next slots

Whoever searches compares tags first and looks at the thing itself only when they agree. Deletion moves later entries
back, so a table never fills with gaps; growth needs nothing but the tags.
"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel

# Odd factors of 64 bits; integers wrap around.
_SEED = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64

HALF = 0xFFFFFFFF  # the low 32 bits


@inlined
def mix(state: int, lane: int) -> int:
    """The hash of what `state` is the hash of, followed by one more lane."""
    bits = state * _SEED + _SEED ^ lane
    bits = (bits ^ (bits >> 30 & 0x3FFFFFFFF)) * _FIRST
    bits = (bits ^ (bits >> 27 & 0x1FFFFFFFFF)) * _SECOND
    return bits ^ (bits >> 31 & 0x1FFFFFFFF)


@kernel
def hash_lanes(rows: Int64s, row: int, lanes: Int64s) -> int:
    """The hash of some lanes of a row: 64 well mixed bits."""
    state = 0
    for place in range(len(lanes)):
        state = mix(state, rows[row, lanes[place]])
    return state


@kernel
def equal_lanes(
    left: Int64s, left_row: int, left_lanes: Int64s, right: Int64s, right_row: int, right_lanes: Int64s
) -> bool:
    """Whether some lanes of one row equal as many lanes of another."""
    for place in range(len(left_lanes)):
        if left[left_row, left_lanes[place]] != right[right_row, right_lanes[place]]:
            return False
    return True


@inlined
def tag_of(hash_: int) -> int:
    return (hash_ >> 32) & HALF


@kernel
def insert_entry(table: Int64s, tag: int, id_: int) -> None:
    """Put an id that is not there yet into the first free slot. The caller keeps the table half empty."""
    last = len(table) - 1
    slot = tag & last
    while table[slot] != 0:
        slot = (slot + 1) & last
    table[slot] = (tag << 32) | id_


@kernel
def remove_entry(table: Int64s, tag: int, id_: int) -> None:
    """Take an id out, and move back every later entry that the gap would cut off from its home."""
    last = len(table) - 1
    gap = tag & last
    while table[gap] & HALF != id_:
        gap = (gap + 1) & last
    slot = gap
    while True:
        slot = (slot + 1) & last
        entry = table[slot]
        if entry == 0:
            break
        home = (entry >> 32) & last
        if (slot - home) & last >= (slot - gap) & last:
            table[gap] = entry
            gap = slot
    table[gap] = 0


@kernel
def rebuild_table(old: Int64s, table: Int64s) -> None:
    """Fill an empty table with the entries of another."""
    for slot in range(len(old)):
        if old[slot] != 0:
            insert_entry(table, (old[slot] >> 32) & HALF, old[slot] & HALF)
