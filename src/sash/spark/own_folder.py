"""The user's own folder on this machine, in a place that all users may share.

Others can write into /tmp, and guess names there. So all that Sash leaves on a machine lies in one folder of the user
that nobody else can enter; a folder of that name that somebody else has made is passed by.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sash.errors import SashError

TRIES = 16  # names that others would have to take
OLD = 24 * 3600  # seconds after which a log of a process that is gone is of no interest


def own_folder(places: str = "") -> Path:
    """The folder, in the first of the places (divided by commas) that takes it, else in the temporary folder."""
    for place in [*filter(None, places.split(",")), tempfile.gettempdir()]:
        for number in range(TRIES):
            path = Path(place) / (f"sash-{os.geteuid()}" + (f"-{number}" if number else ""))
            if os.path.isdir(place) and _is_own(path):
                return path
    raise SashError(
        f"no folder of this user can be made in {tempfile.gettempdir()}", "set TMPDIR to a folder that only this user can write"
    )


def log_file() -> Path:
    """Where this process writes what Java says; old ones of processes that are gone are removed."""
    folder = own_folder()
    for path in folder.glob("spark-*.log"):
        with suppress(OSError, ValueError):
            if time.time() - path.stat().st_mtime > OLD and not Path(f"/proc/{int(path.stem.removeprefix('spark-'))}").exists():
                path.unlink()
    return folder / f"spark-{os.getpid()}.log"


def _is_own(path: Path) -> bool:
    """Whether this is a folder of the user's, a real one, that nobody else can enter; it is made if need be."""
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    return True


def entries(folder: Path) -> Iterator[Path]:
    """What is in a folder, if it is there."""
    with suppress(OSError):
        yield from sorted(folder.iterdir())
