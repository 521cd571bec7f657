"""Sessions of Spark Connect: Java runs elsewhere, and this process speaks with it by messages alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

MODULES = "pyspark.sql.connect."
LOCAL = re.compile(r"local\[(\d+)")
MANY = 1 << 16  # rows, of which every core gets some


def is_remote(spark: object) -> bool:
    """Whether a session, or a DataFrame, is one of Spark Connect."""
    return type(spark).__module__.startswith(MODULES)


def cores(spark: SparkSession) -> int:
    """How many tasks run at once."""
    if not is_remote(spark):
        return int(spark.sparkContext.defaultParallelism)
    if found := LOCAL.match(str(spark.conf.get("spark.master", ""))):
        return int(found[1])
    return int(spark.range(MANY).select(f.spark_partition_id()).distinct().count())


def told_by_tasks(spark: SparkSession, count: int, work: Callable[[], Any]) -> list[Any]:
    """What so many tasks say, as JSON has it."""

    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"told": [json.dumps(work(), default=str)]})

    rows = spark.range(0, count, 1, count).mapInArrow(tell, "told string").toArrow()
    return [json.loads(text) for text in rows["told"].to_pylist()]
