"""Records of arrays: kernels see what the bundle holds now, and nothing that is gone."""

from __future__ import annotations

import gc
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from sash.deltas import Int64s
from sash.kernels.bundles import Bundle, Letters, Line, Lines, Shapes, of_width, opened


class Inner(NamedTuple):
    numbers: Line
    table: Lines


class Outer(NamedTuple):
    text: Letters
    inner: Inner
    last: Line


open_outer = opened(Outer)


@njit(_nrt=False)
def look(record: Int64s, out: Int64s) -> None:
    outer = open_outer(record)
    out[0], out[1], out[2] = len(outer.text), len(outer.inner.numbers), len(outer.last)
    out[3], out[4] = outer.inner.table.shape
    out[5] = outer.text[1] + outer.inner.numbers[0] + outer.inner.table[1, 2] + outer.last[0]
    outer.inner.table[0, 0] = 77


def seen(bundle: Bundle) -> list[int]:
    out = np.zeros(6, np.int64)
    look(bundle.record, out)
    return [int(number) for number in out]


def made() -> tuple[Bundle, Bundle]:
    inner = Bundle(Inner, np.array([5, 6]), np.arange(6).reshape(2, 3))
    return Bundle(Outer, np.array([1, 2, 3], np.uint8), inner, np.array([100])), inner


def test_a_kernel_sees_all_arrays() -> None:
    assert seen(made()[0]) == [3, 2, 1, 2, 3, 2 + 5 + 5 + 100]


def test_a_kernel_writes_to_them() -> None:
    table = np.zeros((4, 3), np.int64)
    inner = Bundle(Inner, np.array([5]), table)
    seen(Bundle(Outer, np.zeros(2, np.uint8), inner, np.array([1])))
    assert table[0, 0] == 77


def test_what_has_moved_is_seen_also_by_those_who_hold_the_bundle() -> None:
    outer, inner = made()
    before = outer.record.copy()
    inner.replace(numbers=np.array([50, 0, 0]), table=np.full((3, 4), 1000))
    assert (outer.record == before).all()
    assert seen(outer) == [3, 3, 1, 3, 4, 2 + 50 + 1000 + 100]
    outer.replace(last=np.array([7, 8]))
    assert seen(outer) == [3, 3, 2, 3, 4, 2 + 50 + 1000 + 7]


def test_arrays_live_as_long_as_the_bundle() -> None:
    outer, _ = made()
    gc.collect()
    for _ in range(100):
        np.full(6, -1)  # what was free is written over
    assert seen(outer)[5] == 112


@pytest.mark.parametrize(
    "part", [np.zeros(3, np.int32), np.zeros((3, 3), np.int64), np.zeros(6, np.int64)[::2]], ids=["type", "dimensions", "pieces"]
)
def test_a_part_of_another_kind_is_refused(part: Int64s) -> None:
    with pytest.raises(AssertionError, match=r"Inner\.numbers must be int64 of 1 dimensions, in one piece"):
        Bundle(Inner, part, np.zeros((1, 1), np.int64))


def test_another_bundle_is_refused() -> None:
    outer, _ = made()
    with pytest.raises(AssertionError, match=r"Outer\.inner is a Outer"):
        Bundle(Outer, np.zeros(1, np.uint8), outer, np.zeros(1, np.int64))


def test_a_bundle_without_all_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Bundle(Inner, np.zeros(1, np.int64))


KNOWN: Shapes = {"table": (2, 3)}
WIDE: Shapes = {"table": (None, 3)}
open_known, open_wide, three = opened(Outer, KNOWN), opened(Outer, WIDE), of_width(3)


@njit(_nrt=False)
def look_at_known(record: Int64s, out: Int64s) -> None:
    table = open_known(record).inner.table
    out[0], out[1], out[2] = table.shape[0], table.shape[1], table[1, 2]


@njit(_nrt=False)
def look_at_wide(record: Int64s, lines: Int64s, out: Int64s) -> None:
    table, told = open_wide(record).inner.table, three(lines)
    out[0], out[1], out[2] = table.shape[0], table.shape[1], table[1, 2]
    out[3], out[4] = told.shape[1], told[1, 0]
    table[0, 0] = told[0, 0] = 77


def test_arrays_of_known_shapes_are_seen_as_they_are() -> None:
    (outer, _), out = made(), np.zeros(3, np.int64)
    look_at_known(outer.record, out)
    assert out.tolist() == [2, 3, 5]


def test_an_array_of_known_width_is_still_the_array_itself() -> None:
    lines, table, out = np.arange(6).reshape(2, 3), np.arange(12).reshape(4, 3), np.zeros(5, np.int64)
    inner = Bundle(Inner, np.array([5]), table)
    look_at_wide(Bundle(Outer, np.zeros(2, np.uint8), inner, np.array([1])).record, lines, out)
    assert out.tolist() == [4, 3, 5, 3, 3] and table[0, 0] == lines[0, 0] == 77


def test_shapes_fit_where_all_arrays_have_them() -> None:
    outer, inner = made()
    assert outer.fits(KNOWN) and outer.fits(WIDE) and inner.fits({"numbers": (2, None)})
    inner.replace(table=np.zeros((3, 3), np.int64))
    assert not outer.fits(KNOWN) and outer.fits(WIDE)
    inner.replace(table=np.zeros((3, 4), np.int64))
    assert not outer.fits(WIDE)
