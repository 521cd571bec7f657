"""Where compiled kernels are kept, so that the next process need not compile them again.

Numba keeps them beside their source, or else in the user's own cache. Where neither can be written, as with a read-only install
for a user without a home, it would refuse to compile at all: then they are kept in a folder among the temporary files, which
nobody but the user may touch, or, if there is none either, not at all.

What lies there is loaded and run, and Numba takes it as it comes: a file that a loss of power left empty is an error for ever, a
flipped bit another program. So kernels are kept with a digest of what they are and of whose source; any other file is as good as
none, and the kernel is compiled again.

Numba takes a kernel for valid while its own file has the same age and size. But a kernel has functions and constants of other
files compiled into it, and a file that is copied, or checked out again, has another age. So a kernel here is valid while the text
of its own module is the same, and that of all modules of Sash which this one imports.

Processes that begin at once, as the workers of a first job do, want the same kernels in the same order. One compiles a kernel,
and the others wait for it and take it from there.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import warnings
from functools import cache
from importlib.abc import InspectLoader
from pathlib import Path
from typing import IO, Any
from zipimport import zipimporter

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

ENVIRONMENT = "NUMBA_CACHE_DIR"
PATIENCE, LOOK = 120.0, 0.02  # seconds: for another process that compiles a kernel, and between two looks
IMPORTED = re.compile(r"^(?:from|import) (sash\.[\w.]+)", re.MULTILINE)


def can_keep_kernels() -> bool:
    """Find a place for compiled kernels; the first process that has to look for one says so."""
    if _numba_finds_a_place():
        return True
    try:
        folder = _own_folder()
    except OSError:
        warnings.warn("compiled kernels cannot be kept anywhere, so every process compiles its own", stacklevel=2)
        return False
    os.environ[ENVIRONMENT] = numba.config.CACHE_DIR = str(folder)  # the workers of this process find it there too
    warnings.warn(
        f"compiled kernels cannot be kept beside Sash, nor in the home of the user; they are kept in {folder}."
        f" Set {ENVIRONMENT} to a folder of yours to keep them there",
        stacklevel=2,
    )
    return _numba_finds_a_place()


def _numba_finds_a_place() -> bool:
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:  # "cannot cache function …: no locator available …"
        return False
    return True


def _nothing() -> None:
    """Is never compiled."""


def _own_folder() -> Path:
    """A folder of the user's alone; one that somebody else has made under its name is left alone."""
    folder = Path(tempfile.gettempdir()) / f"sash-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
        return folder
    private = Path(tempfile.mkdtemp(prefix="sash-kernels-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def source_digest(module: str) -> str:
    """Of a module's text, and of all modules of Sash that it imports. It may lie in an archive."""
    loader = sys.modules[module].__loader__
    assert isinstance(loader, InspectLoader | zipimporter), f"the source of {module} cannot be read"
    text = loader.get_source(module) or ""
    below = map(_kept_digest, sorted(set(IMPORTED.findall(text))))
    return hashlib.sha256("\n".join([text, *below]).encode()).hexdigest()


_kept_digest = cache(source_digest)


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's own files of a kernel, each with its digest in a file beside it. Only Numba reads what they hold."""

    def _load_index(self) -> Any:
        try:
            self._check(self._index_name)
        except OSError:
            return {}
        return super()._load_index()

    def _save_index(self, overloads: Any) -> None:
        super()._save_index(overloads)
        self._seal(self._index_name)

    def _load_data(self, name: str) -> Any:
        """What was written; who asks takes an OSError for a file that is not there."""
        self._check(name)
        return super()._load_data(name)

    def _save_data(self, name: str, data: Any) -> None:
        super()._save_data(name, data)
        self._seal(name)

    def _check(self, name: str) -> None:
        if self._seal_of(name).read_bytes() != self._digest(name):
            raise OSError(f"{name} is not as it was written, or of another source")

    def _seal(self, name: str) -> None:
        with self._open_for_write(str(self._seal_of(name))) as file:
            file.write(self._digest(name))

    def _seal_of(self, name: str) -> Path:
        return Path(f"{self._data_path(name)}.seal")

    def _digest(self, name: str) -> bytes:
        of = repr((self._version, name, self._source_stamp)).encode()
        return hashlib.sha256(of + b"\n" + Path(self._data_path(name)).read_bytes()).digest()


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's own, with these files. What is not there is this process's to compile, until it has been saved."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        digest = source_digest(function.__module__)
        self._cache_file = KernelFiles(self._cache_path, self._impl.filename_base, digest)
        self._turn: IO[bytes] | None = None  # held while this process compiles the kernel
        _made.append(self)

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = super().load_overload(signature, context)
        if found is None and self._enabled and self._turn is None:
            self._turn = _turn_of(Path(self._cache_path) / f"{self._impl.filename_base}.lock")
            found = super().load_overload(signature, context)
            if found is not None:
                self._end_turn()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        finally:
            self._end_turn()

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.close()

    @property
    def is_kept(self) -> bool:
        """Whether some process has compiled the kernel, from the source that it has now."""
        return bool(self._cache_file._load_index())


_made: list[KernelCache] = []  # of all kernels that were imported


def is_any_kept() -> bool:
    """Whether any of the kernels that were imported has been compiled before."""
    return any(one.is_kept for one in _made)


def kept_kernels() -> int:
    """How many of the kernels that were imported have been compiled, by whatever process."""
    return sum(one.is_kept for one in _made)


def _turn_of(path: Path) -> IO[bytes] | None:
    """Wait until nobody else compiles what the file stands for. Who takes longer than anybody could is not waited for; nor is
    anybody where there is no room for the file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file, end = open(path, "wb"), time.monotonic() + PATIENCE
    except OSError:
        return None
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > end:
                return file
            time.sleep(LOOK)
        except OSError:  # a file system that knows no locks
            return file
