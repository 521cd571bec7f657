"""What a window holds at an instant, straight from the definition and with no regard for speed.

    RANGE w           rows with now - w < ts <= now
    RANGE w SLIDE s   a row enters at the end E of its basic window [i*s, (i+1)*s), and is held in [E, E + w)
    ROWS n            the last n rows, by timestamp, then by position; with PARTITION BY, the last n of each partition
    ROWS n SLIDE m    the last n / m complete basic windows of m rows each
    NOW               rows with ts = now
    UNBOUNDED         all rows so far
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sash.plan.nodes import WindowKind, WindowSpec
from sash.testing.values import Row


@dataclass(frozen=True)
class Arrival:
    """A row of a stream and the instant of its arrival; a list of them is sorted by ts, then by position."""

    ts: int
    row: Row


def held(spec: WindowSpec, arrivals: Sequence[Arrival], now: int) -> list[int]:
    """The places, among the arrivals, of the rows that the window holds at `now`."""
    so_far = [place for place, arrival in enumerate(arrivals) if arrival.ts <= now]
    match spec.kind:
        case WindowKind.UNBOUNDED:
            return so_far
        case WindowKind.NOW:
            return [place for place in so_far if arrivals[place].ts == now]
        case WindowKind.ROWS:
            return _last_rows(spec, arrivals, so_far)
        case WindowKind.RANGE:
            starts = [_enters(spec, arrivals[place].ts) for place in so_far]
            return [place for place, start in zip(so_far, starts, strict=True) if start <= now < start + spec.size]


def _enters(spec: WindowSpec, ts: int) -> int:
    return (ts // spec.slide + 1) * spec.slide if spec.slide else ts


def _last_rows(spec: WindowSpec, arrivals: Sequence[Arrival], so_far: list[int]) -> list[int]:
    partitions: dict[Row, list[int]] = defaultdict(list)
    for place in so_far:
        row = arrivals[place].row
        partitions[tuple(row[column] for column in spec.partition)].append(place)
    return sorted(place for places in partitions.values() for place in _last(spec, places))


def _last(spec: WindowSpec, places: list[int]) -> list[int]:
    complete = len(places) // spec.slide * spec.slide if spec.slide else len(places)
    return places[max(0, complete - spec.size) : complete]


def instants(spec: WindowSpec, arrivals: Sequence[Arrival]) -> set[int]:
    """Every instant at which what the window holds may change."""
    times = {arrival.ts for arrival in arrivals}
    match spec.kind:
        case WindowKind.RANGE:
            starts = {_enters(spec, ts) for ts in times}
            return starts | {start + spec.size for start in starts}
        case WindowKind.NOW:
            return times | {ts + 1 for ts in times}
        case _:
            return times
