"""What figures of values in order need of an answer: few of its rows, told by an ordered index, that give the same figures.

    values of v      a a b c c c d e f f f g        of which are asked MIN, MEDIAN and COUNT
    rows that do     a 2     c 3 d 1     f 5        values beside a figure as they are; of those between, one for all

Each row has a weight, which says how many it stands for. Columns that nobody asks for are NULL. Rows that are about to come or
go move a figure by as many places at most: so many more values are kept beside it, and farther away only counts change.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sash.deltas import Int64s, Layout
from sash.runtime.access import InOrder
from sash.stores.bag import AnswerBag
from sash.stores.interner import Interner
from sash.stores.view_index import Ranks, TreeIndex, apart

MOST_MOVED = 1_024  # rows that are about to come or go; with more, every value is told

Bools = npt.NDArray[np.bool_]
Lanes = tuple[Int64s, Int64s]  # rows and their weights


def rows_in_order(wanted: InOrder, index: TreeIndex, bag: AnswerBag, layout: Layout, interner: Interner, ahead: Lanes) -> Lanes:
    """Rows that give the figures that are asked for, whatever of these changes is about to come."""
    low, high = (bound.rank(index, interner) for bound in wanted.span)
    ranks, moved = (low, max(low, high)), int(np.abs(ahead[1]).sum())
    if wanted.fractions is None or moved > MOST_MOVED:
        nodes, counts = index.values(ranks, wanted.columns)
        every = [(bag.at(nodes)[0], counts), ahead]
    else:
        every = _near(wanted, index, bag, interner, ranks, (*ahead, _are_null(ahead[0], wanted, layout)), 2 * moved + 3)
    rows, weights = (np.concatenate(parts) for parts in zip(*every, strict=True))
    return _told(rows, wanted.shape.columns[: wanted.columns], layout), weights


def _near(
    wanted: InOrder, index: TreeIndex, bag: AnswerBag, interner: Interner, ranks: Ranks,
    ahead: tuple[Int64s, Int64s, Bools], margin: int,
) -> list[Lanes]:
    """Values beside the figures, one of all between them, and changes that are not among those."""
    low, high = ranks
    first = low if wanted.after_nulls is None else min(max(low, wanted.after_nulls.rank(index, interner)), high)
    zones = apart(_zones(wanted, index, (first, high), margin))
    gaps = [gap for gap in ((low, first), *_between(zones, (first, high))) if gap[0] < gap[1]]
    stands, (rows, signs, are_null) = np.array([stop - start for start, stop in gaps], np.int64), ahead
    is_counted = np.zeros(len(signs), np.bool_)
    for place, is_null in enumerate(are_null):
        rank = index.rank(rows[place : place + 1], wanted.columns, with_equal=False)
        for number, (start, stop) in enumerate(gaps):
            if start <= rank < stop and is_null == (stop <= first):
                stands[number] += signs[place]
                is_counted[place] = True
    some = [index.values(zone, wanted.columns) for zone in zones]
    standing = index.between((start, start + 1) for start, _ in gaps)
    nodes, counts = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (zip(*some, strict=True) if some else ((), ())))
    return [(bag.at(nodes)[0], counts), (bag.at(standing)[0], stands), (rows[~is_counted], signs[~is_counted])]


def _are_null(rows: Int64s, wanted: InOrder, layout: Layout) -> Bools:
    """Whether the value is NULL of which figures are asked."""
    if wanted.after_nulls is None:
        return np.zeros(len(rows), np.bool_)
    lane, bit = layout.mask(wanted.shape.columns[wanted.columns - 1])
    found: Bools = (rows[:, lane] >> bit & 1).astype(np.bool_)
    return found


def _zones(wanted: InOrder, index: TreeIndex, ranks: Ranks, margin: int) -> Iterator[Ranks]:
    """The ranks around each fraction of those that are not NULL, up to where values change."""
    low, high = ranks
    for fraction in wanted.fractions or () if low < high else ():
        centre = low + int(fraction * (high - low - 1))
        start, stop = max(low, centre - margin), min(high - 1, centre + margin)
        yield (
            index.beside(start, wanted.columns, with_equal=False), index.beside(stop, wanted.columns, with_equal=True)
        )  # fmt: skip


def _between(zones: list[Ranks], ranks: Ranks) -> Iterator[Ranks]:
    at = ranks[0]
    for start, stop in zones:
        yield at, start
        at = stop
    yield at, ranks[1]


def _told(rows: Int64s, columns: tuple[int, ...], layout: Layout) -> Int64s:
    """The same rows, NULL in all other columns."""
    found = np.zeros((len(rows), layout.width), np.int64)
    for column, type_ in enumerate(layout.schema.types):
        lane, bit = layout.mask(column)
        if column in columns:
            first = layout.lanes[column]
            found[:, first : first + type_.lanes] = rows[:, first : first + type_.lanes]
            found[:, lane] |= rows[:, lane] & (1 << bit)
        else:
            found[:, lane] |= 1 << bit
    return found
