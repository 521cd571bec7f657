"""Partitions have names that sort as their values do, and clocks that outlive the process."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.kernels.positions import mark_late
from sash.runtime.lateness import judge, pieces
from sash.runtime.partition_clocks import PartitionClocks
from sash.runtime.partitions import PARTITION, POSITION, facts_of, in_place, label, named
from sash.schema import BEGINNING
from sash.stores.arena import Arena

NUMBERS = [3, 10, -(2**63), 2**63 - 1, 0, -1, 10]
TEXTS = ["b", "", "a", "a\0", "a\0b", "a\1", "ab", "ä", "a/b"]


@pytest.mark.parametrize("values", [NUMBERS, TEXTS])
def test_names_sort_as_values_do(values: list[int | str]) -> None:
    encoded = named([pa.array(values)])
    names = encoded.to_pylist()
    assert sorted(set(names)) == encoded.dictionary.to_pylist()
    assert sorted(set(names)) == [names[values.index(value)] for value in sorted(set(values))]  # type: ignore[type-var]
    assert [label(name) for name in names] == [str(value) for value in values]


def test_two_columns_are_one_name() -> None:
    topics, numbers = ["b", "a", "a", "a", "a\0", None, "b"], [2, 10, 9, 10, 1, 1, None]
    encoded = named([pa.array(topics), pa.array(numbers, pa.int32())])
    assert [None if name is None else label(name) for name in encoded.to_pylist()] == [
        "b/2", "a/10", "a/9", "a/10", "a\0/1", None, None,
    ]  # fmt: skip
    assert [label(name) for name in encoded.dictionary.to_pylist()] == ["a/9", "a/10", "a\0/1", "b/2"]


def test_names_of_two_columns_are_never_mixed_up() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choice("ab\0\1\2'#") for _ in range(chance.randrange(4))) for _ in range(300)]
    pairs = list(dict.fromkeys(zip(words, reversed(words), strict=True)))
    encoded = named([pa.array([one for one, _ in pairs]), pa.array([other for _, other in pairs])])
    assert len(encoded.dictionary) == len(pairs)
    assert [pairs[place] for place in np.argsort(encoded.indices)] == sorted(pairs)


def test_no_row_has_no_partition() -> None:
    assert len(named([pa.array([], pa.string()), pa.array([], pa.int32())])) == 0


def rows_of(partitions: list[int], positions: list[int]) -> pa.RecordBatch:
    columns = [named([pa.array(partitions)]), pa.array(positions, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=[PARTITION, POSITION])


def test_facts_of_pieces() -> None:
    rows = rows_of([10, 9, 10, 9], [5, 8, 4, 7])
    order = in_place(rows)
    assert order is not None
    assert order.tolist() == [3, 1, 2, 0]
    ts = np.array([1, 2, 3, 4])[order]
    found = facts_of(rows.take(pa.array(order)), ts)
    assert {label(name): four for name, four in found.items()} == {"9": [7, 8, 2, 4], "10": [4, 5, 1, 3]}
    assert in_place(rows.take(pa.array(order))) is None


def test_rows_at_one_position_do_not_judge_each_other() -> None:
    late = np.empty(6, np.bool_)
    partitions, positions = np.array([0, 0, 0, 0, 1, 1], np.int32), np.array([1, 2, 2, 3, 1, 2])
    assert mark_late(partitions, positions, np.array([5, 9, 4, 8, 1, 0]), 0, late) == 3
    assert late.tolist() == [False, False, True, True, False, True]


def test_pieces_that_overlap_are_refused() -> None:
    clocks = PartitionClocks(Arena.anonymous().scope("s"))
    name = named([pa.array([3])]).dictionary[0].as_py()
    clocks.know([name], BEGINNING)
    found = pieces([(0, {"partitions": {name: [1, 5, 0, 9]}}), (1024, {"partitions": {name: [4, 8, 0, 9]}})])
    with pytest.raises(SashError, match='partition 3 of stream "e" was read in pieces that overlap: from position 1 to 5'):
        judge("e", found, clocks, 0)


def test_thousands_of_partitions_are_found_again() -> None:
    arena = Arena.anonymous()
    clocks = PartitionClocks(arena.scope("s"))
    names = [f"partition {number} with a long name" for number in range(5000)]
    clocks.know(names, 7)
    for number, name in enumerate(names):
        clocks.observe(name, number)
    clocks.advance(names[:10], 100)
    again = PartitionClocks(arena.scope("s"))
    assert len(again) == 5000
    assert again.clocks(3) == {name: 100 if n < 10 else max(7, n - 3) for n, name in enumerate(names)}
    assert again.least(3) == 7
    learned = PartitionClocks(arena.scope("other"))
    learned.merge(again.snapshot())
    assert learned.clocks(3) == again.clocks(3)


def test_without_a_partition_nothing_is_known() -> None:
    assert PartitionClocks(Arena.anonymous().scope("s")).least(5) == BEGINNING
