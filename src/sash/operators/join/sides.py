"""The two sides of what pairs rows: where their keys lie, and how a pair is put together."""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s, Layout
from sash.kernels.bundles import Bundle
from sash.kernels.pairs import CURSOR, LEFT, RIGHT, PairSide, PairSides, hash_rows
from sash.operators.spec import BinarySpec

FIRST_ROOM = 64


class Side:
    """The fixed facts of one side: where its keys lie, and which bits say that one is NULL."""

    def __init__(self, layout: Layout, keys: tuple[int, ...]) -> None:
        lanes = [layout.lanes[key] + k for key in keys for k in range(layout.schema.types[key].lanes)]
        self.lanes = np.array(lanes, np.int64)
        self.masks = np.zeros(layout.width, np.int64)
        for key in keys:
            lane, bit = layout.mask(key)
            self.masks[lane] |= 1 << bit

    def hashes(self, rows: Int64s) -> Int64s:
        """Of the keys of some rows."""
        found = np.empty(len(rows), np.int64)
        hash_rows(rows, self.lanes, found)
        return found


def pair_shape(spec: BinarySpec) -> Int64s:
    left, right = spec.left.layout, spec.right.layout
    return np.array([left.values, right.values, len(left.schema)], np.int64)


class Sides:
    """Both of them, with the cursor of a kernel that pairs their rows."""

    def __init__(
        self, spec: BinarySpec, left_keys: tuple[int, ...], right_keys: tuple[int, ...], shape: Int64s | None = None,
        more: int = 0,
    ) -> None:
        """The cursor has so many more places than kernels that pair rows share."""
        self.left, self.right = Side(spec.left.layout, left_keys), Side(spec.right.layout, right_keys)
        self.cursor = np.zeros(CURSOR + more, np.int64)
        self._room, self._count = FIRST_ROOM, (0, 0)
        self._bundles = [Bundle(PairSide, side.lanes, side.masks, _hashes()) for side in (self.left, self.right)]
        self.bundle = Bundle(PairSides, *self._bundles, pair_shape(spec) if shape is None else shape, self.cursor)

    def start(self, left: int, right: int) -> None:
        """Both sides have so many new rows."""
        self.cursor[:] = 0
        self._count = left, right
        if max(left, right) > self._room:
            self._room = max(left, right, 2 * self._room)
            for bundle in self._bundles:
                bundle.replace(hashes=np.empty(self._room, np.int64))

    @property
    def is_done(self) -> bool:
        """Whether the kernel has passed all of them."""
        left, right = self._count
        return self.cursor.item(LEFT) >= left and self.cursor.item(RIGHT) >= right


def _hashes() -> Int64s:
    return np.empty(FIRST_ROOM, np.int64)
