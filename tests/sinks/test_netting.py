"""Net rows by key are what a dictionary says; a key that is none is told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import bag, plain

from sash.errors import without_passwords
from sash.sinks.netting import NetRows, net_rows
from sash.sinks.sink import SinkRefused

KEYS = st.sampled_from([None, 0.0, 1.5, float("nan")])
ROWS = st.tuples(KEYS, st.sampled_from([None, "a", ""]), st.sampled_from([None, 1, 2]))
TYPES = (pa.float64(), pa.string(), pa.int64())


def net(changes: list[tuple[int, tuple[Any, ...]]], key: tuple[int, ...]) -> NetRows:
    columns = pa.table([pa.array([row[place] for _, row in changes], kind) for place, kind in enumerate(TYPES)], names=["k", "s", "n"])
    return net_rows(pa.chunked_array([pa.array([op for op, _ in changes], pa.int8())]), columns, key)


def netted(changes: list[tuple[int, tuple[Any, ...]]], key: tuple[int, ...]) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    found = net(changes, key)
    return bag(found.inserted), bag(found.updated), bag(found.deleted)


def became(changes: list[tuple[int, tuple[Any, ...]]], key: tuple[int, ...]) -> dict[Any, Any]:
    """What updated rows were before."""
    found = net(changes, key)
    after, before = ([plain(tuple(row.values())) for row in rows.to_pylist()] for rows in (found.updated, found.replaced))
    return dict(zip(after, before, strict=True))


@given(st.dictionaries(st.tuples(KEYS, st.sampled_from([None, "a", ""])), st.sampled_from([None, 1, 2])), st.lists(ROWS), st.randoms())
def test_net_rows_are_those_of_a_dictionary(before: dict[Any, Any], then: list[tuple[Any, ...]], chance: Any) -> None:
    """Rows come and go in any order, by a key of two columns; at the end there is one row for every key that is left."""
    after = dict(before)
    for k, s, n in then:
        if chance.random() < 0.3:
            after.pop((k, s), None)
        else:
            after[k, s] = n
    changes = [(-1, (*key, n)) for key, n in before.items()] + [(1, (*key, n)) for key, n in after.items()]
    changes += [(op, row) for row in then for op in (1, -1)]  # which cancel
    chance.shuffle(changes)
    old, new = ({plain(key): n for key, n in held.items()} for held in (before, after))
    inserted = Counter((*key, n) for key, n in new.items() if key not in old)
    updated = Counter((*key, n) for key, n in new.items() if key in old and old[key] != n)
    deleted = Counter((*key, n) for key, n in old.items() if key not in new)
    assert netted(changes, (0, 1)) == (inserted, updated, deleted)
    assert {(*key, n): (*key, old[key]) for key, n in new.items() if key in old and old[key] != n} == became(changes, (0, 1))


@pytest.mark.parametrize(
    ("changes", "key", "told"),
    [
        ([(1, (1.5, "a", 1)), (1, (1.5, "a", 2))], (0, 1), "k, s is no key: there are two rows with k = 1.5 and s = 'a'"),
        ([(1, (None, "a", 1)), (1, (None, "b", 1))], (0,), "k is no key: there are two rows with k = None"),
        ([(1, (0.0, "a", 1)), (1, (-0.0, "b", 1))], (0,), "k is no key: there are two rows with k = "),
        ([(1, (1.5, "a", 1)), (1, (1.5, "a", 1))], (0, 1, 2), "k, s, n is no key: there are two rows with"),
        ([(1, (1.5, "a", 1)), (1, (1.5, "b", 1))], (), "there is more than one row"),
        ([(1, (1.5, "a", 1)), (1, (1.5, "b", 1)), (-1, (1.5, "c", 1))], (0,), "k is no key"),
    ],
)
def test_a_key_that_is_none(changes: list[tuple[int, tuple[Any, ...]]], key: tuple[int, ...], told: str) -> None:
    with pytest.raises(SinkRefused, match=told):
        netted(changes, key)


def test_one_row_without_a_key() -> None:
    assert netted([(1, (1.5, "a", 1))], ())[0] == {(1.5, "a", 1): 1}
    assert netted([(1, (1.5, "a", 2)), (-1, (1.5, "a", 1))], ()) == (Counter(), {(1.5, "a", 2): 1}, Counter())
    assert netted([(1, (1.5, "a", 1)), (-1, (1.5, "a", 1))], ()) == (Counter(), Counter(), Counter())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'postgresql://u:p:w@h/d'", "'postgresql://u:***@h/d'"),
        ("host=h PASSWORD=abc x", "host=h PASSWORD=*** x"),
        ("postgresql://u@h:5432/d?password=abc&x=1", "postgresql://u@h:5432/d?password=***&x=1"),
        ("SELECT a FROM b WHERE c = '12:00:00@x'", "SELECT a FROM b WHERE c = '12:00:00@x'"),
    ],
)
def test_passwords_are_not_shown(text: str, shown: str) -> None:
    assert without_passwords(text) == shown
