"""Streams as the paper's: keys without skew, gaps of an exponential distribution, bursts of a Pareto distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s
from sash.errors import SashError

SECOND = 1_000_000_000  # nanoseconds


@dataclass(frozen=True)
class Arrivals:
    """Tuples of two streams in the order in which they come; those before `first` fill the windows."""

    ts: Int64s
    side: Int64s
    key: Int64s
    first: int

    @property
    def span(self) -> int:
        """From the first that counts to the last."""
        return int(self.ts[-1] - self.ts[self.first])

    def buffer(self, window: int) -> int:
        """How many tuples of one stream are at most in a window."""
        most = 0
        for side in (0, 1):
            ts = self.ts[self.side == side]
            most = max(most, int((np.arange(len(ts)) + 1 - np.searchsorted(ts, ts - window, side="right")).max(initial=0)))
        return most


def burst_sizes(expected: float, count: int, chance: np.random.Generator) -> Int64s:
    """At least so many tuples in bursts. Sizes are rounded up or down by chance, so that their mean is the distribution's.

    With the least burst b = 1 the mean is α / (α - 1), so α follows from it.
    """
    if expected == 1:
        return np.ones(count, np.int64)
    alpha, sizes, total = expected / (expected - 1), [], 0
    while total < count:
        drawn = np.floor((1 - chance.random(count)) ** (-1 / alpha) + chance.random(count)).astype(np.int64)
        sizes.append(drawn)
        total += int(drawn.sum())
    found = np.concatenate(sizes)
    return found[: int(np.searchsorted(np.cumsum(found), count)) + 1]


def instants(rate: float, burst: float, count: int, chance: np.random.Generator) -> Int64s:
    """Tuples of a burst come at once. The gaps are stretched until the rate is what was asked for: the mean of a long tail
    comes out late."""
    sizes = burst_sizes(burst, count, chance)
    starts: npt.NDArray[np.float64] = np.cumsum(chance.exponential(1.0, len(sizes)))
    starts *= count / rate * SECOND / starts[-1]
    found: Int64s = np.repeat(starts.astype(np.int64), sizes)[:count]
    return found


def draw(rate: float, burst: float, keys: int, longest: float, tuples: int, seed: int) -> Arrivals:
    """Two streams of one rate that fill a window of so many seconds, and then have so many tuples more."""
    chance = np.random.default_rng([seed, 1])
    count = int(rate * longest) + tuples  # of a stream: twice as many as are wanted, as a burst may be long
    both = [instants(rate, burst, count, chance) for _ in (0, 1)]
    ts, side = np.concatenate(both), np.repeat([0, 1], count)
    order = np.lexsort((side, ts))
    ts, side = ts[order], side[order]
    first = int(np.searchsorted(ts, int(longest * SECOND)))
    end = first + tuples
    if end > len(ts):
        what = f"bursts of {burst:g} have only {len(ts) - first:,} of {tuples:,} tuples after {longest:g} s"
        raise SashError(what, "take another seed")
    key = chance.integers(0, keys, len(ts))[:end]
    return Arrivals(ts[:end].copy(), side[:end].astype(np.int64), key, first)


def one_burst(rate: float, longest: float, size: int) -> Arrivals:
    """So many tuples of one stream that come at once; the other stream has exactly `rate` tuples in every second before."""
    count = int(rate * longest)
    gap = SECOND / rate
    before: Int64s = np.asarray(longest * SECOND - (np.arange(count)[::-1] + 0.5) * gap, np.int64)
    ts: Int64s = np.concatenate([before, np.full(size, int(longest * SECOND), np.int64)])
    side = np.repeat(np.array([1, 0], np.int64), [count, size])
    return Arrivals(ts, side, np.zeros(count + size, np.int64), count)
