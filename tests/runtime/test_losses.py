"""The first late and the first unreadable rows of a stream are told of, with an example and the way out."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import sash
from sash import LateRowsWarning, UnreadableRowsWarning

JOB = """
CREATE STREAM e (at TIMESTAMP, k BIGINT) TIMESTAMP BY at DELAY 2 SECONDS;
CREATE STREAM f (at TIMESTAMP, k BIGINT) TIMESTAMP BY at;
CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS n FROM e [RANGE 5 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW w AS SELECT k FROM f [RANGE 5 SECONDS];
"""


def test_once_for_every_stream() -> None:
    db = sash.connect()
    db.execute(JOB)
    with pytest.warns(LateRowsWarning) as told:
        db.push("e", [(10, 1), (7.5, 1), (3, 1), (9, 1)])
    assert len(told) == 1 and told[0].filename == __file__
    assert str(told[0].message) == (
        '2 rows of stream "e" came too late and are in no answer, so far: one with at 1970-01-01 00:00:07.500000 came when its clock'
        " was at 1970-01-01 00:00:08; declare the stream with a longer DELAY."
        ' late("e") has them all, and there will be no other warning'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("e", [(1, 1)])
    assert db.late("e").num_rows == 3
    with pytest.warns(LateRowsWarning, match='1 row of stream "f" came too late and is in no answer'):
        db.push("f", [(10, 1), (9, 1)])
    assert db.metrics()["streams"] == {"e": {"late": 3, "dead": 0}, "f": {"late": 1, "dead": 0}}


def test_late_against_what_was_pushed_before() -> None:
    db = sash.connect()
    db.execute(JOB)
    db.push("e", [(10, 1)])
    with pytest.warns(LateRowsWarning, match="one with at 1970-01-01 00:00:07 came when its clock was at 1970-01-01 00:00:08"):
        db.push("e", [(7, 1)])


def test_rows_that_are_in_time_are_not_told_of() -> None:
    db = sash.connect()
    db.execute(JOB)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("e", [(10, 1), (8, 1)])


@pytest.mark.parametrize("rows", [[(1, "x"), (2, "y")], [("never", 1)], pa.table({"at": ["never"] * 5_000, "k": ["1"] * 5_000})])
def test_rows_that_cannot_be_read_are_told_of_once(rows: object) -> None:
    db = sash.connect()
    db.execute(JOB)
    with pytest.warns(UnreadableRowsWarning, match=r'rows? of stream "e" could not be read and (is|are) in no answer, so far: column ".*dead\("e"\)') as told:
        db.push("e", rows)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("e", rows)
    assert db.dead("e").num_rows == db.metrics()["streams"]["e"]["dead"] > 0
    with pytest.warns(UnreadableRowsWarning, match='1 row of stream "f" could not be read and is in no answer'):
        db.push("f", [(10, 1), (9, "x"), (11, 1)])
