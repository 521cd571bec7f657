"""What the daemon of Python workers imports, and from where."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pyspark

from sash.spark.daemon import without_archives

ARCHIVES = sorted(map(str, (Path(pyspark.__file__).parent / "python/lib").glob("*.zip")))


def test_archives_of_what_is_installed_are_passed_by(tmp_path: Path) -> None:
    assert len(ARCHIVES) == 2  # PySpark and Py4J, as Spark puts them before everything else
    other, broken, users = tmp_path / "pyspark.zip", tmp_path / "broken/pyspark.zip", tmp_path / "mine.zip"
    with ZipFile(other, "w") as archive:
        archive.writestr("pyspark/version.py", '__version__: str = "0.1"')
    broken.parent.mkdir()
    broken.write_bytes(b"no archive")
    kept = [str(other), str(broken), str(users), "", "/nowhere/py4j-0.1-src.zip", "/nowhere/pyspark.zip"]
    assert without_archives([*ARCHIVES, *kept]) == kept


def test_a_worker_of_tasks_has_the_engine_and_one_of_sources_has_not() -> None:
    """The daemon as Spark starts it, but for the fork."""
    told = "import pyspark, sys; sys.stdout.write(f'{pyspark.__version__} {pyspark.__file__} {\"numba\" in sys.modules}')"
    found = {}
    for kind in ("pyspark.worker", "pyspark.sql.worker.plan_data_source_read"):
        script = f"import sys; sys.argv[1:] = ['{kind}']\nfrom sash.spark import daemon\nsys.path[:] = daemon.without_archives(sys.path)\n"
        script += f"import pyspark.daemon\npyspark.daemon.manager = lambda: exec({told!r})\ndaemon.main()\n"
        path = os.pathsep.join([*ARCHIVES, *filter(None, sys.path)])
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
        found[kind] = done.stdout.split()
    assert [one[0] for one in found.values()] == [version("pyspark")] * 2
    assert not any(".zip" in one[1] for one in found.values())
    assert [one[2] for one in found.values()] == ["True", "False"]
