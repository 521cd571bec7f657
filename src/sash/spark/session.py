"""A Spark session for commands: quiet, local, with the Java that is there."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from sash.errors import SashError
from sash.spark.class_archive import java_options
from sash.spark.own_folder import log_file
from sash.spark.spark_home import light_home

OLDEST_JAVA = 17
TRIES = 4  # of a task, as on clusters
USUAL_FOLDERS = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/opt", "/Library/Java/JavaVirtualMachines")

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What Spark keeps for its pages, which nobody sees here: a thousand of each by default, more heap with every batch.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.driver.memory": "2g",
    # The work is done in Python: Java that starts fast and leaves the cores alone is worth more than Java that peaks.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.shuffle.compress": "false",  # a shuffle here does not leave the machine
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "sash.spark.daemon",
}


def local_session(cores: str = "*") -> SparkSession:
    """The session of this process, or a new one on this machine; `cores` as in Spark's local[...].

    Spark would give a query up with the first worker that dies, unless it is told how often a task may be tried.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    java = _set_environment()
    builder = SparkSession.builder.appName("sash").master(f"local[{cores if ',' in cores else f'{cores},{TRIES}'}]")
    for key, value in CONFIGURATION.items():
        builder = builder.config(key, value)
    log = log_file()
    try:
        with light_home(), _errors_into(log):
            session = builder.config(JAVA_OPTIONS, f"{CONFIGURATION[JAVA_OPTIONS]} {java_options(java)}".strip()).getOrCreate()
        atexit.register(log.unlink, missing_ok=True)
        return session
    except Exception as failure:
        raise SashError(f"Spark does not start: {failure}", f"its own words are in {log}") from failure


@contextmanager
def _errors_into(log: Path) -> Iterator[None]:
    """Java, started now, writes its warnings to a file for as long as it lives."""
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with open(log, "w") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _set_environment() -> Path:
    """The home of Java."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    java = find_java()
    os.environ["JAVA_HOME"] = str(java)
    return java


def find_java() -> Path:
    """The home of a Java that Spark can use."""
    found: list[str] = []
    for home in _homes():
        version = _version(home)
        if version is not None and version >= OLDEST_JAVA:
            return home
        if version is not None:
            found.append(f"{home} is Java {version}")
    if found:
        raise SashError(f"Spark needs Java {OLDEST_JAVA} or later; {found[0]}", _way_out())
    raise SashError("Spark needs Java, and none was found", _way_out())


def _way_out() -> str:
    return f"install Java {OLDEST_JAVA} or 21, or set JAVA_HOME to it, or use --engine embedded"


def _homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in map(Path, USUAL_FOLDERS):
        if folder.is_dir():
            for home in sorted(folder.iterdir(), reverse=True):
                yield from (home, home / "Contents" / "Home")


def _version(home: Path) -> int | None:
    java = home / "bin" / "java"
    if not java.is_file():
        return None
    try:
        told = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found.group(1)) if found else None
