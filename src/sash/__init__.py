"""Continuous SQL queries over sliding windows, exactly up to date, on Spark, from Python.

    import sash

    db = sash.connect()              # an engine in this process; sash.connect(spark) runs the same on a SparkSession
    db.execute("CREATE STREAM …; CREATE MATERIALIZED VIEW v AS SELECT …")
    db.push("conn", rows)
    db.view("v")                     # the answer, exactly up to date

What takes long to import is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, overload

from sash.errors import (
    LateRowsWarning,
    LostWorkerWarning,
    SashError,
    SessionNameWarning,
    SourceWarning,
    SqlError,
    UnreadableRowsWarning,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from pyspark.sql import SparkSession

    from sash import testing
    from sash.database.answer import Answer, Rows
    from sash.database.database import Database
    from sash.database.embedded import EmbeddedDatabase
    from sash.database.explanation import Explanation
    from sash.database.on_spark import SparkDatabase
    from sash.database.options import EmbeddedOptions, SparkOptions
    from sash.runtime.subscribing import Subscription

__all__ = [
    "Answer",
    "Database",
    "EmbeddedDatabase",
    "Explanation",
    "LateRowsWarning",
    "LostWorkerWarning",
    "Rows",
    "SashError",
    "SessionNameWarning",
    "SourceWarning",
    "SparkDatabase",
    "SqlError",
    "Subscription",
    "UnreadableRowsWarning",
    "connect",
    "testing",
]

_LATER = {  # names, and the modules that they are in
    "Answer": "sash.database.answer",
    "Database": "sash.database.database",
    "EmbeddedDatabase": "sash.database.embedded",
    "Explanation": "sash.database.explanation",
    "Rows": "sash.database.answer",
    "SparkDatabase": "sash.database.on_spark",
    "Subscription": "sash.runtime.subscribing",
}


@overload
def connect(spark: None = None, **options: Unpack[EmbeddedOptions]) -> EmbeddedDatabase: ...
@overload
def connect(spark: SparkSession | Callable[[], SparkSession], **options: Unpack[SparkOptions]) -> SparkDatabase: ...


def connect(spark: SparkSession | Callable[[], SparkSession] | None = None, **options: object) -> Database:
    """An engine in this process, or, given a SparkSession (or what makes one when it is needed), one on Spark. The session may be
    one of Spark Connect.

    On both:

    - base: where relative paths of sources start; by default the current folder
    - history: how many of the changes of a view are kept: "all", "none", a time such as "10 MINUTES", a size such as "64 MB";
      by default 64 MB a view, and on Spark all where `output` names a folder
    - backfill: whether streams remember the rows in live windows, so that views that come later begin with them; True
    - until: nothing after this instant is shown by `run()`
    - flush: whether `run()` makes all final at the end of the input; False leaves it open for more; True
    - batch_rows: at most so many rows of every stream in a batch
    - on_progress: is called with a Progress after every batch of `run()` and `start()`
    - expiry: how rows leave: auto, direct, negative, time-message, piggyback, input-triggered; no answer depends on it
    - indexes: "auto" lets views have indexes that nobody asked for, where questions look at many rows for want of one; "asked"
      has those of CREATE INDEX alone
    - schedule: in which order operators run: auto, dfs, bfs, rr, memory, batch:K; no answer depends on it
    - join_schedule: which window of a shared join is served first while rows wait: auto, lwo, swf, mqt; no answer depends on it

    In this process:

    - clock: stamps arrivals, in microseconds since 1970; by default the clock on the wall

    On Spark:

    - checkpoint: the folder that knows how far the job is: give it again to go on; by default a temporary one
    - output: the folder where changes and answers are written as Parquet files
    - shards: the parts of the key space; by default as many as cores
    - on_metrics: is called with Spark's progress and the metrics after every batch
    - observe: whether metrics are also in Spark's own progress; False
    - temp_views: whether spark.sql sees the views, as temporary views of the session; True
    """
    from sash.database.options import EmbeddedOptions, SparkOptions, checked

    if spark is None:
        from sash.database.embedded import EmbeddedDatabase

        return EmbeddedDatabase(**checked(options, EmbeddedOptions))
    if not callable(spark) and not hasattr(spark, "readStream"):
        raise SashError(f"{spark!r} is not a SparkSession", "connect() is an engine in this process, connect(spark) one on Spark")
    from sash.database.on_spark import SparkDatabase

    return SparkDatabase(spark, **checked(options, SparkOptions))


def __getattr__(name: str) -> object:
    if name == "testing":
        return import_module("sash.testing")
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    raise AttributeError(f'module "sash" has no "{name}"; it has: {", ".join(__all__)}')


def __dir__() -> list[str]:
    return __all__
