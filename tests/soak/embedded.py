"""The load on the engine in this process, with a reader, a subscriber and views that come and go."""

from __future__ import annotations

import os
import threading
import time
from datetime import datetime, timedelta

import sash
from soak import measures
from soak.load import STREAMS, VIEWS, Load, Row, Tick, created
from soak.trend import Room

ROOMS = {
    "memory MB": Room(0.05, 8),
    "state MB": Room(0.1, 2),
    "descriptors": Room(0.0, 4),
    "threads": Room(0.0, 3),
    "batch ms": Room(0.3, 3),
}
EPOCH = datetime(1970, 1, 1)


class Embedded:
    """A database, and who reads from it."""

    rooms = ROOMS
    pause = 0.1  # seconds between two ticks

    def __init__(self, history: str) -> None:
        self._db = sash.connect(history=history)
        self._db.execute(STREAMS.format(s="", r="") + created(VIEWS))
        self._took = 0.0
        self.read = 0  # changes that the subscriber got
        self._reader: threading.Thread | None = None

    def tick(self, tick: Tick) -> None:
        began = time.perf_counter()
        for name, rows in tick.rows.items():
            self._db.push(name, [(EPOCH + timedelta(seconds=float(row[0])), *row[1:]) for row in rows])  # type: ignore[arg-type]
        self._db.push("s", [{"ts": "nonsense", "k": "x", "v": 1, "word": "x"}])
        for statement in tick.statements:
            self._db.execute(statement)
        self._db.view("counts").to_arrow()
        self._took = 1000 * (time.perf_counter() - began)
        if self._reader is None:
            self._reader = threading.Thread(target=self._subscribe, daemon=True)
            self._reader.start()

    def _subscribe(self) -> None:
        for batch in self._db.subscribe("words"):
            self.read += batch.num_rows

    def answer(self, view: str) -> list[Row]:
        return [tuple(row.values()) for row in self._db.view(view).to_arrow().to_pylist()]

    def measure(self) -> dict[str, float]:
        here = [os.getpid()]
        return {
            "memory MB": measures.memory(here),
            "state MB": self._db.state_bytes / measures.MB,
            "descriptors": measures.descriptors(here),
            "threads": measures.threads(here),
            "batch ms": self._took,
        }

    def check(self, load: Load, view: str) -> None:
        load.check(view, self.answer(view))

    def close(self) -> None:
        self._db.close()
