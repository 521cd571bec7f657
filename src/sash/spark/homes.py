"""Homes: on a cluster the tasks of a shard run where its arenas are.

    a row for every shard, cached ─┐
                                   ├─ joined by shard ─▶ the shards of a level
    packets ─▶ exchange by shard ──┘

Spark runs a task where a cached partition is that it reads. Each partition of the cached table is one row, a shard; the executor
that first runs the shard caches it, and so becomes its home. That row meets every packet of its shard and adds nothing, so what
comes out is what went in, whether it is cached or not; nothing of it is in a checkpoint.

The homes are on the left of the join: Spark asks that side first where it wants to be, and an exchange would name hosts, too.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

HOME = "home"
PATIENCE = 16  # batches for which an executor may have no shard, before all homes are given anew; the next time, twice as many
CONFIGURATION = {
    # What a shard gets in a batch is held by the join, in memory up to so many bytes.
    "spark.sql.sortMergeJoinExec.buffer.spill.size.threshold": str(64 << 20),
}


class Homes:
    """Those of all shards of a job, in one session. They are made, and given anew, while adaptive execution is off."""

    def __init__(self, spark: SparkSession, shards: int) -> None:
        self._spark, self._shards = spark, shards
        self._patience, self._waited = PATIENCE, 0
        shard = f.col("id").cast("int").alias(HOME)
        owner = f.lit(uuid4().hex)  # or else Spark would take the table of another job, as large, for this one
        self._rows = spark.range(shards).select(shard, owner).repartitionById(shards, HOME).persist()

    def gathered(self, packets: DataFrame) -> DataFrame:
        """The packets, those of each shard in a partition of its own, at its home."""
        exchanged = packets.repartitionById(self._shards, "shard")
        return self._rows.hint("merge").join(exchanged, f.col(HOME) == f.col("shard")).select(*packets.columns)

    def are_due(self, places: Collection[str]) -> bool:
        """After a batch that ran in these places: whether homes are to be given anew, as some executor has had no shard for long
        while others have several, or as somebody has cleared all that the session had cached."""
        if not self._rows.storageLevel.useMemory:
            return True
        if len(places) >= min(self._shards, self._executors()):
            self._patience, self._waited = PATIENCE, 0
            return False
        self._waited += 1
        return self._waited >= self._patience

    def give_anew(self) -> None:
        """The next batch runs wherever there is room, and that is home from then on."""
        self._patience, self._waited = 2 * self._patience, 0
        self._rows.unpersist(blocking=True)
        self._rows.persist()

    def close(self) -> None:
        with suppress(Exception):  # Spark may be gone, and they with it
            self._rows.unpersist()

    def _executors(self) -> int:
        found = self._spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
        return len(found) - 1  # the driver is one of them
