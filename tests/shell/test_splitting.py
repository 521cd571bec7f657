"""Where statements end in what somebody types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.shell.splitting import is_blank, is_whole, pieces

PARTS = ["SELECT 1", "x", "'a;b'", "'it''s;'", "'back\\';slash'", '"double;quoted"', "`name;d`", "-- note; here\n", "/* ; */", " ", "\n", "a - b", "a / b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' AS a; ;; -- the end;", ["SELECT ';' AS a"]),
        ("\\d\nSELECT 1;\\dv", ["\\d", "SELECT 1", "\\dv"]),
        ("SELECT 1; \\timing\n\\q", ["SELECT 1", "\\timing", "\\q"]),
        ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]),
        ("-- of a file\n\\rows 5\n/* more */ \\q", ["\\rows 5", "\\q"]),
        ("", []),
        ("  -- only a note\n", []),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert list(pieces(text)) == expected


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 1; SELECT", "SELECT '", "/* SELECT 1;", "SELECT `a;", 'SELECT ";'])
def test_what_is_not_whole_is_waited_for(text: str) -> None:
    assert not is_whole(text)


@pytest.mark.parametrize("text", ["", ";", "\\d", "SELECT 1;", "SELECT 1; -- so it is", "\\d\nSELECT 1;\n"])
def test_what_is_whole_is_sent(text: str) -> None:
    assert is_whole(text)


@given(st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map(" ".join), max_size=5))
def test_no_statement_is_cut_nor_lost(statements: list[str]) -> None:
    text = "".join(f"{one}\n;" for one in statements)
    assert list(pieces(text)) == [one.strip() for one in statements if not is_blank(one)]
    assert is_whole(text)
