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

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    def after(
        self, batch: int, batch_seconds: float, seconds: float, facts: Iterable[dict[str, int | None]]
    ) -> Progress:
        """Progress after one more batch, of which every shard of every level told its facts."""
        told = list(facts)
        greatest = [fact["greatest"] for fact in told if fact.get("greatest") is not None]
        times = [time for time in (self.event_time, *greatest) if time is not None]
        rows, late, dead = (_total(told, name) for name in ("rows", "late", "dead"))
        return replace(
            self, batch=batch, batch_seconds=batch_seconds, seconds=seconds, rows=self.rows + rows,
            changes=self.changes + _total(told, "changes"), late=self.late + late, dead=self.dead + dead,
            event_time=max(times, default=None), state_bytes=_total(told, "state"), is_end=bool(_total(told, "end")),
        )


def _total(facts: list[dict[str, int | None]], name: str) -> int:
    return sum(fact.get(name) or 0 for fact in facts)
