"""The live answer is the sum of the net changes, as a bag."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.runtime.live import LiveView
from sash.schema import BIGINT, DOUBLE, STRING, schema

SCHEMA = schema(("name", STRING), ("n", BIGINT))


def net(*rows: tuple[str | None, int | None, int]) -> pa.Table:
    names, numbers, weights = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [pa.array(names, pa.string()), pa.array(numbers, pa.int64()), pa.array(weights, pa.int64())]
    return pa.Table.from_arrays(columns, names=["name", "n", "_weight"])


def shown(answer: LiveView) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in answer.rows().to_pylist()]


def test_nothing_yet() -> None:
    assert shown(LiveView(SCHEMA)) == []
    assert LiveView(SCHEMA).rows().schema == SCHEMA.arrow


def test_rows_come_go_and_repeat() -> None:
    answer = LiveView(SCHEMA)
    answer.add(net(("ann", 1, 2), ("bob", None, 1), (None, 3, 1)))
    assert shown(answer) == [("ann", 1), ("ann", 1), ("bob", None), (None, 3)]
    answer.add(net(("ann", 1, -1), (None, 3, -1)))
    answer.add(net(("ann", 2, 1)))
    assert shown(answer) == [("ann", 1), ("ann", 2), ("bob", None)]
    answer.add(net(("ann", 1, -1), ("ann", 2, -1), ("bob", None, -1)))
    assert shown(answer) == []


def test_a_changelog_adds_up_to_the_same() -> None:
    log = pa.table({
        "_op": pa.array([1, 1, -1], pa.int8()), "_ts": pa.array([1, 2, 3], pa.timestamp("us")), "name": ["a", "b", "a"],
        "n": [1, 1, 1],
    })  # fmt: skip
    answer = LiveView(SCHEMA)
    answer.add_changelog(log)
    assert shown(answer) == [("b", 1)]


def test_columns_may_share_a_name() -> None:
    answer = LiveView(schema(("x", BIGINT), ("x", BIGINT)))
    columns = [pa.array([1, 1]), pa.array([2, 3]), pa.array([1, 1])]
    answer.add(pa.Table.from_arrays(columns, names=["x", "x", "_weight"]))
    assert answer.rows().num_rows == 2


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan"), None])
def test_a_number_that_came_can_go(value: float | None) -> None:
    answer = LiveView(schema(("x", DOUBLE)))
    for weight in (1, -1):
        answer.add(pa.table({"x": pa.array([value], pa.float64()), "_weight": [weight]}))
    assert answer.rows().num_rows == 0
