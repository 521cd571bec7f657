"""What a paper claims, as bounds on ratios, and what becomes of it.

A claim is a number of bounds: each has the ratios of some turns, and says between what they ought to lie. In one turn all
systems run one after the other on the same input, so a ratio compares like with like. The median of the ratios lies in an
interval that order statistics give without any assumption:

    confirmed       the interval of every bound is inside
    refuted         that of some bound is outside
    undecided       else: an interval straddles its bound
    not runnable    the claim says why

Counts are exact. They are judged by all turns, not by a median.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.tables import Cell, Table

SURE = 0.93  # of the median being in its interval, where there are enough turns; five give 0.9375


class Verdict(Enum):
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_RUNNABLE = "not runnable"


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median of what the values are drawn from lies; from the least to the greatest where they are few."""
    ordered, count = sorted(values), len(values)
    outside, dropped = 2.0 * 0.5**count, 0
    while dropped + 1 < count // 2 and 1 - outside - 2 * math.comb(count, dropped + 1) * 0.5**count >= SURE:
        dropped += 1
        outside += 2 * math.comb(count, dropped) * 0.5**count
    return ordered[dropped], ordered[count - 1 - dropped]


@dataclass(frozen=True)
class Bound:
    """Ratios of some turns, and between what they ought to lie; `is_exact` where they are counts, or what counts alone give."""

    what: str
    ratios: Sequence[float]
    low: float = -math.inf
    high: float = math.inf
    is_exact: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        return (min(self.ratios), max(self.ratios)) if self.is_exact else median_interval(self.ratios)

    @property
    def margin(self) -> float:
        """How far from its limits it is, as a factor; below 1 it is outside."""
        first, last = self.interval
        above = first / self.low if self.low > 0 and math.isfinite(self.low) else math.inf
        return min(above, self.high / last if last > 0 else math.inf)

    @property
    def verdict(self) -> Verdict:
        first, last = self.interval
        if self.low <= first and last <= self.high:
            return Verdict.CONFIRMED
        return Verdict.REFUTED if last < self.low or self.high < first else Verdict.UNDECIDED


Bounds = Callable[[Table], Iterable[Bound]]


@dataclass(frozen=True)
class Claim:
    """`text` says in our words what the paper claims, and `source` where; `note` is what one should know of the verdict."""

    source: str
    text: str
    bounds: Bounds | None = None
    cannot: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        assert (self.bounds is None) == bool(self.cannot), f"{self.source}: a claim has bounds, or a reason to have none"

    def judged(self, table: Table) -> Judged:
        if self.bounds is None:
            return Judged(self, Verdict.NOT_RUNNABLE, ())
        bounds = tuple(self.bounds(table))
        assert bounds, f"{self.source}: {self.text}: nothing to judge"
        found = {bound.verdict for bound in bounds}
        worst = next(one for one in (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.CONFIRMED) if one in found)
        return Judged(self, worst, bounds)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    verdict: Verdict
    bounds: tuple[Bound, ...]

    @property
    def told(self) -> str:
        """The bounds that decide, in a line: those that hold most narrowly, or are missed most."""
        if not self.bounds:
            return self.claim.cannot
        decisive = sorted((bound for bound in self.bounds if bound.verdict is self.verdict), key=lambda bound: bound.margin)
        first = "; ".join(tell(bound) for bound in decisive[:2])
        return first if len(self.bounds) <= 2 else f"{len(decisive)} of {len(self.bounds)} bounds: {first}"


def tell(bound: Bound) -> str:
    first, last = bound.interval
    found = f"{first:.3g}" if f"{first:.3g}" == f"{last:.3g}" else f"{first:.3g} to {last:.3g}"
    return f"{bound.what} {found} ({_wanted(bound)})"


def _wanted(bound: Bound) -> str:
    if math.isinf(bound.low):
        return f"at most {bound.high:.3g}"
    return f"at least {bound.low:.3g}" if math.isinf(bound.high) else f"{bound.low:.3g} to {bound.high:.3g}"


def pairwise(
    table: Table, first: Iterable[Cell], second: Iterable[Cell], low: float = -math.inf, high: float = math.inf,
    is_exact: bool = False,
) -> Iterator[Bound]:
    """Ratios of cells with others."""
    for one, other in zip(first, second, strict=True):
        yield Bound(f"{one.told_beside(other)}:", table.ratios(one, other), low, high, is_exact)


def flat(table: Table, cells: Sequence[Cell], what: str, within: float) -> Bound:
    """The greatest of a turn over its least."""
    series = zip(*(table.series(cell) for cell in cells), strict=True)
    return Bound(what, [max(values) / min(values) for values in series], high=within)


def rising(table: Table, cells: Sequence[Cell], low: float = 1.0) -> Iterator[Bound]:
    """Every cell over the one before it."""
    return pairwise(table, cells[1:], cells[:-1], low=low)


def growth(table: Table, first: Cell, last: Cell, what: str, low: float = -math.inf, high: float = math.inf) -> Bound:
    """The last of a line over its first."""
    return Bound(what, table.ratios(last, first), low, high)
