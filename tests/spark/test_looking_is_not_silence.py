"""While a query looks for rows, Spark says that there are none: a slow look at a busy machine made rows late that waited in their source."""

from __future__ import annotations

from typing import Any

import pytest

from sash.spark.lasting import NOTHING_CAME, LastingQuery


class Saying:
    """A query that runs, and says one thing after the other, the last one for ever."""

    isActive = True

    def __init__(self, *messages: tuple[bool, str]) -> None:
        self._messages = list(messages)

    @property
    def status(self) -> dict[str, Any]:
        is_available, message = self._messages[0]
        if len(self._messages) > 1:
            self._messages.pop(0)
        return {"isDataAvailable": is_available, "message": message}


@pytest.mark.parametrize(
    ("said", "has_read_all"),
    [
        ([(False, "Getting offsets from a source")], False),
        ([(False, "Initializing StreamExecution")], False),
        ([(False, "Getting offsets from a source"), (False, "Writing offsets to log"), (True, "Processing new data")], False),
        ([(True, "Processing new data"), (False, NOTHING_CAME)], False),
        ([(False, NOTHING_CAME)], True),
        ([(False, "Getting offsets from a source"), (False, NOTHING_CAME)], True),
    ],
)
def test_only_who_has_looked_knows_that_nothing_came(said: list[tuple[bool, str]], has_read_all: bool) -> None:
    assert LastingQuery(lambda: Saying(*said), lambda: 0).has_read_all is has_read_all  # type: ignore[arg-type,return-value]
