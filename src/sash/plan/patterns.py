"""Update patterns: how the rows of an edge will leave, and what tells it (seed 003, section 3; count windows and keys are ours).

    monotonic   never
    weakest     in the order in which they came: the oldest leaves next
    weak        in another order, but not before what is known of them says so
    strict      when a negative row says so, and nothing before does

What is known of a row that leaves in a weakest or weak pattern is one of these:

    by time     its expiry, from the moment it comes; the operator may renew it then (DISTINCT), never cut it short
    by count    the number of the row of one stream that will push it out: an expiry on a clock that ticks with every row
    by key      there are at most n rows for its key: a newer row of the key takes its place, or the key has no row any more
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Pattern(IntEnum):
    """In the order of how much an operator above must be ready for."""

    MONOTONIC = 0
    WEAKEST = 1
    WEAK = 2
    STRICT = 3

    def __str__(self) -> str:
        return self.name.lower()


class Signal(Enum):
    """What tells that a row leaves."""

    NOTHING = "nothing"  # it never does
    TIME = "by time"
    COUNT = "by count"
    KEY = "by key"
    NEGATIVE = "a negative row"


@dataclass(frozen=True)
class Leaving:
    """How the rows of an edge leave."""

    pattern: Pattern
    signal: Signal
    lifetime: int | None = None  # by time: how long every row lives, if that is the same for all
    counter: object = None  # by count: the stream whose rows are counted
    key: tuple[int, ...] = ()  # by key: its columns
    most: int = 1  # by key: how many rows a key has at most

    def __str__(self) -> str:
        says_more = self.signal in (Signal.TIME, Signal.COUNT, Signal.KEY)
        return f"{self.pattern}, {self.signal.value}" if says_more else str(self.pattern)


NEVER = Leaving(Pattern.MONOTONIC, Signal.NOTHING)
STRICT = Leaving(Pattern.STRICT, Signal.NEGATIVE)


def in_time(pattern: Pattern, lifetime: int | None = None) -> Leaving:
    return Leaving(pattern, Signal.TIME, lifetime)


def by_count(pattern: Pattern, counter: object) -> Leaving:
    return Leaving(pattern, Signal.COUNT, counter=counter)


def by_key(key: tuple[int, ...], most: int = 1) -> Leaving:
    return Leaving(Pattern.WEAK, Signal.KEY, key=key, most=most)
