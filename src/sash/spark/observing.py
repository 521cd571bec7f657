"""What Spark's own progress tells of a batch: `observedMetrics["sash"]`, the totals of all shards.

Keepers tell facts, as JSON in a few small packets; Spark adds them up while the packets pass on their way to the driver.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from sash.runtime.packets import Cargo
from sash.schema import SECOND
from sash.spark.shard_task import STAGE

OBSERVATION = "sash"
COUNTS = {  # the name in Spark's progress: that of the fact
    "rows": "rows", "changes": "changes", "late": "late", "dead": "dead", "failures": "failures", "positive": "positive",
    "negative": "negative", "messages": "messages", "probes": "probes", "state_rows": "kept", "state_bytes": "state",
}  # fmt: skip


def observed(packets: DataFrame) -> DataFrame:
    """The same packets, watched."""
    counts = [f.coalesce(_sum(fact), f.lit(0)).alias(name) for name, fact in COUNTS.items()]
    return packets.observe(
        OBSERVATION, *counts,
        _text(f.max(_fact("greatest"))).alias("event_time"),
        _ratio(_sum("join_rows") * f.lit(SECOND), _sum("join_work")).alias("join_capacity"),
        _ratio(_sum("delay_total"), _sum("delays") * f.lit(SECOND)).alias("delay_average"),
        _ratio(f.max(_fact("delay_maximum")), f.lit(SECOND)).alias("delay_maximum"),
    )


def _fact(name: str) -> Column:
    is_told = (f.col("cargo") == f.lit(int(Cargo.FACTS))) & (f.col("name") == f.lit(STAGE))
    return f.get_json_object(f.when(is_told, f.col("body").cast("string")), f"$.{name}").cast("bigint")


def _sum(name: str) -> Column:
    return f.sum(_fact(name))


def _text(instant: Column) -> Column:
    """As text: Sash's times have no zone, whatever that of the session is."""
    seconds = (instant.cast("decimal(20, 0)") / f.lit(SECOND)).cast("decimal(18, 6)")
    return (f.to_timestamp_ntz(f.lit("1970-01-01 00:00:00")) + f.make_dt_interval(secs=seconds)).cast("string")


def _ratio(over: Column, under: Column) -> Column:
    """0 where nothing was counted."""
    return f.coalesce(f.try_divide(over.cast("double"), under.cast("double")), f.lit(0.0))
