"""The changes of an instant in order: what leaves first, each part by the full row, NULLs before all else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sash.deltas import Delta, Layout
from sash.operators.net_changes import NetChanges
from sash.schema import BIGINT, FOREVER, Field, Schema
from sash.stores.arena import Arena
from sash.stores.interner import Interner

LAYOUT = Layout(Schema((Field("a", BIGINT), Field("b", BIGINT), Field("c", BIGINT))))
NULLS = -1  # the lane of the mask


def changes(count: int, values: int, nulls: float, seed: int) -> Delta:
    """All of one instant; a few wide values, negative ones too, and NULLs at places that are zero then."""
    random = np.random.default_rng(seed)
    pool = random.integers(-(2**63), 2**63 - 1, values, endpoint=True)
    rows = np.zeros((count, LAYOUT.width), np.int64)
    for lane in range(3):
        is_null = random.random(count) < nulls
        rows[:, lane] = np.where(is_null, 0, random.choice(pool, count))
        rows[:, NULLS] |= is_null.astype(np.int64) << lane
    weight = random.choice([-2, -1, 1, 3], count)
    return Delta(rows, np.full(count, 7), np.full(count, FOREVER), weight)


def key(row: tuple[int, ...]) -> list[tuple[bool, int]]:
    return [(not row[NULLS] >> lane & 1, row[lane]) for lane in range(3)]


@pytest.mark.parametrize("nulls", [0.0, 0.2])
@pytest.mark.parametrize("values", [2, 20, 2_000])
@pytest.mark.parametrize("count", [1, 2, 8, 9, 95, 96, 300, 5_000])
def test_one_instant(count: int, values: int, nulls: float) -> None:
    delta = changes(count, values, nulls, seed=count + values)
    net: Counter[tuple[int, ...]] = Counter()
    for row, weight in zip(delta.rows.tolist(), delta.weight.tolist(), strict=True):
        net[tuple(row)] += weight
    leaving = sorted((row for row, weight in net.items() if weight < 0), key=key)
    coming = sorted((row for row, weight in net.items() if weight > 0), key=key)
    found = NetChanges(LAYOUT, Interner(Arena.anonymous())).per_instant(delta)
    assert [tuple(row) for row in found.rows.tolist()] == leaving + coming
    assert found.weight.tolist() == [net[row] for row in leaving + coming]


def test_what_is_net_is_only_put_in_order() -> None:
    delta = changes(2_000, 10_000, 0.0, seed=1)
    delta = delta.take(np.unique(delta.rows, axis=0, return_index=True)[1][::-1])
    expected = NetChanges(LAYOUT, interner := Interner(Arena.anonymous())).per_instant(delta)
    NetChanges(LAYOUT, interner).order(delta, np.array([0]))
    assert delta.rows.tolist() == expected.rows.tolist() and delta.weight.tolist() == expected.weight.tolist()
