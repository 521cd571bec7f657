"""Indexes of kernels are never below zero, and none is asked whether it is."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from sash.deltas import Int64s
from sash.kernels.compiling import KernelCompiler


def read(values: Int64s, i: int) -> int:
    return int(values[i])


def write(rows: Int64s, i: int, lane: int) -> None:
    rows[i, lane] += 1


def test_indexes_count_from_the_start() -> None:
    values = np.array([5, 6, 7])
    assert njit(boundscheck=True)(read)(values, -1) == 7
    checked = njit(boundscheck=True, pipeline_class=KernelCompiler)(read)
    assert checked(values, 2) == 7
    with pytest.raises(IndexError):
        checked(values, -1)


@pytest.mark.parametrize("place", [(-1, 0), (0, -1), (2, 0)])
def test_those_of_rows_and_lanes_too(place: tuple[int, int]) -> None:
    rows = np.zeros((2, 3), np.int64)
    checked = njit(boundscheck=True, pipeline_class=KernelCompiler)(write)
    checked(rows, 1, 2)
    assert rows.tolist() == [[0, 0, 0], [0, 0, 1]]
    with pytest.raises(IndexError):
        checked(rows, *place)
