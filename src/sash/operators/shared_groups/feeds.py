"""What a part of a group adds up, for all taps: each column once for every way in which somebody wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sash.deltas import Int64s
from sash.operators.group_by import opcodes as words
from sash.operators.group_by.tables import GroupTables
from sash.operators.shared_groups.kernels import AT, BEFORE, FEED_FIELDS, SUMS, TAP_FIELDS

LANES = {words.FEED_COUNT: 1, words.FEED_EXACT: 4, words.FEED_VALUE: BEFORE + 1}  # of a part


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
    """Where feeds lie in the lanes of a part."""

    def __init__(self, feeds: Iterable[PartFeed]) -> None:
        self.places: dict[PartFeed, int] = {}
        self.width = SUMS
        for feed in feeds:
            self.places[feed] = self.width
            self.width += LANES[feed.kind]

    @staticmethod
    def read(lines: Int64s) -> PartLayout:
        """As it was written."""
        return PartLayout(PartFeed(*line[:AT]) for line in lines.tolist())

    @property
    def lines(self) -> Int64s:
        """For the kernel, and to be written."""
        found = [(f.kind, f.lane, f.mask, f.bit, f.order, f.is_max, at) for f, at in self.places.items()]
        return np.array(found, np.int64).reshape(len(found), FEED_FIELDS)

    def tap_feeds(self, tables: GroupTables) -> Int64s:
        """The feeds of a tap, for the kernel."""
        cells = tables.feeds[:, words.FEED_CELL].tolist()
        found = [(feed.kind, self.places[feed], cell) for feed, cell in zip(feeds_of(tables), cells, strict=True)]
        return np.array(found, np.int64).reshape(len(found), TAP_FIELDS)

    def moved(self, parts: Int64s, into: PartLayout, out: Int64s) -> None:
        """Copy what parts have of the feeds of another layout."""
        for feed, to in into.places.items():
            if feed in self.places:
                at, count = self.places[feed], LANES[feed.kind]
                out[:, to : to + count] = parts[:, at : at + count]
