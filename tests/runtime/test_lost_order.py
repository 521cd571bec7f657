"""Lost rows of a DataFrame leave in one order, however Spark cut its batch into tasks and whichever task came first."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from sash.runtime.lost_order import by_full_row
from sash.runtime.packets import OUTSIDE, Cargo, Packet
from sash.runtime.packing import DEAD_SCHEMA

SCHEMA = pa.schema([
    ("ts", pa.timestamp("us")), ("name", pa.string()), ("x", pa.float64()), ("list", pa.list_(pa.int64())),
    ("price", pa.decimal128(10, 2)), ("yes", pa.bool_()),
])  # fmt: skip


def rows(chance: random.Random, count: int) -> list[dict[str, object]]:
    choices = {
        "ts": (None, 3, 2), "name": (None, "", "b", "a"), "x": (None, 0.0, -0.0, 1.5, float("nan"), float("-inf")),
        "list": (None, [], [1, None], [2]), "price": (None, Decimal("1.50"), Decimal("-2.00")), "yes": (None, True, False),
    }  # fmt: skip
    return [{name: chance.choice(values) for name, values in choices.items()} for _ in range(count)]


def packet(batch: list[dict[str, object]], task: int, name: str = "e", cargo: Cargo = Cargo.LATE) -> Packet:
    return Packet(OUTSIDE, 0, cargo, name, -1, task, pa.RecordBatch.from_pylist(batch, schema=SCHEMA))


@pytest.mark.parametrize("seed", range(8))
def test_how_rows_were_cut_does_not_show(seed: int) -> None:
    chance = random.Random(seed)
    lost = rows(chance, 40)
    (expected,) = by_full_row([packet(lost, 0)], {"e"})
    assert sorted(map(repr, expected.batch().to_pylist())) == sorted(map(repr, packet(lost, 0).batch().to_pylist()))
    for tasks in (1, 2, 5, 40):
        mixed = chance.sample(lost, len(lost))
        (found,) = by_full_row([packet(mixed[task::tasks], task) for task in range(tasks)], {"e"})
        assert list(map(repr, found.batch().to_pylist())) == list(map(repr, expected.batch().to_pylist()))


def test_others_stay_as_they_came() -> None:
    """Rows of files, rows of another kind, and what is no lost row."""
    row = dict.fromkeys(SCHEMA.names)
    first, second = packet([row | {"name": "b"}], 0), packet([row | {"name": "a"}], 1)
    told = Packet(OUTSIDE, 0, Cargo.FACTS, "e", -1, 0, {})
    assert list(by_full_row([first, told, second], ())) == [first, told, second]
    dead = packet([row | {"name": "c"}], 0, cargo=Cargo.DEAD)
    found = list(by_full_row([first, dead, told, second], {"e"}))
    assert [one.cargo for one in found] == [Cargo.FACTS, Cargo.LATE, Cargo.DEAD]
    assert [one["name"] for one in found[1].batch().to_pylist()] == ["a", "b"]
    assert list(by_full_row([], {"e"})) == []


def test_letters_are_in_the_order_of_their_places() -> None:
    places = [("t 0", 11), ("t 0", 2), (None, None), ("t 1", 1)]
    letters = [{"reason": f"{row}", "line": "x", "file": file, "row": row} for file, row in places]
    packets = [Packet(OUTSIDE, 0, Cargo.DEAD, "e", -1, task, pa.RecordBatch.from_pylist([one], schema=DEAD_SCHEMA)) for task, one in enumerate(letters)]
    (found,) = by_full_row(packets, {"e"})
    assert [(one["file"], one["row"]) for one in found.batch().to_pylist()] == [("t 0", 2), ("t 0", 11), ("t 1", 1), (None, None)]
