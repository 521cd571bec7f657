"""A length of time that stands by itself, in an argument or an option."""

from __future__ import annotations

from sash.errors import SashError
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.dialect import tokenize
from sash.sql.syntax.durations import duration


def parse_duration(text: str, what: str, example: str, least: int = 1) -> int:
    """Microseconds; an error says of what it is, and how it is written."""
    try:
        cursor = Cursor(tokenize(str(text)))
        if not cursor.tokens:
            raise SashError("nothing is there")
        length = duration(cursor, least)
        if cursor.current is not None:
            raise cursor.unexpected("nothing more")
    except SashError as error:
        hint = error.hint or f"write a length of time such as {example}"
        raise SashError(f"{what} is no length of time: {error.message}", hint) from None
    return length
