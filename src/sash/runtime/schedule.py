"""Schedules: in which order the operators of a graph run, and how many rows one takes at a time. (Seed 004.)

    dfs        depth first, an instant at a time: a row is on its way out before the next one is looked at
    bfs        breadth first: an operator works off all it has before the next one begins
    rr         round robin: as bfs, but what has nothing to give ends the round instead of looking back for more
    batch:K    depth first with batches of about K rows (whole instants always)
    auto       depth first with batches as large as the load wants: everything at once while that is soon done
    memory     small batches, and break nodes where rows have become few for the work: what shrinks rows fastest runs first

    join:RULE  behind one of these: whose turn it is in joins of several windows (`operators/shared_join/schedules.py`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt

from sash.errors import SashError, as_text
from sash.operators.shared_join.schedules import AUTO as JOIN_AUTO
from sash.operators.shared_join.schedules import parse_join_schedule
from sash.schema import FOREVER

RULES = ("dfs", "bfs", "rr")
OF_JOINS = "join:"
ALL = FOREVER
BY_LOAD = 0

LEAST_BATCH = 1 << 17  # below this, calls would cost more than a few hundredths of the work
COST_OF_A_PASS = 1 << 11  # in rows: what calling the operators once costs beside their work
FEW = LEAST_BATCH * LEAST_BATCH // COST_OF_A_PASS  # rows for which no larger batch is wanted


@dataclass(frozen=True)
class Schedule:
    """A rule for the next operator, and the rows of a batch: a number, ALL, or BY_LOAD."""

    rule: str = "dfs"
    batch: int = BY_LOAD
    has_breaks: bool = False  # break nodes are placed by what operators were seen to do
    join: str = JOIN_AUTO  # whose turn it is in joins of several windows

    @cached_property
    def is_by_load(self) -> bool:
        """Whether steps may be taken in one pass."""
        return (self.rule, self.batch, self.has_breaks) == ("dfs", BY_LOAD, False)

    def __str__(self) -> str:
        return self.order if self.join == JOIN_AUTO else f"{self.order} {OF_JOINS}{self.join}"

    @property
    def order(self) -> str:
        """In which operators run."""
        if self.has_breaks:
            return "memory"
        if self.batch == BY_LOAD:
            return "auto"
        if (self.rule, self.batch) in (("dfs", 1), ("bfs", ALL), ("rr", ALL)):
            return self.rule
        return f"batch:{self.batch}" if self.rule == "dfs" else f"{self.rule}:{self.batch}"


AUTO = Schedule()
MEMORY = Schedule("dfs", 1 << 12, has_breaks=True)


def parse_schedule(text: str) -> Schedule:
    """What a user writes."""
    order, _, join = as_text(text, "a schedule").strip().lower().partition(f" {OF_JOINS}")
    return replace(_parse_order(order.strip()), join=parse_join_schedule(join) if join else JOIN_AUTO)


def _parse_order(text: str) -> Schedule:
    name, _, number = text.partition(":")
    if not number and name in ("auto", "memory"):
        return AUTO if name == "auto" else MEMORY
    if not number and name in RULES:
        return Schedule(name, 1 if name == "dfs" else ALL)
    if name in ("batch", *RULES) and number.isdecimal() and int(number) > 0:
        return Schedule("dfs" if name == "batch" else name, int(number))
    raise SashError(f'"{text}" is not a schedule', "schedules are: auto, dfs, bfs, rr, memory, and batch:K, such as batch:1000")


def batch_for(load: int) -> int:
    """Rows of a batch when so many wait.

    With batches of k rows, n rows cost n + (n / k) c in all, and a row waits for about half of that and half a batch: least for
    k = sqrt(n c). Smaller ones than LEAST_BATCH are not worth their calls.
    """
    return LEAST_BATCH if load < FEW else max(LEAST_BATCH, isqrt(load * COST_OF_A_PASS))
