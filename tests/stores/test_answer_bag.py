"""The bag of an answer holds what was added to it, whatever the order, and whether or not its key tells rows apart."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from sash.deltas import Layout
from sash.schema import BIGINT, schema
from sash.stores.arena import Arena
from sash.stores.bag import AT_ONCE, AnswerBag
from sash.stores.interner import Interner

Change = tuple[int, int, int]  # a key, a value, a weight

LAYOUT = Layout(schema(("k", BIGINT), ("v", BIGINT)))


def bag(key_columns: int | None) -> AnswerBag:
    arena = Arena.anonymous()
    return AnswerBag(LAYOUT, arena.scope("bag"), Interner(arena), key_columns)


def add(answer: AnswerBag, changes: list[Change]) -> None:
    rows = np.array([(key, value, 0) for key, value, _ in changes], np.int64).reshape(-1, 3)
    answer.add(rows, np.array([weight for *_, weight in changes], np.int64))


def held(answer: AnswerBag) -> Counter[tuple[int, int]]:
    """Equal rows may have several nodes."""
    found: Counter[tuple[int, int]] = Counter()
    rows, counts = answer.rows()
    for (key, value, _), count in zip(rows.tolist(), counts.tolist(), strict=True):
        found[key, value] += count
    return found


def replacements(chance: random.Random, count: int) -> list[Change]:
    """Groups that change: at an instant all old rows leave, then all new ones come; now and then a group goes."""
    shown: dict[int, int] = {}
    changes: list[Change] = []
    while len(changes) < count:
        keys = chance.sample(range(50), chance.choice([1, 1, 1, 2, 5]))
        changes += [(key, shown.pop(key), -1) for key in keys if key in shown]
        new = {key: chance.randrange(1000) for key in keys if chance.random() < 0.9}
        changes += [(key, value, 1) for key, value in new.items()]
        shown |= new
    return changes


@pytest.mark.parametrize("key_columns", [None, 0, 1, 2])
@pytest.mark.parametrize("size", [1, 2, 7, 3 * AT_ONCE])
def test_rows_that_take_the_place_of_others(key_columns: int | None, size: int) -> None:
    answer, expected = bag(key_columns), Counter[tuple[int, int]]()
    changes = replacements(random.Random(size), 2000 if size < AT_ONCE else 10_000)
    for start in range(0, len(changes), size):
        add(answer, changes[start : start + size])
        for key, value, weight in changes[start : start + size]:
            expected[key, value] += weight
    assert +held(answer) == +expected and not -held(answer)
    assert len(answer) <= 50


@pytest.mark.parametrize("key_columns", [None, 1])
def test_any_bag_whether_or_not_the_key_tells_rows_apart(key_columns: int | None) -> None:
    chance, answer, expected = random.Random(3), bag(key_columns), Counter[tuple[int, int]]()
    for _ in range(500):
        changes: list[Change] = []
        for _ in range(chance.randrange(6)):
            row = (chance.randrange(3), chance.randrange(4))
            weight = chance.choice([1, 1, 2, -1]) if expected[row] else chance.choice([1, 3])
            expected[row] += weight
            changes.append((*row, weight))
        add(answer, changes)
        assert +held(answer) == +expected


@pytest.mark.parametrize("weight", [-1, 1])
def test_a_row_that_is_there_is_not_put_in_the_place_of_one_of_its_key_that_leaves(weight: int) -> None:
    """It was there twice then, once with each count: NULL and 0 are keys of one tag."""
    answer = bag(1)
    add(answer, [(1, 1, 1), (1, 2, 1)])
    add(answer, [(1, 1, -1), (1, 2, weight)])
    assert held(answer) == Counter({(1, 2): 1 + weight} if weight > 0 else {})
    assert len(answer) == (weight > 0)
