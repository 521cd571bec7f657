"""Hashes of lanes, and the table whose deletions leave no gaps."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sash.deltas import Int64s
from sash.kernels.hashing import HALF, equal_lanes, hash_lanes, insert_entry, rebuild_table, remove_entry, tag_of


def test_a_hash_depends_on_every_lane_and_their_order() -> None:
    rows = np.array([[1, 2, 3], [1, 9, 3], [2, 1, 3], [0, 0, 0]], np.int64)
    first, second, third = np.array([0, 2]), np.array([0, 1]), np.array([1, 0])
    assert hash_lanes(rows, 0, first) == hash_lanes(rows, 1, first)
    assert hash_lanes(rows, 0, second) == hash_lanes(rows, 2, third)
    assert len({hash_lanes(rows, row, second) for row in range(4)}) == 4
    assert hash_lanes(rows, 3, np.array([0])) != hash_lanes(rows, 3, second)


def test_tags_of_neighbours_are_spread() -> None:
    rows = np.arange(10_000, dtype=np.int64).reshape(-1, 1)
    homes = [tag_of(hash_lanes(rows, row, np.array([0]))) & 1023 for row in range(len(rows))]
    assert max(np.bincount(homes, minlength=1024)) < 40


def test_lanes_are_equal_by_place() -> None:
    left, right = np.array([[1, 2, 3]], np.int64), np.array([[0, 3, 1]], np.int64)
    assert equal_lanes(left, 0, np.array([0, 2]), right, 0, np.array([2, 1]))
    assert not equal_lanes(left, 0, np.array([0, 1]), right, 0, np.array([2, 1]))
    assert equal_lanes(left, 0, np.array([], np.int64), right, 0, np.array([], np.int64))


def reachable(table: Int64s, tag: int, id_: int) -> bool:
    slot = tag & len(table) - 1
    while table[slot] and table[slot] & HALF != id_:
        slot = (slot + 1) & len(table) - 1
    return bool(table[slot])


@pytest.mark.parametrize("tags", [[0], [63, 62, 1], [0xFFFFFFFF, 0, 5], range(0, 2**32, 2**27 + 3)])
def test_entries_stay_reachable(tags: list[int]) -> None:
    chance = random.Random(1)
    table = np.zeros(64, np.int64)
    live: dict[int, int] = {}
    for _ in range(3000):
        if live and (len(live) == 32 or chance.random() < 0.5):
            gone = chance.choice(list(live))
            remove_entry(table, live.pop(gone), gone)
        else:
            new = chance.choice([id_ for id_ in range(1, 40) if id_ not in live])
            live[new] = chance.choice(tags)
            insert_entry(table, live[new], new)
        assert np.count_nonzero(table) == len(live)
        assert all(reachable(table, tag, id_) for id_, tag in live.items())
    larger = np.zeros(256, np.int64)
    rebuild_table(table, larger)
    assert all(reachable(larger, tag, id_) for id_, tag in live.items())
