"""A home of Spark without its archive of PySpark, so that the Python processes of Spark import the package that is installed.

Spark puts `python/lib/pyspark.zip` of its home before all else, and every process that imports out of an archive compiles what it
imports: two seconds of CPU instead of half of one. The process that plans batches has ten seconds to start, too few for that on a
machine with much to do. This home is a folder of links to all that Java needs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from sash.errors import SashError
from sash.spark.own_folder import own_folder

HOME = "SPARK_HOME"
PYTHONS = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
LINKED = ("bin", "conf", "jars")


@contextmanager
def light_home() -> Iterator[None]:
    """Java that is started meanwhile has such a home, if its Python processes can do without the archive."""
    home = _home()
    if home is None:
        yield
        return
    os.environ[HOME] = str(home)
    try:
        yield
    finally:
        del os.environ[HOME]  # processes that others start may have another PySpark


def _home() -> Path | None:
    """None where somebody has chosen a home or a Python, or where PySpark is not installed for this one."""
    installed = Path(pyspark.__file__).parent
    if HOME in os.environ or not all(map(_is_this_python, PYTHONS)):
        return None
    if installed.parent not in _packages() or not (installed / "jars").is_dir():
        return None
    try:
        home = own_folder() / f"spark-{hashlib.sha256(str(installed).encode()).hexdigest()[:16]}"
        home.mkdir(exist_ok=True)
        for name in LINKED:
            if (installed / name).exists():
                with suppress(FileExistsError):
                    (home / name).symlink_to(installed / name)
    except (SashError, OSError):
        return None
    return home


def _is_this_python(variable: str) -> bool:
    """Another one may have no PySpark but that of the archive."""
    chosen = os.environ.get(variable)
    return not chosen or Path(shutil.which(chosen) or chosen) == Path(sys.executable)


def _packages() -> set[Path]:
    """Where this Python finds what is installed, however it is started."""
    found = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    return found | ({Path(site.getusersitepackages())} if site.ENABLE_USER_SITE else set())
