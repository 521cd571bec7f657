"""Figures from the ranges of an index USING GROUP, each with the most that it can be wrong by.

    ranges      [1 … 2.5] 812    [3 … 6] 790    [7 … 19] 31
    MEDIAN      the 816th and 817th of 1,633 are in the second: 4.5, wrong by at most 1.5
    v > 4       31, and none to all of the second range: 426, wrong by at most 395
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sash.database.access import Asked, Limits
from sash.database.selection import Selection, column_beneath
from sash.errors import SashError
from sash.plan.index_method import IndexKind
from sash.plan.nodes import Top
from sash.scalar.nodes import Literal
from sash.sql.approximate import Approximation, Figure
from sash.sql.catalog import IndexDefinition
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape

HISTOGRAM = pa.schema([("lowest", pa.float64()), ("highest", pa.float64()), ("count", pa.int64())])
ROUNDING = 2.0**-50  # by which the place of a percentile may be wrong
_WAY_OUT = "leave APPROXIMATE out"

Bounds = tuple[float, float]  # between which an exact figure is


@dataclass(frozen=True, eq=False)
class Estimate:
    """Which ranges are asked, and for what."""

    figures: tuple[Figure, ...]
    view: str
    shape: IndexShape
    index: IndexDefinition
    limits: Limits

    @property
    def text(self) -> str:
        return f"index {self.index.name} of {self.view}, {self.index.method} ({self.index.columns[0]}): ranges, with their error"

    @property
    def schema(self) -> pa.Schema:
        """Of the answer."""
        if not self.figures:
            return HISTOGRAM
        return pa.schema([(name + part, pa.float64()) for name in (one.name for one in self.figures) for part in ("", "_error")])

    def answer(self, ranges: Ranges) -> pa.Table:
        """For every figure its value and its error; NULL where there is no row. Of no figure, the ranges."""
        if not self.figures:
            return _histogram(ranges)
        values: list[float | None] = []
        for figure in self.figures:
            bounds = _percentile(ranges, figure.rank) if figure.rank is not None else self._count(ranges, figure)
            values += _middle(bounds) if bounds is not None else (None, None)
        return pa.Table.from_arrays([pa.array([value], pa.float64()) for value in values], schema=self.schema)

    def _count(self, ranges: Ranges, figure: Figure) -> Bounds:
        if self.limits == Limits():
            numbers = int(ranges.counts.sum()) + ranges.nans
            whole = float(numbers + (ranges.nulls if figure.counts_all else 0))
            return whole, whole
        return _within(ranges, self.limits)


def estimate_of(
    asked: Approximation, selection: Selection | None, indexes: Mapping[IndexShape, IndexDefinition]
) -> Estimate:
    """An approximation of rows that are a selection, by the index that tells the most about it."""
    if selection is None or isinstance(selection.question.plan, Top):
        hint = f"create an index of it USING GROUP(100); or {_WAY_OUT}"
        raise SashError("an approximate answer is of the rows of one view, or of a window that has an index", hint)
    said = Asked.by(selection.filters)
    column = _column(asked, selection, said)
    name, has_filters = selection.layout.schema.names[column], any(not isinstance(step, tuple) for step in selection.steps)
    if has_filters or not said.is_exact or any(said.points) or set(said.limits) - {column}:
        hint = f"compare it with constants: {name} > 3; or {_WAY_OUT}"
        raise SashError(f'ranges of "{name}" tell nothing about these conditions', hint)
    limits = said.limits.get(column, Limits())
    if limits != Limits() and any(figure.rank is not None for figure in asked.figures or (Figure("", 0.0),)):
        raise SashError("percentiles and histograms are of all rows of a view or window", f"leave WHERE out; or {_WAY_OUT}")
    found = [shape for shape in indexes if shape.method.kind is IndexKind.GROUP and shape.columns == (column,)]
    if not found:
        message = f'no index of "{selection.view}" counts ranges of "{name}"'
        raise SashError(message, f"CREATE INDEX … ON {selection.view} ({name}) USING GROUP(100); or {_WAY_OUT}")
    shape = max(found, key=lambda shape: shape.method.groups)
    return Estimate(asked.figures, selection.view, shape, indexes[shape], limits)


def _column(asked: Approximation, selection: Selection, said: Asked) -> int:
    """The column of the figures; where they name none, that of the conditions."""
    found = column_beneath(0, selection) if asked.column is not None else next(iter(said.limits), None)
    if found is None:
        raise SashError("this names no column of a view or window", f"write COUNT(v), or a condition on a column; or {_WAY_OUT}")
    return found


def _percentile(ranges: Ranges, rank: float) -> Bounds | None:
    """Between which values the exact one is, which lies between two neighbours in the order of values; NaN is above all."""
    numbers = int(ranges.counts.sum())
    if not numbers + ranges.nans:
        return None
    place = rank * (numbers + ranges.nans - 1)
    least, most = np.floor(place * (1 - ROUNDING)), np.ceil(place * (1 + ROUNDING))
    reached = np.cumsum(ranges.counts)
    low, high = (int(np.searchsorted(reached, at, side="right")) for at in (least, min(most, numbers + ranges.nans - 1)))
    return (
        float(ranges.lowest[low]) if low < len(reached) else np.nan,
        float(ranges.highest[high]) if high < len(reached) else np.nan,
    )


def _within(ranges: Ranges, limits: Limits) -> Bounds:
    """How many rows are within limits: at least those of ranges that are inside, at most those of all that are not outside."""
    inside, outside = np.ones(len(ranges.counts), np.bool_), np.zeros(len(ranges.counts), np.bool_)
    nans = ranges.nans
    if (low := _float(limits.low)) is not None:
        inside &= (ranges.lowest >= low) if limits.is_low_inside else (ranges.lowest > low)
        outside |= (ranges.highest < low) if limits.is_low_inside else (ranges.highest <= low)
        if np.isnan(low):  # only NaN is not below it
            inside, outside = np.zeros_like(inside), np.ones_like(outside)
            nans = nans if limits.is_low_inside else 0
    if (high := _float(limits.high)) is not None:
        is_nan = bool(np.isnan(high))
        nans = nans if is_nan and limits.is_high_inside else 0
        inside &= is_nan | ((ranges.highest <= high) if limits.is_high_inside else (ranges.highest < high))
        outside |= (not is_nan) & ((ranges.lowest > high) if limits.is_high_inside else (ranges.lowest >= high))
    return float(ranges.counts[inside].sum()) + nans, float(ranges.counts[~outside].sum()) + nans


def _float(literal: Literal | None) -> float | None:
    return None if literal is None else float(literal.value)  # type: ignore[arg-type]


def _middle(bounds: Bounds) -> tuple[float, float]:
    """The value that is wrong by the least, and by how much it can be."""
    low, high = bounds
    if low == high or (np.isnan(low) and np.isnan(high)):
        return low, 0.0
    if not np.isfinite(low) or not np.isfinite(high):
        return (low if np.isfinite(low) else high), np.inf
    value = low + (high - low) / 2
    error = max(value - low, high - value)
    is_rounded = Fraction(value) - Fraction(error) > Fraction(low) or Fraction(value) + Fraction(error) < Fraction(high)
    return value, float(np.nextafter(error, np.inf)) if is_rounded else error


def _histogram(ranges: Ranges) -> pa.Table:
    """A row for each range: the least and the greatest value that may be there, and how many are."""
    lowest, highest, counts = ranges.lowest.tolist(), ranges.highest.tolist(), ranges.counts.tolist()
    if ranges.nans:
        lowest, highest, counts = [*lowest, np.nan], [*highest, np.nan], [*counts, ranges.nans]
    return pa.table([lowest, highest, counts], schema=HISTOGRAM)
