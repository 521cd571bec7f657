"""What the clock on the wall lets the sources of an engine in this process say when no row arrives.

    stamped at arrival      whatever comes later is stamped later: the present
    IDLE AFTER d            silent for so long: the least clock of those that are not
    any other               nothing: nobody knows what will come
"""

from __future__ import annotations

from collections.abc import Mapping

from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.schema import BEGINNING


class IdleClock:
    """Remembers when each stream was last heard of; time is an argument, in microseconds."""

    def __init__(self, now: int) -> None:
        self._start = now
        self._heard: dict[str, int] = {}

    def observe(self, stream: str, now: int) -> None:
        self._heard[stream] = now

    def advances(self, job: Job, clocks: Mapping[str, int], now: int) -> dict[str, int]:
        """The streams whose clocks may move, and where to."""
        streams = [stream for stream in job.streams if job.has_time(stream)]
        found = {stream.name: now for stream in streams if stream.stamp is not Stamp.EXTERNAL}
        idle = {stream.name for stream in streams if self._is_idle(stream, now)}
        others = [found.get(stream.name, clocks[stream.name]) for stream in streams if stream.name not in idle]
        to = min(others, default=BEGINNING)
        return found | {name: to for name in idle if to > clocks[name]}

    def _is_idle(self, stream: StreamSpec, now: int) -> bool:
        return stream.idle is not None and now - self._heard.get(stream.name, self._start) >= stream.idle
