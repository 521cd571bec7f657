"""Ctrl-C while a query runs: it is noted, and acted on between two calls to Java.

PySpark's own handler calls Java from within whatever call to Java was interrupted, which breaks both.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def noted_interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, while the body runs; only the main thread can hear it."""
    noted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.signal(signal.SIGINT, lambda *_: noted.set())
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
