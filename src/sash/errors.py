"""What goes wrong, said to the person who can mend it.

An error has three parts, each a full phrase: what is wrong (`message`), and optionally the way out (`hint`).
An error in SQL also knows the place in the text and shows it with a caret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SashError(Exception):
    """A mistake of the user, with the thing named and the way out."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


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
        source = self.sql.splitlines()[line - 1] if self.sql.splitlines() else ""
        length = max(1, min((self.end or self.start + 1) - self.start, len(source) - column + 1))
        caret = " " * (column - 1) + "^" * length
        return f"line {line}, column {column}: {text}\n  {source}\n  {caret}"


def choices(names: Iterable[str]) -> str:
    """The valid names, for the end of a message."""
    return ", ".join(names) or "(none)"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    found = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.6)
    return found[0] if found else None
