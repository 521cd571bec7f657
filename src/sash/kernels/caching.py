"""Where compiled kernels are kept, so that the next process need not compile them again.

Numba keeps them beside their source, or else in the user's own cache. Where neither can be written, as with a read-only install
for a user without a home, it would refuse to compile at all: then they are kept in a folder among the temporary files, which
nobody but the user may touch, or, if there is none either, not at all. What lies there is loaded and run.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from pathlib import Path

import numba

ENVIRONMENT = "NUMBA_CACHE_DIR"


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
