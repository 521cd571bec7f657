"""A job from a table of Delta to another, in a process of its own: Delta has to be there when Java starts, and wants PySpark 4.2.

    python delta_job.py FOLDER     appends the rounds of rows to the table, each followed by a look; tells what it saw as JSON
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path

import sash
from sash.spark.session import local_session

START = datetime(2024, 7, 1, 10)
VIEW = "CREATE MATERIALIZED VIEW counts AS SELECT k, COUNT(*) AS n, SUM(n) AS total FROM e [RANGE 5 SECONDS] GROUP BY k"
COLUMNS = "(ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts DELAY 1 SECONDS"
Row = tuple[datetime, str | None, int | None]


def _rows(first: int, count: int) -> list[Row]:
    """Each second row is a little earlier than the one before: within the delay."""
    times = (first + place * 0.5 - 0.75 * (place % 2) for place in range(count))
    keys, numbers = ("a", "b", None, "c"), (1, None, 3)
    return [(START + timedelta(seconds=max(0.0, ts)), keys[place % 4], numbers[place % 3]) for place, ts in enumerate(times)]


ROUNDS = [_rows(0, 20), _rows(10, 30)]
RESTART = 1  # the round before which another driver begins


def main(folder: Path) -> None:
    spark = local_session("2,3")
    db = None
    for number, rows in enumerate(ROUNDS):
        frame = spark.createDataFrame(rows, "ts timestamp_ntz, k string, n bigint").selectExpr("CAST(ts AS timestamp) AS ts", "k", "n")
        frame.coalesce(1).write.format("delta").mode("append").save(str(folder / "table"))
        if db is None or number == RESTART:
            if db is not None:
                db.close()
            db = sash.connect(spark, checkpoint=folder / "point", output=folder / "out", shards=2)
            db.execute(f"CREATE STREAM e {COLUMNS} WITH (format = 'delta', path = '{folder / 'table'}'); {VIEW};")
            db.execute(f"CREATE SINK held FROM counts TO DELTA WITH (path = '{folder / 'held'}')")
            query = db.start()
        query.processAllAvailable()
        seen = sorted(map(list, spark.sql("SELECT k, n, total FROM counts").collect()), key=str)
        db.drain()
        written = sorted(map(list, spark.read.format("delta").load(str(folder / "held")).collect()), key=str)
        final = sorted((list(row.values()) for row in db.final("counts")), key=str)
        print(json.dumps({"final": final, "seen": seen, "written": written}), flush=True)
    assert db is not None
    db.end()
    print(json.dumps({"late": db.late("e").num_rows, "dead": db.dead("e").num_rows}), flush=True)
    db.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
