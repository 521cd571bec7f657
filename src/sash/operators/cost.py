"""What an operator costs for every second of its streams: the model of seed 003, section 5.4, with the stores that we have.

The unit is a nanosecond of one core, as measured on one machine; only proportions matter. Each spec knows its own price (`cost`);
here is what several of them pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from sash.operators.estimate import Estimate

NET = 200.0  # a change that is netted, or held and passed on
PASS = 60.0  # a change that is written again as it is
TREE_STEP = 250.0  # a step down a tree of rows in order


@dataclass(frozen=True)
class Cost:
    """Work for every second of the streams, and rows that are kept."""

    work: float
    kept: float


@dataclass(frozen=True)
class Edge:
    """An edge as an operator meets it."""

    estimate: Estimate
    changes: float  # that it carries a second: a row that says itself when it leaves is told of once

    @property
    def rows(self) -> float:
        return self.estimate.rows

    @property
    def distinct_rows(self) -> float:
        return self.estimate.distinct_rows


def tree_depth(rows: float) -> float:
    return 1 + log2(1 + rows)
