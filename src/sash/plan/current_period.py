"""Time as a value of a row: when the current second, hour or day began."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sash.interned import Interned
from sash.schema import TIMESTAMP, Field, Schema

if TYPE_CHECKING:
    from sash.plan.nodes import Plan


@dataclass(frozen=True)
class Period:
    """A stretch of time that comes again and again: one begins whenever the time plus `phase` is a multiple of `length`."""

    length: int  # microseconds
    phase: int = 0


@dataclass(frozen=True)
class CurrentPeriod(metaclass=Interned):
    """The input's columns, then a TIMESTAMP for each of some periods: the instant at which the current one began.

    This is what functions of NOW() are made of that tell less than the instant. Every row changes when a period ends.
    """

    input: Plan
    periods: tuple[Period, ...]

    @cached_property
    def schema(self) -> Schema:
        return with_periods(self.input.schema, self.periods)


def with_periods(schema: Schema, periods: tuple[Period, ...]) -> Schema:
    return Schema(schema.fields + tuple(Field(f"tick{number}", TIMESTAMP) for number in range(1, len(periods) + 1)))
