"""Time as a value of a row: whether an instant that the row names has been reached."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.interned import Interned
from sash.schema import BOOLEAN, Field, Schema

if TYPE_CHECKING:
    from sash.plan.nodes import Plan


@dataclass(frozen=True)
class TimePredicate(metaclass=Interned):
    """The input's columns, then a BOOLEAN for each of some BIGINT columns: whether that instant is now or before; NULL for NULL.

    This is what comparisons with NOW() are made of. A row changes by itself when an instant comes.
    """

    input: Plan
    instants: tuple[int, ...]

    @cached_property
    def schema(self) -> Schema:
        names = self.input.schema.names
        extra = tuple(Field(f"{names[place]} is reached", BOOLEAN) for place in self.instants)
        return Schema(self.input.schema.fields + extra)
