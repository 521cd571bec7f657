"""Where things stand in the SQL text, so that every error can point at them.

The parser marks the nodes it makes with their first and last character. Code that finds a fault names the node; the
border of this package adds the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sash.errors import BadLiteral, SashError, SqlError


@dataclass(frozen=True)
class Place:
    """From the first character to one past the last."""

    start: int
    end: int


@dataclass(frozen=True)
class Name:
    """A name as the user wrote it, and where."""

    text: str
    place: Place

    def __str__(self) -> str:
        return self.text


def place(node: exp.Expr) -> Place | None:
    """The place of a node: its own mark, else all that its parts cover."""
    if "start" in node.meta:
        return Place(node.meta["start"], node.meta["end"] + 1)
    parts = [found for child in node.iter_expressions() if (found := place(child))]
    if not parts:
        return None
    return Place(min(part.start for part in parts), max(part.end for part in parts))


def mark(node: exp.Expr, first: Token, last: Token) -> None:
    node.update_positions(line=first.line, col=first.col, start=first.start, end=last.end)


def name_of(identifier: exp.Expr) -> Name:
    return Name(identifier.name, place(identifier) or Place(0, 0))


def quoted(name: str) -> str:
    """A name as SQL reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def fault(where: exp.Expr | Name | Token | Place | None, message: str, hint: str | None = None) -> SqlError:
    """An error at a place; the text is added by `within`."""
    if isinstance(where, exp.Expr):
        where = place(where)
    elif isinstance(where, Name):
        where = where.place
    elif isinstance(where, Token):
        where = Place(where.start, where.end + 1)
    if where is None:
        return SqlError(message, hint)
    return SqlError(message, hint, start=where.start, end=where.end)


@contextmanager
def at(where: exp.Expr | Name) -> Iterator[None]:
    """Gives faults from below SQL, such as a mismatch of types, their place in the text."""
    try:
        yield
    except SqlError as error:
        raise fault(where, error.message, error.hint) if error.start is None else error from None
    except BadLiteral as error:
        raise fault(_constant(where, error.text), error.message, error.hint) from None
    except SashError as error:
        raise fault(where, error.message, error.hint) from None


def _constant(where: exp.Expr | Name, text: str) -> exp.Expr | Name:
    """The constant in a node that reads so; the node itself if it is not to be seen there."""
    literals = () if isinstance(where, Name) else where.find_all(exp.Literal, exp.RawString)
    return next((node for node in literals if str(node.this) == text and place(node) is not None), where)


@contextmanager
def within(text: str) -> Iterator[None]:
    """Tells errors which text their places are in."""
    try:
        yield
    except SqlError as error:
        if error.sql is None:
            error.sql = text
        raise
