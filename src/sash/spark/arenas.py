"""The arenas of a host: where the state of a shard lies between two batches.

    2-0.arena   the arrays, mapped by whichever worker runs shard 0 of level 2
    2-0.json    version (the batch that it has answered), table of contents, dirty mark; a digest before it
    2-0.lock    held by one task at a time; a second one waits

The mark is set before the first write and taken away when the batch is on record, so an arena that a dying task left
half written is known as such. An arena from before the last boot is not trusted either: its pages may not have
reached the disk. And every driver has a folder of its own, by the name that it gives: what lay about while nobody ran
the job is not trusted, but made again from the checkpoint.

Whoever writes to a file changes its time of modification. So an arena that is left gets a time that no clock will ever
show again, and one that is found is trusted only if it is that very file, as long as it was, with that time. What has been
cut, exchanged, brought back from a copy or written to meanwhile is made again too; to find that out costs one `stat`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from sash.errors import SashError
from sash.spark.own_folder import entries, own_folder
from sash.stores.arena import Arena

BEFORE_ALL = -1  # the version of a shard that has answered nothing
ARENAS = "arenas"
UNUSED = 24 * 3600  # seconds after which arenas that nobody holds are removed; who needs them makes them again
SECOND = 1_000_000_000  # nanoseconds
PLACES = ("SPARK_LOCAL_DIRS", "LOCAL_DIRS")  # where Spark, or YARN, tells a task of folders on this machine


@dataclass(frozen=True)
class Meta:
    """What is known of an arena without opening it."""

    version: int = BEFORE_ALL
    contents: str = "{}"
    is_dirty: bool = False
    boot: str = ""
    snapshot: int = BEFORE_ALL  # the batch of the newest snapshot
    logged: int = 0  # bytes of log since then
    left: str = ""  # how the file was left (`_traces`)


class HeldArena:
    """An arena while its lock is held."""

    def __init__(self, stem: Path) -> None:
        self.path = Path(f"{stem}.arena")
        self._meta_path = Path(f"{stem}.json")
        self.meta = self._read_meta()

    @property
    def is_whole(self) -> bool:
        """Is the file the state of `meta.version`?"""
        return not self.meta.is_dirty and self.meta.boot == _boot() and self.meta.left == _traces(self.path) != ""

    def open(self) -> Arena:
        """Map the arena for writing; from now on it is dirty, until `commit`."""
        self._write_meta(replace(self.meta, is_dirty=True))
        arena = Arena.open(self.path, self.meta.contents)
        with suppress(FileNotFoundError):
            os.utime(self.path)  # not every file system does it when a map is written to
        return arena

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
        """The arena, which nobody has open any more, is what `meta` says."""
        past = time.time_ns() - SECOND - secrets.randbelow(UNUSED * SECOND)  # of a write from now on, this is not the time
        with suppress(FileNotFoundError):  # one that somebody has removed is made again
            os.utime(self.path, ns=(time.time_ns(), past))
        self._write_meta(replace(meta, is_dirty=False, boot=_boot(), left=_traces(self.path)))

    def _read_meta(self) -> Meta:
        try:
            digest, _, text = self._meta_path.read_text().partition("\n")
            if digest == _digest(text):
                return Meta(**json.loads(text))
        except (OSError, ValueError, TypeError):
            pass
        return Meta(is_dirty=True)

    def _write_meta(self, meta: Meta) -> None:
        partial = self._meta_path.with_suffix(".new")
        text = json.dumps(asdict(meta))
        partial.write_text(f"{_digest(text)}\n{text}")
        os.replace(partial, self._meta_path)
        self.meta = meta


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _traces(path: Path) -> str:
    """What changes when somebody puts another file in the place of this one, or writes to it; nothing if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_ino}/{found.st_size}/{found.st_mtime_ns}"


def arenas_on_this_machine(name: Path) -> Path:
    """Where arenas of that name lie: in a folder that Spark tells its tasks of, else with what is temporary. A full path
    is the place itself."""
    if name.is_absolute():
        return name
    told = next((os.environ[key] for key in PLACES if os.environ.get(key)), "")
    return own_folder(told) / ARENAS / name


@contextmanager
def held(name: Path, level: int, shard: int) -> Iterator[HeldArena]:
    """The arena of a shard on this machine, for this task alone."""
    folder = arenas_on_this_machine(name)
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not name.is_absolute():
            _remove_unused(folder)
    stem = folder / f"{level}-{shard}"
    with _locked(Path(f"{stem}.lock")):
        yield HeldArena(stem)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held alone; should somebody remove the file while it is waited for, it is another one's turn to be made."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with ExitStack() as opened:
            try:
                lock = opened.enter_context(open(path, "w"))
            except FileNotFoundError:
                continue
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_still(path, lock):
                yield
                return


def _is_still(path: Path, lock: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(lock.fileno()))
    except FileNotFoundError:
        return False


def _remove_unused(folder: Path) -> None:
    """Arenas of earlier drivers of the same checkpoint, and of all whom nobody has used for long."""
    number, epoch, _ = _parts(folder)
    for other in entries(folder.parent):
        theirs, before, _ = _parts(other)
        is_earlier = theirs == number and 0 < before < epoch
        if other != folder and (is_earlier or _age(other) > UNUSED):
            remove_arenas(other)


def _parts(folder: Path) -> tuple[str, int, str]:
    """Of the name of a driver's arenas: the checkpoint, the epoch, and what tells drivers apart."""
    number, _, rest = folder.name.partition("-")
    epoch, _, tag = rest.partition("-")
    return number, int(epoch) if epoch.isdigit() else 0, tag


def remove_arenas_of(name: Path) -> None:
    """The arenas of a driver on this machine, of all its epochs."""
    folder = arenas_on_this_machine(name)
    for other in entries(folder.parent):
        if (_parts(other)[0], _parts(other)[2]) == (_parts(folder)[0], _parts(folder)[2]):
            remove_arenas(other)


def remove_arenas(folder: Path) -> None:
    """Remove a folder of arenas, unless a task is at work in it."""
    with ExitStack() as held_now:
        for path in entries(folder):
            if path.suffix == ".lock":
                try:
                    lock = held_now.enter_context(open(path, "w"))
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    return
        shutil.rmtree(folder, ignore_errors=True)


def _age(folder: Path) -> float:
    times = [path.lstat().st_mtime for path in (folder, *entries(folder)) if os.path.lexists(path)]
    return time.time() - max(times, default=0.0)


def _boot() -> str:
    """Changes when the machine restarts."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Held while a query runs: a checkpoint has one runner at a time, as far as a lock on this disk can tell."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".run.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for its end, or give another folder"
            raise SashError("another run is using this checkpoint", hint) from None
        yield
