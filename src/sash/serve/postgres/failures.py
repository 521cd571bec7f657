"""Errors as clients of PostgreSQL get them: a code of five letters, a message, a hint, and a place in the text."""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import SashError, SqlError
from sash.serve.limits import TooMuch


@dataclass(eq=False)
class WireError(Exception):
    """`position` counts the characters of the statement's text from 1; a fatal error ends the connection."""

    code: str
    message: str
    hint: str | None = None
    position: int | None = None
    is_fatal: bool = False

    def __str__(self) -> str:
        return self.message

    def fields(self) -> list[tuple[bytes, str]]:
        severity = "FATAL" if self.is_fatal else "ERROR"
        found = [(b"S", severity), (b"V", severity), (b"C", self.code), (b"M", self.message)]
        if self.hint is not None:
            found.append((b"H", self.hint))
        if self.position is not None:
            found.append((b"P", str(self.position)))
        return found


def fatal(code: str, message: str, hint: str | None = None) -> WireError:
    return WireError(code, message, hint, is_fatal=True)


def not_supported(what: str, hint: str | None = None) -> WireError:
    return WireError("0A000", what, hint)


def bad_protocol(message: str) -> WireError:
    return fatal("08P01", message)


# How messages begin, and the codes that clients look at; any other mistake in SQL is a syntax error or a wrong rule.
_CODES = (
    ("unknown column", "42703"), ("unknown stream, table or view", "42P01"), ("unknown view", "42P01"),
    ("unknown stream", "42P01"),
    ("unknown function", "42883"), ("unknown type", "42704"), ("there is a ", "42P07"), ("column ", "42703"),
    ("the database ", "57P01"),
)


def code_of(error: SashError) -> str:
    if isinstance(error, TooMuch):
        return "53200"
    for start, code in _CODES:
        if error.message.startswith(start):
            return code
    return "42601" if isinstance(error, SqlError) else "42000"
