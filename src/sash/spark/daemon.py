"""The daemon that forks Python workers, with everything that they need loaded before the first fork.

Spark runs it by name (`spark.python.daemon.module`), once for every kind of worker, which is the first argument. Without it every
worker that runs a task would import Sash, pyarrow and numba for itself, about a second each. Workers that are only asked about a
source need none of that.

Spark puts an archive of PySpark before the one that is installed, and what comes out of an archive is compiled by every process
that imports it: a second more for each. Where the same version is installed, the archive is passed by.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import PurePath
from zipfile import BadZipFile, ZipFile

TASKS = "pyspark.worker"
OF_TASKS = ("sash.runtime.shard", "sash.spark.share_packets", "sash.spark.stage")
OF_SOURCES = ("sash.spark.source",)


def without_archives(path: Sequence[str]) -> list[str]:
    """Where to look for modules: not in archives of what is installed as well."""
    return [place for place in path if not _is_installed(*_archived(place))]


def _archived(place: str) -> tuple[str, str]:
    """Which package an archive of Spark's is, and of which version; nothing for any other place."""
    name = PurePath(place).name
    if found := re.fullmatch(r"py4j-(.+)-src\.zip", name):
        return "py4j", found.group(1)
    if name != "pyspark.zip":
        return "", ""
    try:
        with ZipFile(place) as archive:
            told = re.search(r"__version__.*=\s*['\"](.+)['\"]", archive.read("pyspark/version.py").decode())
    except (OSError, KeyError, BadZipFile):
        return "", ""
    return "pyspark", told.group(1) if told else ""


def _is_installed(package: str, wanted: str) -> bool:
    try:
        return bool(package) and version(package) == wanted
    except PackageNotFoundError:
        return False


def main() -> None:
    sys.path[:] = without_archives(sys.path)
    for module in OF_TASKS if sys.argv[1:2] == [TASKS] else OF_SOURCES:
        import_module(module)
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
