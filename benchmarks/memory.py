"""Memory of the Python workers of this process's JVM: proportional set size, so that shared pages count once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

EVERY = 0.2  # seconds


class WorkerMemory:
    """Samples while it is open; `greatest` is in bytes."""

    def __init__(self) -> None:
        self.greatest = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._is_over.wait(EVERY):
            workers = [process for process in descendants(os.getpid()) if "python" in _name(process)]
            self.greatest = max(self.greatest, sum(map(proportional_size, workers)))


def descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, waiting = [], [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def proportional_size(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""
