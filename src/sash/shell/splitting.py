"""Where statements end in what somebody types: at a semicolon that is not in a text, a quoted name or a comment.

A line that begins with a backslash, where a statement could begin, is a command of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What a semicolon may hide in, whole; and the same where its end has not been typed yet.
_WHOLE = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`|--[^\n]*(?:\n|$)|/\*.*?\*/|;""", re.DOTALL)
_OPENED = re.compile(r"""['"`]|/\*""")
_BLANK = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)


def is_command(text: str) -> bool:
    return text.startswith("\\", _begin(text))


def is_blank(text: str) -> bool:
    """Whether there is nothing in it but space and comments."""
    return _begin(text) == len(text)


def _begin(text: str) -> int:
    """Where something begins that is neither space nor comment."""
    found = _BLANK.match(text)
    assert found is not None
    return found.end()


def pieces(text: str) -> Iterator[str]:
    """The statements and commands of a text; the last statement may lack its semicolon."""
    while not is_blank(text):
        piece, text = cut(text) or (text, "")
        if not is_blank(piece):
            yield piece.strip()


def is_whole(text: str) -> bool:
    """Whether there is nothing to wait for: every statement has its semicolon."""
    while (found := cut(text)) is not None:
        text = found[1]
    return is_blank(text)


def cut(text: str) -> tuple[str, str] | None:
    """The first statement, without its semicolon, or the first command, and what comes after; None if it is not whole."""
    if is_command(text):
        command, _, rest = text[_begin(text) :].partition("\n")
        return command, rest
    end = _semicolon(text)
    return None if end is None else (text[:end], text[end + 1 :])


def _semicolon(text: str) -> int | None:
    at = 0
    while (mark := _WHOLE.search(text, at)) is not None:
        opened = _OPENED.search(text, at)
        if opened is not None and opened.start() < mark.start():
            return None  # nothing ends inside of something that is still open
        if mark.group() == ";":
            return mark.start()
        at = mark.end()
    return None
