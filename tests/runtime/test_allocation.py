"""Memory that was freed is there for the next step."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from sash.runtime.allocation import KEPT, keep_freed_memory

PIECE = 2 << 20  # bytes: small enough that NumPy asks for no huge pages
ROUNDS = 5


def work() -> None:
    pieces = [np.ones(PIECE // 8, np.int64) for _ in range(KEPT // 4 // PIECE)]
    pieces.clear()


def test_freed_memory_is_not_handed_out_page_by_page_again() -> None:
    if not keep_freed_memory():
        pytest.skip("the allocator is not that of glibc")
    work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(ROUNDS):
        work()
    pages = ROUNDS * (KEPT // 4) // resource.getpagesize()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < pages / 10
