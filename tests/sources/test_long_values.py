"""What could not be read is told of in a sentence, however long it is and whatever it would do to a terminal."""

from __future__ import annotations

import pytest

import sash
from sash.errors import UnreadableRowsWarning

STREAM = "CREATE STREAM s (n INT); CREATE MATERIALIZED VIEW v AS SELECT n FROM s"


def test_a_reason_and_a_warning_do_not_repeat_a_value_of_megabytes() -> None:
    db = sash.connect()
    db.execute(STREAM)
    with pytest.warns(UnreadableRowsWarning, match=r'column "n": "xxx[x]*… \(3,000,002 characters\) is not an INT') as told:
        db.push("s", [("x" * 3_000_000,)])
    (letter,) = db.dead("s").to_pylist()
    assert len(str(told[0].message)) < 600 and len(letter["reason"]) < 300
    assert len(letter["line"]) < 70_000 and letter["line"].endswith("xxx… (3,000,009 bytes)")


def test_a_warning_shows_what_a_terminal_would_obey() -> None:
    db = sash.connect()
    db.execute(STREAM)
    with pytest.warns(UnreadableRowsWarning) as told:
        db.push("s", [("\x1b[2J\n",)])
    assert r'"\x1b[2J\n" is not an INT' in str(told[0].message)
