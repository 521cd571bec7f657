"""Every row of a split ends in exactly one of: dead, late, or a packet of every port."""

from __future__ import annotations

import counting
import numpy as np
import pyarrow as pa
import pytest

from sash.plan.streams import Stamp, StreamSpec
from sash.runtime import packing
from sash.runtime.packets import AsBytes, Cargo, Packet
from sash.runtime.packing import NO_DEAD, late_places, pack_split
from sash.schema import BEGINNING, END

JOB = counting.job(counting.stream(None), shards=3, levels=2)
STREAM = JOB.streams[0]


def events(ts: list[int | None], keys: list[int] | None = None) -> pa.RecordBatch:
    stamps = pa.array(ts, pa.int64()).cast(pa.timestamp("us"))
    numbers = pa.array(keys if keys is not None else list(range(len(ts))), pa.int64())
    return pa.RecordBatch.from_arrays([stamps, numbers, numbers], schema=counting.EVENTS.arrow)


def packed(
    rows: pa.RecordBatch, stream: StreamSpec = STREAM, arrival: int | None = None, order: int = 0
) -> list[Packet]:
    return list(pack_split(JOB, stream, order, rows, NO_DEAD, arrival))


def column(packets: list[Packet], cargo: Cargo, name: str) -> list[object]:
    return [value for packet in packets if packet.cargo is cargo for value in packet.batch().column(name).to_pylist()]


@pytest.mark.parametrize(
    ("ts", "delay", "late"),
    [
        ([], 0, []),
        ([5], 0, [0]),
        ([5, 5, 4, 6, 5], 0, [0, 0, 1, 0, 1]),
        ([5, 3, 4, 1, 10, 8, 7], 2, [0, 0, 0, 1, 0, 0, 1]),
        ([BEGINNING, END - 1, BEGINNING], 0, [0, 0, 1]),
    ],
)
def test_a_row_is_late_below_the_greatest_before_it_less_the_delay(ts: list[int], delay: int, late: list[int]) -> None:
    assert late_places(np.array(ts, np.int64), delay).astype(int).tolist() == late


def test_every_row_goes_to_one_shard_in_source_order() -> None:
    packets = packed(events(list(range(100)), [n % 7 for n in range(100)]))
    shards_of_key: dict[int, set[int]] = {}
    for packet in (packet for packet in packets if packet.cargo is Cargo.ROWS):
        batch = packet.batch()
        assert batch.schema == counting.EVENTS.arrow
        stamps = batch.column("ts").cast(pa.int64()).to_pylist()
        assert stamps == sorted(stamps)
        for key in batch.column("key").to_pylist():
            shards_of_key.setdefault(key, set()).add(packet.shard)
    assert all(len(shards) == 1 for shards in shards_of_key.values())
    assert len(column(packets, Cargo.ROWS, "ts")) == 100


def test_facts_go_to_every_shard_of_every_level() -> None:
    packets = packed(events([7, 3, 9]), counting.stream(None, delay=10))
    facts = [packet for packet in packets if packet.cargo is Cargo.SPLIT]
    assert sorted((p.level, p.shard) for p in facts) == [(level, shard) for level in (1, 2) for shard in range(3)]
    assert {packet.body for packet in facts} == {b'{"rows": 3, "greatest": 9, "first": 3}'}


def test_an_empty_split_still_says_so() -> None:
    packets = packed(events([]))
    assert {packet.cargo for packet in packets} == {Cargo.SPLIT}
    assert packets[0].facts() == {"rows": 0, "greatest": None, "first": None}


def test_late_and_dead_rows_are_apart() -> None:
    packets = packed(events([5, None, 3, END, 9], [0, 1, 2, 3, 4]))
    assert column(packets, Cargo.LATE, "key") == [2]
    assert sorted(column(packets, Cargo.ROWS, "key")) == [0, 4]
    reasons = column(packets, Cargo.DEAD, "reason")
    assert reasons == ['column "ts": the timestamp is NULL', 'column "ts": the timestamp is not in the years 1 to 9999']
    assert str(END) in column(packets, Cargo.DEAD, "line")[1]
    assert packets[-1].order == 0
    assert next(packet for packet in packets if packet.cargo is Cargo.SPLIT).facts() == {
        "rows": 2, "greatest": 9, "first": 5,
    }  # fmt: skip


def test_arrivals_are_stamped_in_order() -> None:
    stream = StreamSpec("events", counting.EVENTS, Stamp.INTERNAL)
    packets = packed(events([5, None, 3]), stream, arrival=1000)
    assert sorted(column(packets, Cargo.ROWS, "_ts")) == [np.datetime64(1000 + n, "us").item() for n in range(3)]
    assert packets[0].facts() == {"rows": 3, "greatest": 1002, "first": 1000}


def test_latent_rows_and_tables_carry_no_time() -> None:
    latent = StreamSpec("events", counting.EVENTS, Stamp.LATENT)
    for stream in (latent, StreamSpec("events", counting.EVENTS, is_table=True)):
        packets = packed(events([None, 3]), stream)
        assert packets[0].facts() == {"rows": 2, "greatest": None, "first": None}
        assert len(column(packets, Cargo.ROWS, "key")) == 2


def test_a_large_split_goes_in_chunks_that_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AsBytes, "most_bytes", 100)
    packets = packed(events(list(range(50)), [0] * 50), order=3)
    orders = [packet.order for packet in packets if packet.cargo is Cargo.ROWS]
    assert len(orders) > 1
    assert orders == sorted(set(orders))
    assert orders[0] == 3 * packing.CHUNKS
    stamps = [value.microsecond for value in column(packets, Cargo.ROWS, "ts")]  # type: ignore[attr-defined]
    assert stamps == list(range(50))
