"""What a part of a group adds up, for all taps: each column once for every way in which somebody wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sash.deltas import Int64s
from sash.kernels.exact_sum import ABOVE_ALL_LIMBS, RANGE_COLUMNS, needed_limbs
from sash.operators.group_by import opcodes as words
from sash.operators.group_by.tables import GroupTables
from sash.operators.shared_groups.kernels.records import AT, BEFORE, DOUBLE_LIMBS, FEED_FIELDS, SUMS, TAP_FIELDS

Span = tuple[int, int]  # the first limb of a sum of doubles, and how many there are
NO_SPAN: Span = (0, 0)
LANES = {words.FEED_COUNT: 1, words.FEED_EXACT: 4, words.FEED_DOUBLE: DOUBLE_LIMBS, words.FEED_VALUE: BEFORE + 1}  # of a part


@dataclass(frozen=True, order=True)
class PartFeed:
    """What is added up, and of which column; of values also in which order."""

    kind: int
    lane: int
    mask: int
    bit: int
    order: int
    is_max: int


def feeds_of(tables: GroupTables) -> list[PartFeed]:
    """Those that a tap reads, one for each feed of its tables."""
    return [_feed(line, tables.sets) for line in tables.feeds.tolist()]


def _feed(line: Sequence[int], sets: Int64s) -> PartFeed:
    kind, order, is_max = line[words.FEED_KIND], 0, 0
    if kind == words.FEED_VALUE:
        order, is_max = sets[line[words.FEED_PART], [words.SET_ORDER, words.SET_IS_MAX]].tolist()
    return PartFeed(kind, line[words.FEED_LANE], line[words.FEED_MASK], line[words.FEED_BIT], order, is_max)


class PartLayout:
    """Where feeds lie in the lanes of a part. Sums of doubles have as many limbs as `spans` say, from which one on: as values of
    late needed (`kernels/exact_sum.py`).
    """

    def __init__(self, feeds: Iterable[PartFeed], spans: Mapping[PartFeed, Span] | None = None) -> None:
        self.places: dict[PartFeed, int] = {}
        self.spans: dict[PartFeed, Span] = {}
        self.width = SUMS
        for feed in feeds:
            self.places[feed] = self.width
            self.spans[feed] = (spans or {}).get(feed, NO_SPAN)
            self.width += self.lanes(feed)

    def lanes(self, feed: PartFeed) -> int:
        """Of a part, how many a feed has."""
        return LANES[feed.kind] + self.spans[feed][1]

    @staticmethod
    def read(lines: Int64s, spans: Int64s) -> PartLayout:
        """As it was written."""
        feeds = [PartFeed(*line) for line in lines[:, :AT].tolist()]
        return PartLayout(feeds, {feed: (base, length) for feed, (base, length) in zip(feeds, spans.tolist(), strict=False)})

    def with_feeds(self, feeds: Iterable[PartFeed]) -> PartLayout:
        """That of these feeds, with limbs as here."""
        return PartLayout(sorted(set(feeds)), self.spans)

    def widened(self, spans: Mapping[PartFeed, Span]) -> PartLayout:
        """The same with limbs for these spans as well; itself, if it has them."""
        both = {feed: _together(span, spans.get(feed, NO_SPAN)) for feed, span in self.spans.items()}
        return self if both == self.spans else PartLayout(self.places, both)

    def needed(self, rows: Int64s, weight: Int64s) -> dict[PartFeed, Span]:
        """The limbs that sums of doubles need for some rows."""
        found = {}
        for feed in self.places:
            if feed.kind == words.FEED_DOUBLE:
                lowest, highest = needed_limbs(rows, weight, feed.lane, feed.mask, feed.bit, 1, ABOVE_ALL_LIMBS, 0)
                found[feed] = (lowest, highest - lowest) if highest else NO_SPAN
        return found

    @property
    def lines(self) -> Int64s:
        """For the kernel."""
        found = [
            (f.kind, f.lane, f.mask, f.bit, f.order, f.is_max, at, *self.spans[f]) for f, at in self.places.items()
        ]
        return np.array(found, np.int64).reshape(len(found), FEED_FIELDS)

    def tap_feeds(self, tables: GroupTables, limbs_at: int) -> tuple[Int64s, Int64s]:
        """The feeds of a tap, for the kernel, and the ranges of its limbs, which lie in its lines from a place on."""
        found, ranges = [], np.zeros((tables.ranges, RANGE_COLUMNS), np.int64)
        for feed, line in zip(feeds_of(tables), tables.feeds.tolist(), strict=True):
            base, length = self.spans[feed]
            found.append((feed.kind, self.places[feed], line[words.FEED_CELL], limbs_at, length))
            if feed.kind == words.FEED_DOUBLE:
                ranges[line[words.FEED_PART]] = limbs_at, base, length
                limbs_at += length
        return np.array(found, np.int64).reshape(len(found), TAP_FIELDS), ranges

    def limbs_of(self, tables: GroupTables) -> int:
        """How many a line of a tap has."""
        return sum(self.spans[feed][1] for feed in feeds_of(tables))

    def moved(self, parts: Int64s, into: PartLayout, out: Int64s) -> None:
        """Copy what parts have of the feeds of another layout, which has all limbs that they have."""
        for feed, to in into.places.items():
            if feed in self.places:
                at, head, (base, length) = self.places[feed], LANES[feed.kind], self.spans[feed]
                out[:, to : to + head] = parts[:, at : at + head]
                first = to + head + base - into.spans[feed][0]
                out[:, first : first + length] = parts[:, at + head : at + head + length]


def _together(one: Span, other: Span) -> Span:
    spans = [span for span in (one, other) if span[1]]
    base = min((base for base, _ in spans), default=0)
    return base, max((base + length for base, length in spans), default=0) - base
