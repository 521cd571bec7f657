"""How a session learns of our sources."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from sash.spark.remote import is_remote
from sash.spark.sealed import SECRET


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Let a session know a source, in place of an earlier one of its name.

    Spark looks for a name that the session does not know in the one that is active. If that is another one, which has the source
    already, Spark refuses it. So this session is the active one meanwhile. Workers of what runs from now on have the
    secret of this process.
    """
    if is_remote(spark):
        spark.dataSource.register(source)
        return
    if SECRET in os.environ:  # Java may have been started without it
        spark.sparkContext.environment[SECRET] = os.environ[SECRET]
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        spark.dataSource.register(source)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
