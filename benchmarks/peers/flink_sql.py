"""Flink SQL: OVER gives a count and a sum for every row as it comes, and never takes them back; interval join."""

import json
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

SINKS = {"aggregate": "k BIGINT, n BIGINT, s BIGINT", "join": "k BIGINT, v BIGINT, w BIGINT"}
QUERIES = {
    "aggregate": """SELECT k, COUNT(*) OVER w, SUM(v) OVER w FROM a
      WINDOW w AS (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '60' SECOND PRECEDING AND CURRENT ROW)""",
    "join": """SELECT a.k, a.v, b.v FROM a, b
      WHERE a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '60' SECOND AND b.ts + INTERVAL '60' SECOND""",
}
CANNOT = {
    "distinct": "DISTINCT over a sliding window only as HOP buckets, not at every row",
    "except": "EXCEPT of two windows of streams is not supported",
}


def main(workload: str, folder: Path) -> dict[str, object]:
    if workload in CANNOT:
        return {"cannot": CANNOT[workload]}
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "2")
    for stream in "ab":
        tables.execute_sql(
            f"CREATE TABLE {stream} (ts TIMESTAMP(3), k BIGINT, v BIGINT, WATERMARK FOR ts AS ts)"
            f" WITH ('connector' = 'filesystem', 'path' = '{folder}/{stream}.csv', 'format' = 'csv')"
        )
    tables.execute_sql(f"CREATE TABLE sink ({SINKS[workload]}) WITH ('connector' = 'blackhole')")
    started = time.monotonic()
    tables.execute_sql(f"INSERT INTO sink {QUERIES[workload]}").wait()
    return {"seconds": time.monotonic() - started, "results": None}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
