"""ASOF joins: every left row with the one right row of its key that is nearest to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.interned import Interned
from sash.schema import Schema

if TYPE_CHECKING:
    from sash.plan.nodes import Plan


@dataclass(frozen=True)
class AsOf(metaclass=Interned):
    """Keys are equal and not NULL, as in a join. Of the right rows whose `right_at` is at or before the left row's `left_at`, the
    one with the greatest, and of several the least by the full row.

    With `is_strict`, before only. With `is_forward`, the other way round: at or after, the one with the least. A left row that
    finds nothing is left out, or with `is_outer` padded with NULLs.
    """

    left: Plan
    right: Plan
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_at: int
    right_at: int
    is_forward: bool = False
    is_strict: bool = False
    is_outer: bool = False

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)

    @property
    def comparison(self) -> str:
        """As it is written: left_at >= right_at."""
        return ("<" if self.is_forward else ">") + ("" if self.is_strict else "=")
