"""The time of some streams together: all that a view which reads just these may know of time.

    streams                 s (ts, clock)      a (stamped on arrival)
    the time of s alone     greatest and clock of s; rows of a never move it
    the time of both        the greatest timestamp of both, and the least clock; one clock stamps all that arrives

A table changes, for a view, at `now`: at the greatest timestamp, or at the clock where that is later. Without streams, time is
what was told.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sash.runtime.global_clock import ToldTime
from sash.runtime.stream_clock import StreamClock
from sash.schema import BEGINNING
from sash.stores.arena import Scope

HAS_ENDED, END, FLOOR, IS_SET = range(4)  # registers, which are kept as attributes too: who asks does so without the arena


class StreamsTime:
    """Of streams, by name."""

    def __init__(self, streams: Mapping[str, StreamClock], told: ToldTime, scope: Scope | None = None) -> None:
        """Without a scope nobody goes on with it."""
        self._streams = streams
        self._arrivals = [clock for clock in streams.values() if clock.is_arrival]
        self._only = next(iter(streams.values())) if len(streams) == 1 else None
        self._told = told
        self._registers = np.zeros(4, np.int64) if scope is None else scope.array("end", 4)
        if not self._registers[IS_SET]:
            self._registers[:] = (0, BEGINNING, BEGINNING, 1)
        self.has_ended = bool(self._registers[HAS_ENDED])
        self.end, self._floor = int(self._registers[END]), int(self._registers[FLOOR])  # the last instant, once the end was told

    @property
    def has_streams(self) -> bool:
        return bool(self._streams)

    @property
    def greatest(self) -> int:
        """The greatest timestamp; BEGINNING while there was none."""
        return max((clock.greatest for clock in self._streams.values()), default=BEGINNING)

    @property
    def clock(self) -> int:
        """All before it is final."""
        if self.has_ended:
            return self.end + 1
        if self._only is not None:
            clock = self._only.clock
            return clock if clock > self._floor else self._floor
        if not self._streams:
            return max(self._told.clock, self._floor)
        return max(min(map(self.clock_of, self._streams)), self._floor)

    def clock_of(self, stream: str) -> int:
        """What is promised of one of the streams: arrivals come in one order, so none will before the last of any."""
        if self.has_ended:
            return self.end + 1
        if self._only is not None:
            return self._only.clock
        clock = self._streams[stream]
        if not clock.is_arrival or len(self._arrivals) == 1:
            return clock.clock
        last = max(other.greatest for other in self._arrivals)
        return clock.clock if last == BEGINNING else max(clock.clock, last + 1)

    @property
    def now(self) -> int:
        """Where time is: at the greatest timestamp, or at the clock if that is later."""
        return self.end if self.has_ended else max(self.greatest, self.clock)

    @property
    def last(self) -> int:
        """The last instant that there is something of."""
        return max(self.greatest, self.clock - 1) if self._streams else self.clock

    def finish(self, last: int) -> None:
        """All up to this instant is final, and nothing more is expected."""
        self.has_ended, self.end, self._floor = True, last, max(self._floor, last + 1)
        self._registers[:IS_SET] = (1, last, self._floor)
        if not self._streams and last > BEGINNING:
            self._told.advance(last + 1, last)

    def resume(self) -> None:
        """Something comes after an end."""
        if self.has_ended:
            self.has_ended, self._registers[HAS_ENDED] = False, 0
