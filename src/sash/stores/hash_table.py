"""Hash tables of stores: tags and ids in an array of an arena, at most half full. (`kernels/hashing.py` draws them.)"""

from __future__ import annotations

from sash.deltas import Int64s
from sash.kernels.hashing import rebuild_table
from sash.stores.arena import Scope


def table_length(entries: int) -> int:
    """A power of two, with room for twice as many entries."""
    return 1 << (2 * entries).bit_length()


def grown_table(scope: Scope, name: str, table: Int64s, length: int) -> Int64s:
    """The same entries in a longer table."""
    entries = table.copy()
    grown: Int64s = scope.resize(name, length)
    grown[:] = 0
    rebuild_table(entries, grown)
    return grown
