"""Bytewax: sliding windows with an offset of a second, in Python row by row; so slow that it gets the first rows only."""

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

Row = tuple[str, tuple[datetime, int]]
CANNOT = {"except": "there is no difference of two windows"}
WINDOWS = win.SlidingWindower(
    length=timedelta(seconds=60), offset=timedelta(seconds=1), align_to=datetime(2024, 1, 1, tzinfo=UTC)
)
CLOCK = win.EventClock(ts_getter=lambda row: row[0], wait_for_system_duration=timedelta(0))


def main(workload: str, folder: Path, most: int) -> dict[str, object]:
    if workload in CANNOT:
        return {"cannot": CANNOT[workload]}
    flow, out = Dataflow("peer"), []  # type: ignore[var-annotated]
    a, b = (op.input(name, flow, TestingSource(list(_rows(folder / name, most)))) for name in "ab")
    if workload == "join":
        result = win.join_window("join", CLOCK, WINDOWS, a, b, insert_mode="product").down
    elif workload == "distinct":
        result = win.fold_window("distinct", a, CLOCK, WINDOWS, lambda: True, lambda seen, _: seen, lambda one, _: one).down
    else:
        result = win.fold_window(
            "sums", a, CLOCK, WINDOWS, lambda: (0, 0), lambda sums, row: (sums[0] + 1, sums[1] + row[1]),
            lambda one, other: (one[0] + other[0], one[1] + other[1]),
        ).down
    op.output("out", result, TestingSink(out))
    started = time.monotonic()
    run_main(flow)
    return {"seconds": time.monotonic() - started, "results": len(out), "rows": most}


def _rows(folder: Path, most: int) -> Iterator[Row]:
    table = pq.read_table(folder).slice(0, most)
    for ts, k, v in zip(*(table[name].to_pylist() for name in ("ts", "k", "v")), strict=True):
        yield str(k), (ts.replace(tzinfo=UTC), v)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
