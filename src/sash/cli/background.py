"""A job that runs in a thread of its own, while others ask for its answers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sash.database.embedded import EmbeddedDatabase

POLL = 0.5  # seconds between two looks at the clock, for streams whose time goes on while no row comes


class BackgroundJob:
    """Files are read to their end; then time goes on until somebody asks it to stop."""

    def __init__(self, db: EmbeddedDatabase, on_end_of_input: Callable[[], None]) -> None:
        self._db = db
        self._on_end_of_input = on_end_of_input
        self.is_over = threading.Event()
        self.failure: BaseException | None = None

    def start(self) -> None:
        threading.Thread(target=self._work, name="sash-job", daemon=True).start()

    def _work(self) -> None:
        try:
            if any(stream.path is not None for stream in self._db.catalog.streams.values()):
                self._db.run()
                self._on_end_of_input()
            while not self.is_over.wait(POLL):
                self._db.poll()
        except BaseException as failure:
            if not self.is_over.is_set():
                self.failure = failure
        self.is_over.set()
