"""A SELECT with ? in place of constants, asked again and again with other values.

A value is written into the text as a constant, so an answer is that of the text with the constant in it; texts that differ in
constants alone are bound once (`templates.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.database.answer import Answer
from sash.errors import SashError, as_text
from sash.sql.literals import literal
from sash.sql.syntax.placeholders import around_placeholders


class Prepared:
    """Made by `Database.prepare`."""

    def __init__(self, sql: str, ask: Callable[[str], Answer]) -> None:
        self._ask = ask
        *self._parts, self._end = around_placeholders(as_text(sql, "a question"))

    def query(self, *values: Any) -> Answer:
        """The answer with these values, one for each ?, in their order."""
        if len(values) != len(self._parts):
            message = f"the question has {len(self._parts)} places for values, and {len(values)} came"
            raise SashError(message, "give one for each ?")
        written = [part + literal(value) for part, value in zip(self._parts, values, strict=True)]
        return self._ask("".join(written) + self._end)
