"""What Java has loaded and checked for Spark, kept for the next session: half of its work until the first batch.

    SASH_KEEP_CLASSES=1 sash demo    Java leaves an archive when the session ends, under a name of this process
    any later session                Java maps it

To leave one nearly doubles the work of Java in that session, so it is done only where it is asked for.

Java checks an archive against its own version and all jars, and does without one that does not fit. The name has a digest of what
is known to matter, so that one of another Java or PySpark is not in the way. Archives lie in the user's own folder, which nobody
else can enter, as Java trusts what they hold.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from sash.errors import SashError
from sash.spark.own_folder import own_folder
from sash.spark.spark_home import HOME

QUIET = "-Xlog:disable -Xlog:all=error:stderr"  # else Java tells of every class that it cannot archive
ASKED = "SASH_KEEP_CLASSES"  # the environment variable by which a session is asked to leave an archive
LEFT = 3600  # seconds after which an archive that was never finished will not be


def java_options(java: Path) -> str:
    """How Java is to be started: with the archive of an earlier session, or, where that is asked for, so that it leaves one."""
    try:
        folder = own_folder()
    except SashError:
        return ""
    name = f"classes-{_key(java)}-"
    if found := _finished(folder, name):
        return f"{QUIET} -XX:SharedArchiveFile={found}"
    return f"{QUIET} -XX:ArchiveClassesAtExit={folder / f'{name}{os.getpid()}.jsa'}" if os.environ.get(ASKED) == "1" else ""


def _finished(folder: Path, name: str) -> Path | None:
    """The newest archive that is whole; the others are removed."""
    paths = sorted(folder.glob(f"{name}*.jsa"), key=_written, reverse=True)
    whole = [path for path in paths if _is_whole(path)]
    for path in paths:
        if path in whole[1:] or (path not in whole and time.time() - _written(path) > LEFT):
            with suppress(OSError):
                path.unlink()
    return whole[0] if whole else None


def _is_whole(path: Path) -> bool:
    """Java writes the header last."""
    try:
        with open(path, "rb") as file:
            return any(file.read(4))
    except OSError:
        return False


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _key(java: Path) -> str:
    """Of the Java and the PySpark that an archive is of, and of the home in which Java finds its classes."""
    release = java / "release"
    text = release.read_text() if release.is_file() else ""
    known = (str(java), text, pyspark.__file__, pyspark.__version__, os.environ.get(HOME))
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]
