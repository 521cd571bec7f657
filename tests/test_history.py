"""How much history is kept, as people say it."""

from datetime import timedelta

import pytest

from sash.errors import SashError
from sash.runtime.history_limit import ALL, DEFAULT, NONE, Asked, History, parse_history
from sash.schema import SECOND


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("all", ALL), ("NONE", NONE), (0, NONE), ("64 MB", DEFAULT), (64 << 20, DEFAULT), ("1.5kb", History(bytes=1536)),
        ("2 MINUTES", History(microseconds=120 * SECOND)), ("1 hour", History(microseconds=3600 * SECOND)),
        (timedelta(seconds=3), History(microseconds=3 * SECOND)), (DEFAULT, DEFAULT),
    ],
)
def test_meant(asked: Asked, meant: History) -> None:
    assert parse_history(asked) == meant
    assert parse_history(str(meant)) == meant


@pytest.mark.parametrize("asked", ["", "much", "5 parsecs", "-3 MB", "2 MONTHS", -1, True, None, "0 SECONDS", timedelta(0), 2.5])
def test_refused(asked: Asked) -> None:
    with pytest.raises(SashError, match='"64 MB"'):
        parse_history(asked)
