"""What a window holds at an instant, straight from the definition and with no regard for speed.

    RANGE w           rows with now - w < ts <= now
    RANGE w SLIDE s   a row enters at the end E of its basic window [i*s, (i+1)*s), and is held in [E, E + w)
    ROWS n            the last n rows, by timestamp, then by position; with PARTITION BY, the last n of each partition
    ROWS n SLIDE m    the last n / m complete basic windows of m rows each
    SESSION GAP g     the rows since the last gap of g between two neighbours, until g after the last one; or of each partition
    NOW               rows with ts = now
    UNBOUNDED         all rows so far
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sash.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionGapWindow, UnboundedWindow, WindowShape
from sash.testing.values import Row


@dataclass(frozen=True)
class Arrival:
    """A row of a stream and the instant of its arrival; a list of them is sorted by ts, then by position."""

    ts: int
    row: Row


def held(shape: WindowShape, arrivals: Sequence[Arrival], now: int) -> list[int]:
    """The places, among the arrivals, of the rows that the window holds at `now`."""
    so_far = [place for place, arrival in enumerate(arrivals) if arrival.ts <= now]
    match shape:
        case UnboundedWindow():
            return so_far
        case NowWindow():
            return [place for place in so_far if arrivals[place].ts == now]
        case RowsWindow():
            return _last_rows(shape, arrivals, so_far)
        case RangeWindow():
            starts = [_enters(shape, arrivals[place].ts) for place in so_far]
            return [place for place, start in zip(so_far, starts, strict=True) if start <= now < start + shape.size]
        case SessionGapWindow():
            return _open_sessions(shape, arrivals, so_far, now)
        case _:
            raise NotImplementedError(f"nobody has said what a {type(shape).__name__} holds")


def _enters(shape: WindowShape, ts: int) -> int:
    return (ts // shape.slide + 1) * shape.slide if shape.slide else ts


def _last_rows(shape: WindowShape, arrivals: Sequence[Arrival], so_far: list[int]) -> list[int]:
    partitions: dict[Row, list[int]] = defaultdict(list)
    for place in so_far:
        row = arrivals[place].row
        partitions[tuple(row[column] for column in shape.partition)].append(place)
    return sorted(place for places in partitions.values() for place in _last(shape, places))


def _open_sessions(shape: WindowShape, arrivals: Sequence[Arrival], so_far: list[int], now: int) -> list[int]:
    """Of every partition the rows since the last gap, unless it is longer than that since the last one."""
    sessions: dict[Row, list[int]] = defaultdict(list)
    for place in so_far:
        row = arrivals[place].row
        session = sessions[tuple(row[column] for column in shape.partition)]
        if session and arrivals[place].ts - arrivals[session[-1]].ts >= shape.size:
            session.clear()
        session.append(place)
    return sorted(p for session in sessions.values() if now < arrivals[session[-1]].ts + shape.size for p in session)


def _last(shape: WindowShape, places: list[int]) -> list[int]:
    complete = len(places) // shape.slide * shape.slide if shape.slide else len(places)
    return places[max(0, complete - shape.size) : complete]


def instants(shape: WindowShape, arrivals: Sequence[Arrival]) -> set[int]:
    """Every instant at which what the window holds may change."""
    times = {arrival.ts for arrival in arrivals}
    match shape:
        case RangeWindow():
            starts = {_enters(shape, ts) for ts in times}
            return starts | {start + shape.size for start in starts}
        case NowWindow():
            return times | {ts + 1 for ts in times}
        case RowsWindow() | UnboundedWindow():
            return times
        case SessionGapWindow():
            return times | {ts + shape.size for ts in times}
        case _:
            raise NotImplementedError(f"nobody has said when a {type(shape).__name__} changes")
