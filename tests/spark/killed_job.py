"""A job in a process of its own, whose workers and executors others kill:

    python killed_job.py FOLDER MASTER BATCH_ROWS SHARDS [KEY=VALUE …]

It tells of every batch, and how many shards had moved by then; at its end, how often its query was begun again, and of its shards.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from pathlib import Path

from jobs import database
from pyspark import TaskContext
from pyspark.sql import SparkSession

from sash.database import on_spark as spark_database
from sash.planner.job import Job
from sash.runtime.shard import Shard
from sash.spark.host import SparkHost
from sash.spark.lasting import LostWorkerWarning
from sash.spark.session import CONFIGURATION, JAVA_OPTIONS, _set_environment
from sash.stores.arena import Arena

STRAGGLER = 1  # the shard whose first attempt is slow where tasks may run twice


def slow(job: Job, level: int, shard: int, arena: Arena) -> Shard:
    context = TaskContext.get()
    if level == 1 and shard == STRAGGLER and context is not None and context.attemptNumber() == 0:
        time.sleep(0.7)
    return Shard(job, level, shard, arena)


def session(master: str, more: list[str]) -> SparkSession:
    """As a user has one: with Spark's own daemon, and as many tries as the master says."""
    _set_environment()
    builder = SparkSession.builder.master(master)
    settings = {key: value for key, value in CONFIGURATION.items() if "daemon" not in key}
    settings["spark.executor.extraJavaOptions"] = CONFIGURATION[JAVA_OPTIONS]
    for key, value in (settings | dict(pair.split("=", 1) for pair in more)).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main(folder: Path, master: str, batch_rows: int, shards: int, *more: str) -> None:
    spark = session(master, list(more))
    if any("speculation" in pair for pair in more):
        spark_database.SparkHost = partial(SparkHost, make_engine=slow)  # type: ignore[misc, assignment]

    def tell(batch: int) -> None:
        print(f"moved by {batch}", db.metrics()["shards"]["moved"], flush=True)
        print(batch, flush=True)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LostWorkerWarning)
        db = database(spark, folder, batch_rows, tell, shards)
        db.run()
        db.write_answers()
    for name, count in db.metrics()["shards"].items():
        print(name, count)
    print("begun again", sum(issubclass(one.category, LostWorkerWarning) for one in told), flush=True)
    db.close()
    spark.stop()
    print("end", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
