"""The left rows of a sequence that wait for a right one. (`kernels/sequence.py` draws them.)"""

from __future__ import annotations

from sash.deltas import Int64s, Layout
from sash.kernels.bundles import Bundle
from sash.operators.sequence.kernels import LINKS, LIVE, REGISTERS, WaitingNodes
from sash.stores.arena import Scope
from sash.stores.hash_table import grown_table, table_length
from sash.stores.interner import Interner
from sash.stores.lanes import string_lanes

FIRST_ROOM = 64


class WaitingRows:
    """Rows in the order they came, also found by key."""

    def __init__(self, layout: Layout, key_lanes: Int64s, scope: Scope, interner: Interner) -> None:
        self._scope = scope
        self.registers = scope.array("registers", REGISTERS)
        self.table = scope.array("table", 2 * FIRST_ROOM)
        self.stored = scope.array("stored", (FIRST_ROOM, layout.width))
        self.stamps = scope.array("stamps", FIRST_ROOM)
        self.links = scope.array("links", (FIRST_ROOM, LINKS))
        self.bundle = Bundle(WaitingNodes, self.registers, self.table, self.stored, self.stamps, self.links, key_lanes)
        lanes = string_lanes(layout)
        interner.hold(lambda: (self.stored, lanes))

    def __len__(self) -> int:
        return int(self.registers[LIVE])

    def reserve(self, extra: int) -> None:
        """Make room for so many more rows; number 0 is nobody."""
        wanted = len(self) + extra + 1
        if wanted > len(self.stamps):
            room = max(2 * len(self.stamps), wanted)
            self.stored, self.stamps = self._scope.resize("stored", room), self._scope.resize("stamps", room)
            self.links = self._scope.resize("links", room)
            self.bundle.replace(stored=self.stored, stamps=self.stamps, links=self.links)
        if 2 * wanted > len(self.table):
            self.table = grown_table(self._scope, "table", self.table, table_length(wanted))
            self.bundle.replace(table=self.table)
