"""What a run tells of itself: the start apart from the rate."""

from __future__ import annotations

from sash.cli.report import summary
from sash.runtime.progress import Progress


def test_the_start_is_told_apart_from_the_rate() -> None:
    first = Progress().after(0, 9.0, [{"rows": 100}, {"rows": None}])
    assert (first.start_seconds, first.start_rows) == (9.0, 100)
    assert first.rows_per_second == 100 / 9
    assert summary(first).startswith("100 rows in 9.0 s (11 rows/s)")
    second = first.after(1, 0.5, [{"rows": 100}]).after(2, 0.5, [{"rows": 200, "end": 1}])
    assert second.rows_per_second == 300.0
    assert summary(second).startswith("400 rows in 10.0 s (9.0 s until the first answer, then 300 rows/s)")


def test_a_run_without_a_start_has_its_rate_from_the_beginning() -> None:
    assert Progress(seconds=2.0, rows=10).rows_per_second == 5.0
    assert summary(Progress(seconds=2.0, rows=10)).startswith("10 rows in 2.0 s (5 rows/s)")
    assert Progress().rows_per_second == 0.0
