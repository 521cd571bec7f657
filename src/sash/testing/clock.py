"""A clock that moves only when it is told to, for tests of whatever asks for the time."""

from __future__ import annotations

from sash.schema import SECOND
from sash.testing.values import Instant, microseconds


class FakeClock:
    """Call it for the time in microseconds since the epoch.

    >>> clock = FakeClock("2024-01-01 12:00:00")
    >>> clock.advance(1.5)
    >>> clock()
    1704110401500000
    """

    def __init__(self, start: Instant = 0) -> None:
        self.now = microseconds(start)

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        """Time goes forward only."""
        if seconds < 0:
            raise ValueError(f"a clock does not go back, not even {-seconds} seconds")
        self.now += round(seconds * SECOND)

    def sleep(self, seconds: float) -> None:
        """In the place of time.sleep: returns at once, and the time has passed."""
        self.advance(seconds)
