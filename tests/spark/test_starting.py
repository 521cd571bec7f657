"""A query is started again where Spark did not wait long enough for its Python process."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql.streaming.readwriter import DataStreamWriter

from sash.spark.starting import ATTEMPTS, TOO_LATE, started


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

    def exception(self) -> str | None:
        return None if self.isActive else self._failure


class Writer:
    def __init__(self, *failures: str | None) -> None:
        self.queries = [Query(failure) for failure in failures]
        self.starts = 0

    def start(self) -> Any:
        self.starts += 1
        return self.queries[self.starts - 1]


@pytest.mark.parametrize(
    ("failures", "starts"),
    [
        ((None,), 1),
        ((f"{TOO_LATE}.", None), 2),
        (("the file is gone",), 1),
        ((TOO_LATE,) * ATTEMPTS, ATTEMPTS),
    ],
)
def test_how_often_a_query_is_started(failures: tuple[str | None, ...], starts: int) -> None:
    writer = Writer(*failures)
    query = started(cast(DataStreamWriter, writer))
    assert writer.starts == starts
    assert query is writer.queries[-1]
