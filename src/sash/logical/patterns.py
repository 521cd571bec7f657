"""Update patterns: how the rows of an edge will leave.

    monotonic   never
    weakest     by themselves, in the order in which they came
    weak        by themselves, in another order, known from their expiry
    strict      when a negative row says so
"""

from __future__ import annotations

from enum import IntEnum


class Pattern(IntEnum):
    """In the order of how much an operator above must be ready for."""

    MONOTONIC = 0
    WEAKEST = 1
    WEAK = 2
    STRICT = 3

    @property
    def is_signed(self) -> bool:
        return self is Pattern.STRICT

    def __str__(self) -> str:
        return self.name.lower()
