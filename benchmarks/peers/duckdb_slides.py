"""DuckDB: the whole query again at every slide of a second, over the rows that the windows hold then."""

import json
import sys
import time
from pathlib import Path

import duckdb

QUERIES = {
    "aggregate": "SELECT k, COUNT(*), SUM(v) FROM {a} GROUP BY k",
    "join": "SELECT a.k, a.v, b.v FROM {a} a JOIN {b} b ON a.k = b.k",
    "distinct": "SELECT DISTINCT k FROM {a}",
    "except": "SELECT k FROM {a} EXCEPT ALL SELECT k FROM {b}",
}
WINDOW = "(SELECT * FROM {stream} WHERE ts > TIMESTAMP '{now}' - INTERVAL 60 SECONDS AND ts <= TIMESTAMP '{now}')"


def main(workload: str, folder: Path) -> dict[str, object]:
    db = duckdb.connect()
    for stream in "ab":
        db.execute(f"CREATE TABLE {stream} AS SELECT * FROM '{folder}/{stream}/*.parquet' ORDER BY ts")
    slides = [line[0] for line in db.execute(
        "SELECT unnest(generate_series(date_trunc('second', min(ts)) + INTERVAL 1 SECOND, max(ts), INTERVAL 1 SECOND)) FROM a"
    ).fetchall()]
    started, results = time.monotonic(), 0
    for now in slides:
        windows = {stream: WINDOW.format(stream=stream, now=now) for stream in "ab"}
        results += len(db.execute(QUERIES[workload].format(**windows)).to_arrow_table())
    return {"seconds": time.monotonic() - started, "results": results}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
