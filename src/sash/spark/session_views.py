"""The views of a job in the session of the user: temporary views, which `spark.sql` and `spark.table` know.

A name that the session has already stays what it is, and a warning says so. What is shown is the final answer after the last
batch, read anew by every query.
"""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from sash.errors import SessionNameWarning, warn
from sash.schema import Schema
from sash.spark.answer_source import FORMAT, AnswerSource, options_of
from sash.spark.changelog import Changelog
from sash.spark.failures import reason
from sash.spark.registration import register
from sash.spark.remote import is_remote
from sash.spark.starting import given
from sash.sql.syntax.text_positions import quoted

NTZ = "TIMESTAMP_NTZ"


class SessionViews:
    """What one database shows in its session, if it has one."""

    def __init__(self, spark: SparkSession | None) -> None:
        self._spark = spark
        self._shown: set[str] = set()

    def show(self, name: str, changelog: Changelog, schema: Schema) -> None:
        """From now on; in the place of an earlier view of the name, if that was one of Sash's."""
        if self._spark is None:
            return
        try:
            if name not in self._shown and self._is_taken(self._spark, name):
                _warn(name, f'the session has another table "{name}"')
                return
            answer_frame(self._spark, changelog, schema).createOrReplaceTempView(quoted(name))
            self._shown.add(name)
        except PySparkException as failure:  # a view with two columns of one name, say
            _warn(name, reason(str(failure)))

    def hide(self, name: str) -> None:
        if name in self._shown and self._spark is not None:
            self._shown.discard(name)
            with suppress(PySparkException, Py4JError, OSError):  # Spark may be gone
                self._spark.catalog.dropTempView(name)

    def hide_all(self) -> None:
        for name in sorted(self._shown):
            self.hide(name)

    @staticmethod
    def _is_taken(spark: SparkSession, name: str) -> bool:
        if not spark.catalog.tableExists(quoted(name)):
            return False
        frame = spark.table(quoted(name))
        plan = frame._explain_string(extended=True) if is_remote(spark) else frame._jdf.queryExecution().analyzed().toString()
        return f" {FORMAT}" not in plan


def answer_frame(spark: SparkSession, changelog: Changelog, schema: Schema) -> DataFrame:
    """The final answer of a view, read when a query over it runs."""
    register(spark, AnswerSource)
    reader = spark.read.format(FORMAT).schema(session_schema(spark, schema.arrow)).options(**options_of(changelog, schema))
    return given(reader.load)


def session_schema(spark: SparkSession, schema: pa.Schema) -> StructType:
    """Columns as the session names their types. A TIMESTAMP is what the session takes it for, by spark.sql.timestampType: an
    instant, shown in the session's time zone, or the same in UTC without a zone."""
    is_plain = str(spark.conf.get("spark.sql.timestampType")).upper() == NTZ
    return from_arrow_schema(schema, prefer_timestamp_ntz=is_plain)


def _warn(name: str, why: str) -> None:
    told = f'spark.sql does not see view "{name}": {why}; db.view("{name}") and db.final("{name}") do'
    warn(told, SessionNameWarning)
