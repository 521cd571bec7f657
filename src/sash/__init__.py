"""Continuous SQL queries over sliding windows, exactly up to date, on Spark, from Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sash.errors import LateRowsWarning, SashError, SqlError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sash.database.embedded import EmbeddedDatabase
    from sash.database.on_spark import SparkDatabase
    from sash.runtime.history_limit import Asked

__all__ = ["LateRowsWarning", "SashError", "SqlError", "connect"]


@overload
def connect(
    spark: None = None, *, clock: Callable[[], int] = ..., base: Path | None = ..., expiry: str = ..., schedule: str = ...,
    backfill: bool = ..., history: Asked = ...,
) -> EmbeddedDatabase: ...
@overload
def connect(spark: SparkSession, **options: Any) -> SparkDatabase: ...


def connect(spark: SparkSession | None = None, **options: Any) -> EmbeddedDatabase | SparkDatabase:
    """An engine in this process, or, given a SparkSession, one on Spark."""
    if spark is None:
        from sash.database.embedded import EmbeddedDatabase

        return EmbeddedDatabase(**options)
    from sash.database.on_spark import SparkDatabase

    return SparkDatabase(spark, **options)
