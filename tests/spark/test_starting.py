"""A query is started again where Spark did not wait long enough for its Python process."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.spark.failures import TOO_LATE
from sash.spark.starting import ATTEMPTS, given, started


class Query:
    def __init__(self, failure: str | None) -> None:
        self._failure, self._looks = failure, 0

    @property
    def status(self) -> dict[str, str]:
        self._looks += 1
        return {"message": "Initializing sources" if self._looks < 3 else "Waiting for data to arrive"}

    @property
    def isActive(self) -> bool:
        return self._failure is None or self._looks < 2

    def exception(self) -> StreamingQueryException | None:
        return None if self.isActive or self._failure is None else StreamingQueryException(self._failure)


class Writer:
    def __init__(self, *failures: str | None) -> None:
        self.queries = [Query(failure) for failure in failures]
        self.starts = 0

    def start(self) -> Any:
        self.starts += 1
        return self.queries[self.starts - 1]


@pytest.mark.parametrize(
    ("failures", "starts"),
    [((None,), 1), ((f"{TOO_LATE}.", None), 2), ((TOO_LATE, TOO_LATE, None), 3)],
)
def test_how_often_a_query_is_started(failures: tuple[str | None, ...], starts: int) -> None:
    writer = Writer(*failures)
    query = started(cast(DataStreamWriter, writer))
    assert writer.starts == starts
    assert query is writer.queries[-1]


@pytest.mark.parametrize(("failures", "starts"), [(("the file is gone",), 1), ((TOO_LATE,) * ATTEMPTS, ATTEMPTS)])
def test_a_query_that_is_dead_is_not_started(failures: tuple[str, ...], starts: int) -> None:
    writer = Writer(*failures)
    with pytest.raises(StreamingQueryException, match=failures[-1]):
        started(cast(DataStreamWriter, writer))
    assert writer.starts == starts


LOST = "EOFException occurred while reading the port number from pyspark.daemon's stdout"


@pytest.mark.parametrize(("failures", "asks"), [((), 1), ((LOST,), 2), ((TOO_LATE, LOST), 3)])
def test_what_a_lost_process_did_not_give_is_asked_for_again(failures: tuple[str, ...], asks: int) -> None:
    """A worker that was killed while Spark looked for the source ended the run with an error of Java's."""
    left, asked = list(failures), []

    def ask() -> str:
        asked.append(len(left))
        if left:
            raise PySparkException(left.pop())
        return "a frame"

    assert given(ask) == "a frame"
    assert len(asked) == asks


@pytest.mark.parametrize(("failure", "asks"), [("the file is gone", 1), (LOST, ATTEMPTS)])
def test_what_fails_otherwise_or_all_the_time_fails(failure: str, asks: int) -> None:
    asked = []

    def ask() -> None:
        asked.append(failure)
        raise PySparkException(failure)

    with pytest.raises(PySparkException, match=failure):
        given(ask)
    assert len(asked) == asks
