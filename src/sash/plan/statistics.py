"""What is known, or assumed, of streams and tables: the ground of all estimates.

Rates are rows a second of the streams' own time. What nobody has counted is assumed to be like what has been, or else the same
for all streams, so that plans are compared by their shape alone until something is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

RATE = 1.0  # rows a second: one a time unit, as in the seeds
TABLE_ROWS = 1000.0
DISTINCT = 100.0  # values of a column
UNBOUNDED_SECONDS = 3600.0  # of a window that keeps everything: how long it is thought to have been open


@dataclass(frozen=True)
class Counted:
    """What an operator that runs has shown: rows a second that it gave, rows it keeps, share of results that left early."""

    rate: float
    rows: float | None = None
    premature: float | None = None


@dataclass(frozen=True)
class Statistics:
    """By the names of streams and columns, and by the fingerprints of operators that run."""

    rates: Mapping[str, float] = field(default_factory=dict)
    table_rows: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (stream, column)
    operators: Mapping[str, Counted] = field(default_factory=dict)

    def rate(self, stream: str) -> float:
        """Of a stream that nobody has seen: as of the others."""
        return self.rates.get(stream, fmean(self.rates.values()) if self.rates else RATE)

    def rows(self, table: str) -> float:
        return self.table_rows.get(table, TABLE_ROWS)

    def values(self, stream: str, column: str, assumed: float = DISTINCT) -> float:
        """Of a stream that nobody has seen: as of columns of the same name."""
        alike = [known for (_, name), known in self.distinct.items() if name == column]
        return self.distinct.get((stream, column), fmean(alike) if alike else assumed)

    def table_values(self, table: str, column: str) -> float:
        """Rows of a table are mostly told apart by what they are joined by."""
        return self.values(table, column, self.rows(table))


NOTHING_KNOWN = Statistics()
