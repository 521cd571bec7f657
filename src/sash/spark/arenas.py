"""The arenas of a host: where the state of a shard lies between two batches.

    2-0.arena   the arrays, mapped by whichever worker runs shard 0 of level 2
    2-0.json    version (the batch that it has answered), table of contents, dirty mark
    2-0.lock    held by one task at a time; a second one waits

The mark is set before the first write and taken away when the batch is on record, so an arena that a dying task left
half written is known as such. An arena from before the last boot is not trusted either: its pages may not have
reached the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sash.errors import SashError
from sash.state.arena import Arena

BEFORE_ALL = -1  # the version of a shard that has answered nothing


@dataclass(frozen=True)
class Meta:
    """What is known of an arena without opening it."""

    version: int = BEFORE_ALL
    contents: str = "{}"
    is_dirty: bool = False
    boot: str = ""
    snapshot: int = BEFORE_ALL  # the batch of the newest snapshot
    logged: int = 0  # bytes of log since then


class HeldArena:
    """An arena while its lock is held."""

    def __init__(self, stem: Path) -> None:
        self.path = Path(f"{stem}.arena")
        self._meta_path = Path(f"{stem}.json")
        self.meta = self._read_meta()

    @property
    def is_whole(self) -> bool:
        """Is the file the state of `meta.version`?"""
        return not self.meta.is_dirty and self.meta.boot == _boot()

    def open(self) -> Arena:
        """Map the arena for writing; from now on it is dirty, until `commit`."""
        self._write_meta(replace(self.meta, is_dirty=True))
        return Arena.open(self.path, self.meta.contents)

    def peek(self) -> Arena:
        """A private copy of the arena as it is: what is written to it is not kept."""
        arena = Arena.open(self.path, self.meta.contents)
        try:
            return arena.fork()
        finally:
            arena.close()

    def reset(self, meta: Meta) -> None:
        """An empty file, about to be filled with the state that `meta` tells of."""
        self._write_meta(replace(meta, is_dirty=True))
        self.path.unlink(missing_ok=True)

    def commit(self, meta: Meta) -> None:
        self._write_meta(replace(meta, is_dirty=False, boot=_boot()))

    def _read_meta(self) -> Meta:
        try:
            return Meta(**json.loads(self._meta_path.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return Meta(is_dirty=True)

    def _write_meta(self, meta: Meta) -> None:
        partial = self._meta_path.with_suffix(".new")
        partial.write_text(json.dumps(asdict(meta)))
        os.replace(partial, self._meta_path)
        self.meta = meta


@contextmanager
def held(folder: Path, level: int, shard: int) -> Iterator[HeldArena]:
    """The arena of a shard on this host, for this task alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stem = folder / f"{level}-{shard}"
    with open(f"{stem}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield HeldArena(stem)


def _boot() -> str:
    """Changes when the machine restarts."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Held while a query runs: a checkpoint has one runner at a time."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(folder / "run.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for its end, or give another folder"
            raise SashError("another run is using this checkpoint", hint) from None
        yield
