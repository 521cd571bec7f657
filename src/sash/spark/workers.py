"""The Python of Spark's workers: it must have Sash, the same as here. Asked once a session, by a job of one small task."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from sash.errors import SashError
from sash.spark.failures import reason
from sash.spark.remote import is_remote, told_by_tasks

WAY_OUT = (
    "let spark.pyspark.python, or PYSPARK_PYTHON, be a Python with the same Sash as here, or send Sash with"
    " spark.submit.pyFiles; set it before the session is made"
)
_asked: set[str] = set()  # applications that are known to be good


def begin_check(spark: object) -> Callable[[], None]:
    """Ask while the user goes on; the answer waits until there is one, and raises what is wrong. A session that Sash makes itself
    has the workers of this process, and is not asked."""
    if not (isinstance(spark, SparkSession) or is_remote(spark)) or _name(spark) in _asked:
        return lambda: None
    asking, found = Event(), list[SashError]()

    def ask() -> None:
        try:
            check_workers(spark)
        except SashError as error:
            found.append(error)
        finally:
            asking.set()

    Thread(target=ask, daemon=True).start()

    def answer() -> None:
        asking.wait()
        if found:
            raise found[0]

    return answer


def check_workers(spark: SparkSession) -> None:
    """One clear error if workers could not run anything."""
    _judge(_told(spark))
    _asked.add(_name(spark))


def _name(spark: SparkSession) -> str:
    return str(spark.session_id if is_remote(spark) else spark.sparkContext.applicationId)


def _told(spark: SparkSession) -> dict[str, Any]:
    def tell(number: int = 0) -> dict[str, Any]:
        """Runs where Sash may be missing: a function within a function travels whole, and this one needs nothing of ours."""
        import importlib.metadata
        import importlib.util
        import socket
        import sys

        try:
            found = importlib.metadata.version("sash")
        except importlib.metadata.PackageNotFoundError:
            found = ""
        told = {"sash": found if importlib.util.find_spec("sash") is not None else None}
        return told | {"python": sys.executable, "version": sys.version_info[:2], "host": socket.gethostname()}

    try:
        if is_remote(spark):
            return dict(told_by_tasks(spark, 1, tell)[0])
        told: dict[str, Any] = spark.sparkContext.parallelize([0], 1).map(tell).collect()[0]
    except Exception as failure:
        raise SashError(f"the Python workers of this Spark session do not start: {_why(str(failure))}", WAY_OUT) from failure
    return told


def _why(text: str) -> str:
    """What Python said when it did not start; else what Spark says of it."""
    said = re.search(r"(?:ModuleNotFoundError: )?No module named .*|(?<=Cannot run program ).*|PYTHON_VERSION_MISMATCH.*", text)
    return said.group().strip() if said else reason(text)


def _judge(told: dict[str, Any]) -> None:
    who = f"the Python of Spark's workers ({told['python']} on {told['host']})"
    if told["sash"] is None:
        raise SashError(f"{who} has no Sash", WAY_OUT)
    if tuple(told["version"]) != sys.version_info[:2]:
        raise SashError(f"{who} is {_dotted(told['version'])}, and the driver's {_dotted(sys.version_info[:2])}", WAY_OUT)
    if told["sash"] != _own_version():
        theirs, own = told["sash"] or "without a version", _own_version() or "one without a version"
        raise SashError(f"{who} has Sash {theirs}, and the driver {own}", WAY_OUT)


def _own_version() -> str:
    """Nothing where Sash runs from its source, which was never installed."""
    try:
        return version("sash")
    except PackageNotFoundError:
        return ""


def _dotted(parts: Any) -> str:
    return ".".join(map(str, parts))
