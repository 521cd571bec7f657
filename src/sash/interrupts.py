"""Ctrl-C while an engine is at work: acted on when the work is whole, so that no state is half changed; a second one at once."""

from __future__ import annotations

import threading
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeAlias

# `_signal` is what `signal` is made of. The module for people makes an enum of every number, more work than a small step.

Handler: TypeAlias = Callable[[int, FrameType | None], object]


class InterruptsWait:
    """Only the main thread is interrupted; what somebody else does about Ctrl-C is done then, too."""

    def __init__(self) -> None:
        self._before: Handler | None = None
        self._noted = 0

    def __enter__(self) -> None:
        self._before, self._noted = None, 0
        before = getsignal(SIGINT) if threading.current_thread() is threading.main_thread() else None
        if callable(before):  # else it is nobody's, Python's no more, or ignored
            self._before = before
            signal(SIGINT, self._note)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            signal(SIGINT, self._before)
            if self._noted and error is None:
                self._before(SIGINT, None)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted += 1
        if self._noted > 1 and self._before is not None:
            self._before(number, frame)
