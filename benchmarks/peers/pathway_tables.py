"""Pathway: sliding windows of a second's hop, and interval join."""

import json
import sys
import time
from pathlib import Path

import pathway as pw

SECOND = 1_000_000
CANNOT = {"except": "difference is by row id, not by the rows of two windows"}


class Row(pw.Schema):  # type: ignore[misc]
    ts: int
    k: int
    v: int


def main(workload: str, folder: Path) -> dict[str, object]:
    if workload in CANNOT:
        return {"cannot": CANNOT[workload]}
    a, b = (pw.io.csv.read(str(folder / f"{stream}.numbers.csv"), schema=Row, mode="static") for stream in "ab")
    if workload == "join":
        near = pw.temporal.interval(-60 * SECOND, 60 * SECOND)
        result = pw.temporal.interval_join(a, b, a.ts, b.ts, near, a.k == b.k).select(k=a.k, v=a.v, w=b.v)
    else:
        windows = a.windowby(a.ts, window=pw.temporal.sliding(hop=SECOND, duration=60 * SECOND), instance=a.k)
        sums = {} if workload == "distinct" else {"n": pw.reducers.count(), "s": pw.reducers.sum(pw.this.v)}
        result = windows.reduce(k=pw.this._pw_instance, **sums)
    pw.io.null.write(result)
    started = time.monotonic()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return {"seconds": time.monotonic() - started, "results": None}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
