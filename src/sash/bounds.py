"""What a question may cost at most, as whoever asks it for somebody else says.

    with asked_within(bounds):      what this thread asks from here on is bounded
        db.query(sql)
          with at_work():           its operators work, over state of their own that is thrown away
            spend(n)                before n bytes are made of few
            check()                 between two pieces of work

Outside of `at_work` nothing is bounded: state that lasts changes wholly or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Bounds(Protocol):
    """Of one question. Both raise the error that its user sees."""

    def check(self) -> None:
        """Whether it may go on."""

    def spend(self, count: int) -> None:
        """Whether it may make so many bytes more."""


class _Thread(threading.local):
    asked: Bounds | None = None
    at_work: Bounds | None = None


_thread = _Thread()


@contextmanager
def asked_within(bounds: Bounds) -> Iterator[None]:
    before, _thread.asked = _thread.asked, bounds
    try:
        yield
    finally:
        _thread.asked = before


@contextmanager
def at_work() -> Iterator[None]:
    before, _thread.at_work = _thread.at_work, _thread.asked
    try:
        yield
    finally:
        _thread.at_work = before


def check() -> None:
    if _thread.at_work is not None:
        _thread.at_work.check()


def spend(count: int) -> None:
    if _thread.at_work is not None:
        _thread.at_work.spend(count)
