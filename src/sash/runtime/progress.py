"""Progress: what a run tells about itself after every batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """Counts are of this run; `event_time` is the greatest timestamp seen, None before the first row."""

    batch: int = -1
    batch_seconds: float = 0.0
    seconds: float = 0.0
    rows: int = 0
    changes: int = 0
    late: int = 0
    dead: int = 0
    event_time: int | None = None
    state_bytes: int = 0
    is_end: bool = False
    start_seconds: float = 0.0  # until the first answer, on Spark, where processes start; and the rows in it
    start_rows: int = 0

    @property
    def rows_per_second(self) -> float:
        """After the first answer, if there is another."""
        rows, seconds = self.rows - self.start_rows, self.seconds - self.start_seconds
        if rows <= 0 or seconds <= 0:
            rows, seconds = self.rows, self.seconds
        return rows / seconds if seconds else 0.0

    def after(self, batch: int, batch_seconds: float, facts: Iterable[dict[str, int | None]]) -> Progress:
        """Progress after one more batch, of which every shard of every level told its facts."""
        told = list(facts)
        greatest = [fact["greatest"] for fact in told if fact.get("greatest") is not None]
        times = [time for time in (self.event_time, *greatest) if time is not None]
        rows, late, dead = (_total(told, name) for name in ("rows", "late", "dead"))
        start = (self.start_seconds, self.start_rows) if self.start_seconds else (batch_seconds, rows)
        return replace(
            self, batch=batch, batch_seconds=batch_seconds, seconds=self.seconds + batch_seconds, rows=self.rows + rows,
            start_seconds=start[0], start_rows=start[1],
            changes=self.changes + _total(told, "changes"), late=self.late + late, dead=self.dead + dead,
            event_time=max(times, default=None), state_bytes=_total(told, "state"), is_end=bool(_total(told, "end")),
        )


def _total(facts: list[dict[str, int | None]], name: str) -> int:
    return sum(fact.get(name) or 0 for fact in facts)
