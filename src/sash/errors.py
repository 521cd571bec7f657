"""What goes wrong, said to the person who can mend it.

An error has three parts, each a full phrase: what is wrong (`message`), and optionally the way out (`hint`).
An error in SQL also knows the place in the text and shows it with a caret.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

WIDEST, BEFORE = 160, 40  # characters of a line that are shown, and of those before the place


class SashError(Exception):
    """A mistake of the user, with the thing named and the way out."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


def as_text(value: object, what: str) -> str:
    """What a user gives where text is needed: whatever else it may be is refused by name."""
    if isinstance(value, str):
        return value
    raise SashError(f"{what} is needed as text, and {value!r} is of the type {type(value).__name__}", "give a str")


@contextmanager
def needing(what: str, package: str, extra: str) -> Iterator[None]:
    """Around the import of what not everybody has installed."""
    try:
        yield
    except ImportError as error:
        way_out = f'install it: pip install "sash[{extra}]"'
        raise SashError(f"{what} needs {package}, which cannot be imported: {error}", way_out) from None


class BadLiteral(SashError):
    """A constant that is no value of the type it is needed in; `text` is the constant as written."""

    def __init__(self, text: str, type_: object) -> None:
        hint = f"correct it, or use TRY_CAST('{text}' AS {type_}), which gives NULL"
        super().__init__(f"'{text}' is not a value of the type {type_}", hint)
        self.text = text


class LateRowsWarning(UserWarning):
    """Rows of a stream came too late; it is told once for every stream."""


class UnreadableRowsWarning(UserWarning):
    """Rows of a stream could not be read; it is told once for every stream."""


class LostWorkerWarning(UserWarning):
    """A query was begun again, as one of its processes had died."""


class SessionNameWarning(UserWarning):
    """A view is not shown to `spark.sql`, as its name is taken there, or its columns cannot be."""


class SourceWarning(UserWarning):
    """What a table follows cannot be looked at: the table stays as it is, and it is tried again."""


class SinkWarning(UserWarning):
    """A database was closed before a sink had written everything."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Tell the user, at the line of theirs that has called Sash. What stands in somebody's data is shown, and never obeyed."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THEIRS:
        level, frame = level + 1, frame.f_back
    warnings.warn(harmless(message), category, stacklevel=level)


_NOT_THEIRS = ("sash", "contextlib")


def harmless(text: str) -> str:
    """With characters that are not printed, such as the escapes of a terminal, written out."""
    return text if text.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


class SqlError(SashError):
    """A mistake in SQL text; `start` is the offset of the first wrong character, `end` one past the last."""

    def __init__(
        self, message: str, hint: str | None = None, *, sql: str | None = None, start: int | None = None,
        end: int | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.sql = sql
        self.start = start
        self.end = end

    @property
    def place(self) -> tuple[int, int] | None:
        """Line and column, counted from 1."""
        if self.sql is None or self.start is None:
            return None
        before = self.sql[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1

    def __str__(self) -> str:
        text = super().__str__()
        if self.place is None or self.sql is None or self.start is None:
            return text
        line, column = self.place
        source = without_passwords(self.sql).split("\n")[line - 1]
        length = max(1, min((self.end or self.start + 1) - self.start, len(source) - column + 1))
        shown, caret = _around(source, column - 1, length)
        return f"line {line}, column {column}: {text}\n  {shown}\n  {caret}"


def _around(source: str, start: int, length: int) -> tuple[str, str]:
    """A line and a caret below the place; of a long line what is around it."""
    first = 0 if len(source) <= WIDEST else max(0, start - BEFORE)
    before, after = "…" * (first > 0), "…" * (first + WIDEST < len(source))
    shown = before + source[first : first + WIDEST] + after
    caret = " " * (len(before) + start - first) + "^" * min(length, WIDEST - (start - first))
    return shown, caret


_PASSWORDS = re.compile(r"(?<=://)[^\s'/@]*:[^\s'/@]+(?=@)|(?<=password=)[^\s'&]+|(?<=password =)\s*[^\s'&]+", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """A text as it may be shown: what looks like a password in a URL or a connection string becomes as many stars."""
    return _PASSWORDS.sub(lambda found: re.sub("(?<=:).*|^[^:]*$", lambda part: "*" * len(part[0]), found[0]), text)


def choices(names: Iterable[str]) -> str:
    """The valid names, for the end of a message."""
    return ", ".join(names) or "(none)"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    import difflib  # takes longer to import than all that stands here

    found = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.6)
    return found[0] if found else None
