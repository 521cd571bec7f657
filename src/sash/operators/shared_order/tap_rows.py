"""What a tap of a shared order remembers: of every group the row that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Int64s
from sash.kernels.bundles import PARTS, Bundle
from sash.operators.net_changes import NetChanges
from sash.operators.shared_order.kernels.records import COLUMN_FIELDS, IS_SHOWN, ROW, Tap
from sash.stores.arena import Scope
from sash.stores.interner import Interner

if TYPE_CHECKING:
    from sash.operators.group_by.spec import RankedGroupBySpec


class TapRows:
    """Of one tap, in a scope of an arena."""

    WORDS = PARTS * len(Tap._fields)  # of its record

    def __init__(self, tap: RankedGroupBySpec, scope: Scope, interner: Interner, groups: int) -> None:
        self._scope, self.net = scope, NetChanges(tap.layout, interner)
        self.is_new = not scope.has("lines")
        self._lines = scope.array("lines", (groups, ROW + tap.layout.width))
        shape = np.array([tap.layout.width, tap.layout.values], np.int64)
        self._bundle = Bundle(Tap, np.zeros((0, COLUMN_FIELDS), np.int64), self._lines, shape)

    @property
    def record(self) -> Int64s:
        return self._bundle.record.ravel()

    @property
    def shown(self) -> Int64s:
        """The rows that all groups show."""
        return np.ascontiguousarray(self._lines[self._lines[:, IS_SHOWN] != 0, ROW:])

    def reserve(self, groups: int) -> None:
        """Have a line for all groups with a number below."""
        if groups > len(self._lines):
            self._lines = self._scope.resize("lines", groups)
            self._bundle.replace(lines=self._lines)

    def read(self, columns: Int64s) -> None:
        """Where its figures are found from now on."""
        self._bundle.replace(columns=columns)

    def drop(self) -> None:
        self._scope.drop()
