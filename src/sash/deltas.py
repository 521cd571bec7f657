"""Deltas: what flows along every edge of a running query.

A row is a line of 64-bit integers, called lanes, whatever its columns are, so one compiled kernel serves every schema and two
rows are equal when their lanes are equal:

    price DOUBLE   bidder STRING   note STRING          lanes
    1.5            'ann'           NULL          ->     [bits of 1.5, code of 'ann', 0, 0b100]
                                                                                        `- one bit per NULL column

A DOUBLE is kept as its bits, a STRING as its code in the shard's interner, an ARRAY as the code of its bytes, a DECIMAL as its
unscaled value (two lanes, low and high, when its precision is above 18), everything else as the integer it is. The lanes of a
NULL are zero. After the columns come the mask lanes, one for every 32 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from sash.schema import FOREVER, Schema

Int64s = npt.NDArray[np.int64]

MASK_BITS = 32
FEW_SHARED = 256
MOST_SHARED = 1 << 20  # expiries of signed changes that are kept for all


@dataclass(frozen=True)
class Layout:
    """Where the columns of a schema lie in the lanes of a row."""

    schema: Schema

    @cached_property
    def lanes(self) -> tuple[int, ...]:
        """The first lane of every column."""
        first, places = 0, []
        for type_ in self.schema.types:
            places.append(first)
            first += type_.lanes
        return tuple(places)

    @cached_property
    def values(self) -> int:
        """How many lanes hold values; the first mask lane comes right after them."""
        return sum(type_.lanes for type_ in self.schema.types)

    @cached_property
    def width(self) -> int:
        """Values and masks; at least one mask lane, so that a row of no columns is still a row."""
        return self.values + max(1, -(-len(self.schema) // MASK_BITS))

    def mask(self, column: int) -> tuple[int, int]:
        """The lane and the bit that say whether a column is NULL."""
        return self.values + column // MASK_BITS, column % MASK_BITS


@dataclass(eq=False, slots=True)
class Delta:
    """Changes of a bag of rows, in the order of their instants.

    rows[i] enters (weight > 0) or leaves (weight < 0) at ts[i]. A row with an expiry below FOREVER leaves by itself at that
    instant; no negative row follows it. An edge carries either such rows (all weights positive) or signed ones (all expiries
    FOREVER): the plan says which.

    Nobody changes one that was given to others. It is not frozen, as a step of one row makes some for every operator, and a
    frozen one takes three times as long to make.
    """

    rows: Int64s  # [n, width], C-contiguous
    ts: Int64s
    expiry: Int64s
    weight: Int64s
    is_net: bool = False  # known to be net per instant, and in order
    signs: tuple[int, int, int] | None = None  # how many rows enter, leave, and only tell the time, once somebody has counted

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, places: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Delta:
        return Delta(self.rows[places], self.ts[places], self.expiry[places], self.weight[places])

    def slice(self, start: int, stop: int) -> Delta:
        return Delta(self.rows[start:stop], self.ts[start:stop], self.expiry[start:stop], self.weight[start:stop])

    def copy(self) -> Delta:
        return Delta(self.rows.copy(), self.ts.copy(), self.expiry.copy(), self.weight.copy())

    def with_rows(self, rows: Int64s) -> Delta:
        """The same changes of other rows, one for one."""
        return Delta(rows, self.ts, self.expiry, self.weight, False, self.signs)

    def with_expiry(self, expiry: Int64s) -> Delta:
        """The same rows, which leave at other instants."""
        return Delta(self.rows, self.ts, expiry, self.weight, False, self.signs)

    def split(self, now: int) -> tuple[Delta, Delta]:
        """What happens before `now`, and the rest."""
        place = int(np.searchsorted(self.ts, now, side="left"))
        return self.slice(0, place), self.slice(place, len(self))

    @staticmethod
    @cache
    def empty(width: int) -> Delta:
        none = np.empty(0, np.int64)
        return Delta(np.empty((0, width), np.int64), none, none, none)

    @staticmethod
    def concatenate(deltas: Sequence[Delta], width: int) -> Delta:
        """One after the other: the caller knows that this is also the order of time."""
        full = [delta for delta in deltas if len(delta.ts)]
        if not full:
            return Delta.empty(width)
        if len(full) == 1:
            return full[0]
        return Delta(
            np.concatenate([delta.rows for delta in full]),
            np.concatenate([delta.ts for delta in full]),
            np.concatenate([delta.expiry for delta in full]),
            np.concatenate([delta.weight for delta in full]),
        )

    @staticmethod
    def room(count: int, width: int, *, expires: bool = False) -> Delta:
        """Space for a kernel to write changes into: signed ones, or such that carry their expiry."""
        expiry = np.empty(count, np.int64) if expires else forever(count)
        return Delta(np.empty((count, width), np.int64), np.empty(count, np.int64), expiry, np.empty(count, np.int64))


def once(count: int) -> Int64s:
    """The weights of rows that come once each. All who ask share them: they are not to be written to."""
    return few_ones(count) if count < FEW_SHARED else np.ones(count, np.int64)


@cache
def few_ones(count: int) -> Int64s:
    return np.ones(count, np.int64)


def forever(count: int) -> Int64s:
    """The expiries of so many changes that are signed. All who ask share them: they are not to be written to."""
    if count < FEW_SHARED:
        return few_forever(count)
    return np.full(count, FOREVER) if count > MOST_SHARED else shared_forever(count.bit_length())[:count]


@cache
def few_forever(count: int) -> Int64s:
    """A look-up costs a tenth of a slice."""
    return shared_forever(count.bit_length())[:count]


@cache
def shared_forever(power: int) -> Int64s:
    return np.full(1 << power, FOREVER)
