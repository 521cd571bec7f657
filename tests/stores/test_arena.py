"""Arenas: arrays keep what was written, wherever they lie."""

from __future__ import annotations

import gc
import os
import random
from pathlib import Path

import numpy as np
import pytest

from sash.stores.arena import PAGE, Arena


def test_an_array_is_found_again_by_name() -> None:
    arena = Arena.anonymous()
    arena.array("a", (3,))[:] = 7
    assert arena.array("a", (99,)).tolist() == [7, 7, 7]


def test_growing_keeps_rows_and_zeroes_the_rest() -> None:
    arena = Arena.anonymous()
    arena.array("a", (2, 2))[:] = 5
    grown = arena.resize("a", 5000)
    assert grown[:2].tolist() == [[5, 5], [5, 5]]
    assert not grown[2:].any()


def test_a_freed_extent_is_used_again_and_comes_back_zero() -> None:
    arena = Arena.anonymous()
    arena.array("a", (512,))[:] = 9
    arena.resize("a", 100_000)
    size = arena.size
    assert not arena.array("b", (512,)).any()
    assert arena.size == size


def test_a_fork_writes_only_for_itself() -> None:
    arena = Arena.anonymous()
    arena.array("a", (4,))[:] = 1
    fork = arena.fork()
    fork.array("a", (4,))[:] = 2
    fork.array("new", (100_000,))[:] = 3
    assert arena.array("a", (4,)).tolist() == [1, 1, 1, 1]
    assert not arena.array("new", (4,)).any()


def test_a_fork_keeps_its_writes_when_an_array_grows_within_its_extent() -> None:
    fork = Arena.anonymous().fork()
    for name in ("mine", "more"):
        fork.array(name, (2,))[:] = 4
        assert fork.resize(name, 3).tolist() == [4, 4, 0]
    arena = Arena.anonymous()
    arena.array("a", (2,))[:] = 1
    other = arena.fork()
    other.array("a", (2,))[:] = 6
    assert other.resize("a", 3).tolist() == [6, 6, 0]


def test_a_file_opened_again_has_the_same_arrays(tmp_path: Path) -> None:
    arena = Arena.open(tmp_path / "arena")
    arena.array("a", (10,), np.uint8)[:] = 3
    arena.array("b", (1000, 4))[:] = 8
    arena.resize("b", 4000)[-1] = 9
    contents = arena.describe()
    arena.close()
    again = Arena.open(tmp_path / "arena", contents)
    assert again.array("a", (1,)).tolist() == [3] * 10
    assert again.array("b", (1,))[-1].tolist() == [9, 9, 9, 9]
    before = again.size
    again.array("c", (1000, 4))  # goes where b was
    assert again.size == before


def descriptors() -> int:
    gc.collect()  # engines of other tests may still hold some
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc to count descriptors in")
def test_an_arena_takes_one_descriptor_however_many_arrays_and_gives_it_back() -> None:
    before = descriptors()
    arena = Arena.anonymous()
    kept = [arena.array(str(number), (10,)) for number in range(100)]
    assert descriptors() == before + 1
    fork = arena.fork()
    fork.array("0", (10,))
    assert descriptors() == before + 2
    kept[0][:] = 4
    del arena, fork
    assert descriptors() == before
    assert kept[0].tolist() == [4] * 10


def test_small_arrays_share_pages() -> None:
    arena = Arena.anonymous()
    for number in range(100):
        arena.array(str(number), (8,))[:] = number
    assert arena.size <= 2 * PAGE
    assert all((arena.array(str(number), (8,)) == number).all() for number in range(100))


@pytest.mark.parametrize("seed", range(5))
def test_arrays_never_touch_each_other(seed: int, tmp_path: Path) -> None:
    """Made, grown, dropped, forked and opened again at random, beside plain copies."""
    chance = random.Random(seed)
    arena, known = Arena.open(tmp_path / "arena"), dict[str, list[int]]()
    for step in range(300):
        name = chance.choice([*known, f"new {step}/"])
        if name not in known:
            length = chance.choice([0, 1, 5, 8, 9, 100, 511, 513, 3000])
            values = arena.array(name, (length,))
            assert not values.any()
        elif chance.random() < 0.3 or len(known[name]) > 5000:
            arena.drop(name)
            del known[name]
            continue
        else:
            values = arena.resize(name, max(1, 2 * len(known[name])))
        values[:] = step
        known[name] = values.tolist()
        if chance.random() < 0.05:
            fork = arena.fork()
            for other in known:
                fork.array(other, (1,))[:] = -1
                fork.resize(other, len(known[other]) + 1)[:] = -2
            fork.close()
        if chance.random() < 0.05:
            contents = arena.describe()
            arena.close()
            arena = Arena.open(tmp_path / "arena", contents)
        assert {one: arena.array(one, (1,)).tolist() for one in known} == known
        assert arena.used == 8 * sum(map(len, known.values()))
