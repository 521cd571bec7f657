"""IDLE AFTER: a stream that has been silent for so long no longer holds up the others.

Its clock goes to the least clock of the streams that are not idle. The advance is put down with its value, like any
other control event, so a restart meets it at the same place, whatever the clock on the wall says then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sash.logical.streams import StreamSpec
from sash.spark.keeper import GREATEST


class IdleRule:
    """Watches the streams of a running query; time is that of the wall, in microseconds, and an argument."""

    def __init__(self, streams: Iterable[StreamSpec], now: int) -> None:
        self._streams = {stream.name: stream for stream in streams if not stream.is_table}
        self._heard = dict.fromkeys(self._streams, now)
        self._clocks: dict[str, int] = {}
        self._told: dict[str, int] = {}

    @property
    def is_set(self) -> bool:
        return any(stream.idle is not None for stream in self._streams.values())

    def saw(self, facts: Iterable[Mapping[str, int | None]], now: int) -> None:
        """What keepers told of a batch: among it, the greatest timestamp of every stream that had rows."""
        told = [(name.removeprefix(GREATEST), ts) for fact in facts for name, ts in fact.items() if GREATEST in name]
        for name, ts in told:
            assert ts is not None
            clock = ts - self._streams[name].delay
            self._heard[name] = now
            self._clocks[name] = max(clock, self._clocks.get(name, clock))

    def advances(self, now: int) -> dict[str, int]:
        """The streams whose clocks are to move, and where to; each is told once."""
        idle = {name for name, stream in self._streams.items() if self._is_idle(stream, now)}
        clocks = [self._clocks.get(name) for name in self._streams if name not in idle]
        known = [clock for clock in clocks if clock is not None]
        if len(known) < len(clocks) or not known:
            return {}  # nobody to follow
        to = min(known)
        moved = {name: to for name in idle if to > max(clock.get(name, to - 1) for clock in (self._clocks, self._told))}
        self._told |= moved
        return moved

    def _is_idle(self, stream: StreamSpec, now: int) -> bool:
        return stream.idle is not None and now - self._heard[stream.name] >= stream.idle
