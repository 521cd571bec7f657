"""All structures of seed 002, and Sash's own, agree with each other and with lists that are counted anew."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.window_indexes.kernels import rings
from experiments.window_indexes.stores import (
    AGGR,
    H_INDEX,
    HASH,
    L_INDEX,
    LIST,
    T_INDEX,
    CountedStore,
    GroupStore,
    IndexShape,
    RingStore,
    Room,
    WindowShape,
    WindowStore,
)
from sash.errors import SashError

TOP = 12  # values are below it
FORMS = {"RING": rings.RING, "AUX": rings.AUX, "BW": rings.BW, "DB": rings.DB, "ROWS": rings.ROWS}
INDEXES = [
    replace(shape, purge_every=5, has_zero_list=has_zero_list, parts=parts)
    for shape in (L_INDEX, T_INDEX, replace(H_INDEX, buckets=3)) for has_zero_list in (False, True) for parts in (1, 2, 3)
]  # fmt: skip


@dataclass
class Model:
    """Basic windows as lists."""

    length: int
    closed: deque[list[tuple[int, int]]] = field(default_factory=deque)
    opened: list[tuple[int, int]] = field(default_factory=list)

    def insert(self, values: list[int], payloads: list[int]) -> None:
        self.opened += zip(values, payloads, strict=True)

    def close(self) -> None:
        self.closed.append(self.opened)
        self.opened = []
        if len(self.closed) > self.length:
            self.closed.popleft()

    @property
    def tuples(self) -> list[tuple[int, int]]:
        return [one for window in self.closed for one in window]

    @property
    def histogram(self) -> dict[int, int]:
        return dict(sorted(Counter(value for value, _ in self.tuples).items()))


inputs = st.tuples(
    st.integers(1, 5),
    st.lists(st.lists(st.integers(0, TOP - 1), max_size=9), max_size=14),
)


def played(store: WindowStore, model: Model, windows: list[list[int]], side: int = 0) -> None:
    """What is open does not show; then it does."""
    number = 0
    for values in windows:
        payloads = list(range(number, number + len(values)))
        number += len(values)
        half = len(values) // 2
        for part in (slice(None, half), slice(half, None)):
            store.insert(np.array(values[part], np.int64), np.array(payloads[part], np.int64), side)
            model.insert(values[part], payloads[part])
            check(store, model, side)
        store.close(side)
        model.close()
        check(store, model, side)


def check(store: WindowStore, model: Model, side: int = 0) -> None:
    wanted = model.histogram
    if isinstance(store, GroupStore):
        grouped = Counter(np.searchsorted(store.bounds, value, side="right").item() for value, _ in model.tuples)
        wanted = dict(sorted(grouped.items()))
    found = store.histogram(side)
    assert found == wanted and list(found) == list(wanted)
    if isinstance(store, RingStore):
        tuples = store.sorted_tuples()
        assert [value for value, _ in tuples] == sorted(value for value, _ in model.tuples) and sorted(tuples) == sorted(model.tuples)
        of_one = [payload for value, payload in model.tuples if value == 7]
        newest_first = store.form in (rings.BW, rings.DB, rings.ROWS)
        assert store.tuples_of(7) == (of_one[::-1] if newest_first else of_one)


def room(length: int, sides: int = 1) -> Room:
    return Room(length, 9 * (length + 1), TOP, sides)


def emptied(store: WindowStore, length: int, sides: int = 1) -> None:
    """When all has left, and is purged, nothing is held."""
    for side in range(sides):
        for _ in range(length + 1):
            store.close(side)
    store.purge()
    assert store.live() == (0, 0)


@pytest.mark.parametrize("window", [LIST, AGGR, replace(HASH, buckets=2)], ids=lambda shape: shape.name)
@pytest.mark.parametrize("index", [None, *INDEXES], ids=lambda shape: f"{shape.name}{shape.parts}{shape.has_zero_list:d}" if shape else "none")
@settings(max_examples=30)
@given(inputs)
def test_counts_are_those_of_the_lists(window: WindowShape, index: IndexShape | None, made: tuple[int, list[list[int]]]) -> None:
    length, windows = made
    store = CountedStore(window, index, room(length))
    played(store, Model(length), windows)
    emptied(store, length)


@pytest.mark.parametrize("groups", [1, 3, 12])
@settings(max_examples=30)
@given(inputs)
def test_groups_are_counted(groups: int, made: tuple[int, list[list[int]]]) -> None:
    length, windows = made
    store = GroupStore(groups, TOP, room(length))
    played(store, Model(length), windows)
    emptied(store, length)


@pytest.mark.parametrize("index", [replace(L_INDEX, purge_every=5), replace(T_INDEX, purge_every=5)], ids=lambda shape: shape.name)
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(inputs)
def test_rings_have_the_tuples_of_the_lists(form: str, index: IndexShape, made: tuple[int, list[list[int]]]) -> None:
    length, windows = made
    store = RingStore(FORMS[form], index, room(length))
    played(store, Model(length), windows)
    emptied(store, length)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=30)
@given(inputs)
def test_a_purge_at_any_moment_loses_nothing(form: str, made: tuple[int, list[list[int]]]) -> None:
    """Also while the open basic window has tuples of values that the window has none of."""
    length, windows = made
    store, model, number = RingStore(FORMS[form], T_INDEX, room(length)), Model(length), 0
    for values in windows:
        for value in values:
            store.insert(np.array([value], np.int64), np.array([number], np.int64))
            model.insert([value], [number])
            store.purge()
            number += 1
        store.close()
        model.close()
        store.purge()
        check(store, model)


@pytest.mark.parametrize("index", INDEXES, ids=lambda shape: f"{shape.name}{shape.parts}{shape.has_zero_list:d}")
@settings(max_examples=30)
@given(inputs, inputs)
def test_two_windows_of_one_index_intersect(index: IndexShape, first: tuple[int, list[list[int]]], second: tuple[int, list[list[int]]]) -> None:
    """A split index has the parts of either window; values are found where one part has both."""
    length = first[0]
    store, models = CountedStore(LIST, replace(index, parts=1), room(length, 2)), (Model(length), Model(length))
    groups = GroupStore(3, TOP, room(length, 2))
    for side, windows in ((0, first[1]), (1, second[1])):
        played(store, models[side], windows, side)
        for values in windows:
            groups.insert(np.array(values, np.int64), np.array(values, np.int64), side)
            groups.close(side)
    check(store, models[0], 0)
    check(store, models[1], 1)
    assert store.intersection() == models[0].histogram.keys() & models[1].histogram.keys()
    both = [{np.searchsorted(groups.bounds, value, side="right").item() for value in model.histogram} for model in models]
    assert groups.intersection() == both[0] & both[1]
    emptied(store, length, 2)


def test_one_call_is_many_small_ones() -> None:
    """What is measured advances by whole basic windows in one call."""
    values = np.random.default_rng(1).integers(0, TOP, (1, 60))
    for form in FORMS.values():
        store, model = RingStore(form, L_INDEX, room(4)), Model(4)
        store.advance(values[0], np.arange(60), 6, True)
        for start in range(0, 60, 6):
            model.insert(values[0, start : start + 6].tolist(), list(range(start, start + 6)))
            model.close()
        check(store, model)
        assert (store.times[:10] > 0).all()
    for window in (LIST, AGGR, HASH):
        counted = CountedStore(window, T_INDEX, room(4))
        counted.advance(values, 6, 0)
        check(counted, model)


def test_rings_over_buckets_are_refused() -> None:
    with pytest.raises(SashError, match="in the order of values"):
        RingStore(rings.DB, H_INDEX, room(3))
