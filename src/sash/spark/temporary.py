"""Checkpoints for one process: they go when it closes them, or, if it was killed, when the next one is made.

    <the user's own folder>/temporary/NAME        the checkpoint
    <the user's own folder>/temporary/NAME.lock   locked by the process that has it, so the system knows whether it lives
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from sash.spark.own_folder import own_folder

LOCK = ".lock"


class TemporaryFolder:
    """A new folder that only this process has."""

    def __init__(self) -> None:
        home = own_folder() / "temporary"
        home.mkdir(mode=0o700, exist_ok=True)
        _remove_left(home)
        while True:
            self.path = home / uuid.uuid4().hex[:16]
            self._lock = os.open(_lock_of(self.path), os.O_CREAT | os.O_RDWR, 0o600)
            if _has_locked(self._lock) and os.fstat(self._lock).st_nlink:
                break
            os.close(self._lock)  # another process, about to remove what is left, was faster
        self.path.mkdir(mode=0o700)
        self._is_there = True

    def remove(self) -> None:
        if self._is_there:
            self._is_there = False
            _remove(self.path)
            os.close(self._lock)


def _remove_left(home: Path) -> None:
    """What processes have left that are no more."""
    for lock in home.glob(f"*{LOCK}"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR)
            try:
                if _has_locked(descriptor):
                    _remove(lock.with_suffix(""))
            finally:
                os.close(descriptor)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _lock_of(folder).unlink(missing_ok=True)


def _has_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_of(folder: Path) -> Path:
    return folder.with_suffix(LOCK)
