"""A window of some rows and columns of a stream, as a window of all of them, conditions, and a choice of columns.

    Window ─ Filter v > 3 ─ Project k, v ─ s   =   k, v of those with v > 3 of   Window ─ s

The window alone is what many queries have. Conditions are those that can be asked later too: they compare a column with
constants, so they cannot fail, and cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sash.scalar.nodes import Expression, remap

if TYPE_CHECKING:
    from sash.operators.spec import Spec


@dataclass(frozen=True)
class AllRows:
    """The window, conditions on its columns, and which of them were wanted."""

    window: Spec
    conditions: tuple[Expression, ...]
    columns: tuple[int, ...]

    def where(self, condition: Expression) -> AllRows:
        """Those that meet a condition on what was wanted so far."""
        moved = remap(condition, dict(enumerate(self.columns)))
        return AllRows(self.window, (*self.conditions, moved), self.columns)

    def choose(self, columns: Sequence[int]) -> AllRows:
        """Some columns of what was wanted so far."""
        return AllRows(self.window, self.conditions, tuple(self.columns[column] for column in columns))
