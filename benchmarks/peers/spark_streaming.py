"""Spark Structured Streaming: stream-stream join, and its sliding window, which is 60 buckets for every row."""

import json
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
CANNOT = {
    "distinct": "DISTINCT over a sliding window is not supported on streams",
    "except": "EXCEPT is not supported on streams",
}


def main(workload: str, folder: Path, store: str) -> dict[str, object]:
    if workload in CANNOT:
        return {"cannot": CANNOT[workload]}
    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF") \
        .config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "6g") \
        .config("spark.sql.streaming.stateStore.providerClass", STORES[store]).getOrCreate()
    a, b = (_read(spark, folder / name).alias(name) for name in "ab")
    if workload == "join":
        is_near = f.expr("a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL 60 SECONDS AND b.ts + INTERVAL 60 SECONDS")
        result = a.join(b, is_near).select("a.k", "a.v", f.col("b.v").alias("w"))
    else:
        result = a.groupBy(f.window("ts", "60 seconds", "1 second"), "k").agg(f.count("*"), f.sum("v"))
    return _run(result)


def _read(spark: SparkSession, folder: Path) -> DataFrame:
    stream = spark.readStream.schema("ts TIMESTAMP_NTZ, k BIGINT, v BIGINT").option("maxFilesPerTrigger", 1).parquet(str(folder))
    return stream.withColumn("ts", f.col("ts").cast("timestamp")).withWatermark("ts", "0 seconds")


def _run(result: DataFrame) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as checkpoint:
        started = time.monotonic()
        writer = result.writeStream.format("noop").outputMode("append").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.monotonic() - started
        return {"seconds": seconds, "results": sum(max(0, p.sink.numOutputRows) for p in query.recentProgress)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])))
