"""Progress of a run for people: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from types import TracebackType

from rich.console import Console
from rich.status import Status

from sash.cli.screen import printable
from sash.runtime.progress import Progress

EVERY = 5.0  # seconds between two plain lines
EPOCH = datetime(1970, 1, 1)


class Report:
    """Shows progress as it comes."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._status: Status | None = None
        self._shown = 0.0
        self.last = Progress()

    def __enter__(self) -> Report:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, progress: Progress) -> None:
        self.last = progress
        if self._status is not None:
            self._status.update(line(progress))
        elif time.monotonic() - self._shown > EVERY:
            self._shown = time.monotonic()
            self.say(line(progress))

    def say(self, text: str) -> None:
        self._console.print(printable(text), highlight=False, soft_wrap=True, markup=False, emoji=False)


def line(progress: Progress) -> str:
    """Rows, rate, batch and event time, in one line."""
    parts = [
        f"{progress.rows:,} rows", f"{progress.rows_per_second:,.0f} rows/s",
        f"batch {progress.batch} in {progress.batch_seconds:.2f} s",
    ]
    if progress.event_time is not None:
        parts.append(f"event time {instant_text(progress.event_time)}")
    return "  ".join(parts)


def summary(progress: Progress) -> str:
    has_more = progress.rows > progress.start_rows > 0
    start = f"{progress.start_seconds:.1f} s until the first answer, then " if has_more else ""
    parts = [
        f"{progress.rows:,} rows in {progress.seconds:.1f} s ({start}{progress.rows_per_second:,.0f} rows/s)",
        f"{progress.changes:,} changes", f"state {progress.state_bytes / 1e6:.1f} MB",
    ]
    return ", ".join(parts)


def instant_text(instant: int) -> str:
    return str(EPOCH + timedelta(microseconds=instant))[:23]
