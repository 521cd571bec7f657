"""A job as text: blocks of lines with an empty line between them.

    # A line that starts with # is a comment.
    changes last                    what is to be done, and to what
    + ann 1 @1                      its lines; in lines of rows, a # after a blank starts a comment
    + bob NULL @3   # no value

    error view
    SELECT nope FROM s              SQL
           ^^^^                     where in it
    ---- unknown column "nope"      after the dashes: what is expected
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sash.errors import SashError

_DASHES = "----"
_NO_COMMENT = re.compile(r"(?:'(?:[^']|'')*'|[^'#]|(?<=\S)#)*")
_WORD = re.compile(r"'((?:[^']|'')*)'|(\S+)")


@dataclass(frozen=True)
class Block:
    """One step of a job; `line` is the number of its first line, from 1."""

    line: int
    kind: str
    words: tuple[str, ...]
    body: tuple[str, ...]
    expected: tuple[str, ...] | None = None  # None where there are no dashes

    @property
    def sql(self) -> str:
        return "\n".join(self.body)

    @property
    def rows(self) -> list[str]:
        """The lines without comments."""
        found = (_without_comment(line) for line in self.body)
        return [line for line in found if line]

    @property
    def expected_rows(self) -> list[str]:
        return [_without_comment(line) for line in self.expected or ()]

    def word(self, what: str) -> str:
        """The one word after the kind."""
        if len(self.words) != 1:
            raise SashError(f'"{self.kind}" needs {what}', f"write: {self.kind} NAME")
        return self.words[0]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a text, in their order."""
    lines: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip() and not line.lstrip().startswith("#"):
            lines.append((number, line.rstrip()))
        elif lines and not line.strip():
            yield _block(lines)
            lines = []


def words(line: str) -> list[str | None]:
    """The values of a line as they are written: quotes keep blanks, a bare NULL is a missing value."""
    found = (word.groups() for word in _WORD.finditer(line))
    return [_value(quoted, bare) for quoted, bare in found]


def _value(quoted: str | None, bare: str) -> str | None:
    if quoted is not None:
        return quoted.replace("''", "'")
    return None if bare.upper() == "NULL" else bare


def _block(lines: list[tuple[int, str]]) -> Block:
    number, first = lines[0]
    kind, *given = first.split()
    body = [line for _, line in lines[1:]]
    place = next((n for n, line in enumerate(body) if line.startswith(_DASHES)), None)
    if place is None:
        return Block(number, kind, tuple(given), tuple(body))
    beside = body[place].removeprefix(_DASHES).strip()
    expected = [line for line in (beside, *body[place + 1 :]) if line]
    return Block(number, kind, tuple(given), tuple(body[:place]), tuple(expected))


def _without_comment(line: str) -> str:
    found = _NO_COMMENT.match(line)
    return found.group().strip() if found else line.strip()
