"""What is kept of the rows of a stream that were late or unreadable."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.runtime.history_limit import History
from sash.runtime.lost_rows import LostRows
from sash.schema import BEGINNING, SECOND

JOB = """
CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k;
"""
UNREADABLE = [{"ts": "nonsense", "k": "x"}]


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"v": pa.array(values, pa.int64())})


def kept(log: LostRows) -> list[int]:
    return [value for one in log.batches() for value in one.column(0).to_pylist()]


@pytest.mark.parametrize("length", [10, 60])
@pytest.mark.parametrize("every", [1, 3])
def test_lost_rows_leave_by_the_time_of_their_stream(length: int, every: int) -> None:
    """All that came within the history are there, and not many more, however many there ever were."""
    log, most = LostRows(History(microseconds=length * SECOND)), 0
    for at in range(0, 1200, every):
        log.add(batch(at), at * SECOND)
        most = max(most, len(kept(log)))
        assert kept(log)[-1] == at
    assert {at for at in range(0, 1200, every) if at >= 1200 - length} <= set(kept(log))
    assert most <= 2 * length // every + 300 and log.count == len(range(0, 1200, every))


def test_rows_lost_before_the_stream_had_a_time_stay_for_one_history() -> None:
    log = LostRows(History(microseconds=10 * SECOND))
    for at in range(5):
        log.add(batch(at), BEGINNING)
    log.add(batch(5), 1000 * SECOND)
    assert kept(log) == [0, 1, 2, 3, 4, 5]
    log.add(batch(6), 1011 * SECOND)
    assert kept(log) == [5, 6]


def test_rows_lost_long_ago_stay_while_no_others_are() -> None:
    log = LostRows(History(microseconds=SECOND))
    log.add(batch(1, 2), 5 * SECOND)
    assert kept(log) == [1, 2]


def test_a_history_of_bytes_bounds_lost_rows_by_bytes_alone() -> None:
    log = LostRows(History(bytes=20_000))
    for at in range(4000):
        log.add(batch(at), at * SECOND)
    assert log.bytes <= 20_000 and kept(log) == list(range(4000 - len(kept(log)), 4000)) and kept(log)


def test_unreadable_rows_of_hours_are_counted_and_not_kept() -> None:
    db = EmbeddedDatabase(history="10 SECONDS")
    db.execute(JOB)
    for at in range(200):
        db.push("s", [(at, "a")] if at % 2 else UNREADABLE)
    assert db.metrics()["streams"]["s"]["dead"] == 100
    assert 5 <= len(db.dead("s")) < 40


def test_batches_without_a_readable_row_do_not_wait_for_ever() -> None:
    """They waited, each a few kilobytes, to be looked at with a thousand rows that never came."""
    db = EmbeddedDatabase()
    db.execute(JOB)
    for _ in range(50):
        db.push("s", UNREADABLE)
    assert db._running()._observers["s"]._waiting == []
