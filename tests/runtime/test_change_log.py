"""The changes that are kept: the newest, whole instants, within their bound; and what subscribers have not read."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from sash.errors import SashError
from sash.runtime.batch_log import BatchLog
from sash.runtime.change_log import ChangeLog
from sash.runtime.history_limit import ALL, NONE, History
from sash.schema import BEGINNING

SCHEMA = pa.schema([("_op", pa.int8()), ("_ts", pa.timestamp("us")), ("n", pa.int64()), ("s", pa.string())])


def changes(*rows: tuple[int, int], text: str = "x") -> pa.RecordBatch:
    """Rows of an instant and a number."""
    ts, n = [row[0] for row in rows], [row[1] for row in rows]
    columns = [pa.array([1] * len(rows), pa.int8()), pa.array(ts, pa.timestamp("us")), pa.array(n), pa.array([text] * len(rows))]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [n for batch in batches for n in batch.column("n").to_pylist()]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("history", [ALL, History(bytes=20_000), History(bytes=100), History(microseconds=7), NONE])
def test_what_is_kept_are_the_newest_whole_instants_within_the_bound(seed: int, history: History) -> None:
    chance, log, came, instant = random.Random(seed), ChangeLog(history), list[tuple[int, int]](), 0
    for _ in range(120):
        rows = []
        for _ in range(chance.choice([1, 1, 1, 2, 40])):
            instant += chance.choice([0, 0, 1, 2])  # an instant may be in several batches
            rows.append((instant, len(came) + len(rows)))
        came += rows
        log.append(changes(*rows))
        kept, since = log.kept()
        assert numbers(kept) == [n for ts, n in came if ts >= since]
        assert since <= instant + 1
        assert log.count == len(came)
        if history.bytes:
            assert log.bytes <= history.bytes
        if history.microseconds is not None:
            assert since == instant - history.microseconds + 1
        elif history.is_all:
            assert since == BEGINNING
    assert len(numbers(log.kept()[0])) == {"all": len(came), "none": 0}.get(str(history), len(numbers(log.kept()[0])))
    if history == History(bytes=20_000):
        assert 0 < len(numbers(log.kept()[0])) < len(came)


def test_a_batch_larger_than_the_bound_leaves_its_last_instants_and_gives_back_the_others() -> None:
    log, before = ChangeLog(History(bytes=100_000)), pa.total_allocated_bytes()
    log.append(changes(*((n // 3, n) for n in range(30_000)), text="x" * 50))
    kept, since = log.kept()
    assert 0 < log.bytes <= 100_000
    assert since * 3 == numbers(kept)[0] and numbers(kept)[-1] == 29_999
    assert pa.total_allocated_bytes() - before < 400_000


def test_small_batches_are_merged() -> None:
    log, before = BatchLog(None), pa.total_allocated_bytes()
    for n in range(5000):
        log.append(changes((n, n)))
    assert numbers(log.batches()) == list(range(5000))
    assert len(log.batches()) < 60
    assert log.bytes < 500_000 and pa.total_allocated_bytes() - before < 500_000


def test_a_subscriber_reads_every_change_once_from_where_it_began() -> None:
    log = ChangeLog(NONE)
    log.append(changes((1, 0)))
    early = log.reader()
    read: list[int] = []
    for n in range(1, 200):
        log.append(changes((n, n)))
        if n % 7 == 0:
            read += numbers(log.read(early))
    read += numbers(log.read(early))
    assert read == list(range(1, 200)) and log.read(early) == []
    log.append(changes((200, 200)))
    assert numbers(log.read(early)) == [200]
    del early
    log.append(changes((201, 201)))
    assert log.kept() == ([], 202)


def test_a_subscriber_that_sleeps_holds_back_nobody_and_is_told() -> None:
    log = ChangeLog(History(bytes=1 << 20))
    sleeper, rows = log.reader(), 0
    text = "x" * 1000
    while not log.first > 0:
        log.append(changes(*((rows + n, rows + n) for n in range(4000)), text=text))
        rows += 4000
        assert log.bytes < 80 << 20
        assert rows < 400_000, "it is never told"
    with pytest.raises(SashError, match=rf"{log.first:,} changes were dropped before this subscriber read them; read the view"):
        log.read(sleeper)
    log.append(changes((rows, rows)))
    assert numbers(log.read(sleeper)) == [rows]
    assert log.bytes <= 1 << 20
    assert np.all(np.diff(numbers(log.kept()[0])) == 1)
