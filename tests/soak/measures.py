"""What is measured of processes and folders, from what the kernel tells."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

MB = 1 << 20


def descendants(pid: int) -> list[int]:
    """The process and all that it began, and these, and so on."""
    found = [pid]
    for child in _children(pid):
        found += descendants(child)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in _entries(f"/proc/{pid}/task"):
        text = _read(f"/proc/{pid}/task/{task}/children")
        found += [int(word) for word in text.split()]
    return found


def is_java(pid: int) -> bool:
    return _read(f"/proc/{pid}/comm").strip() == "java"


def memory(pids: Iterable[int]) -> float:
    """MB that these processes hold, what they share counted once."""
    total = 0
    for pid in pids:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith("Pss_Anon:"):
                total += int(line.split()[1]) << 10
    return total / MB


def descriptors(pids: Iterable[int]) -> int:
    return sum(len(_entries(f"/proc/{pid}/fd")) for pid in pids)


def threads(pids: Iterable[int]) -> int:
    return sum(len(_entries(f"/proc/{pid}/task")) for pid in pids)


def files(folder: Path) -> tuple[int, float]:
    """How many files are in a folder and below, and their MB."""
    count, size = 0, 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(f"{where}/{name}").st_blocks * 512
                count += 1
            except FileNotFoundError:
                continue  # it comes and goes
    return count, size / MB


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # the process has ended


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
