"""How much of the past of a view is kept, as people say it, for both hosts.

    "all"                       every change, for ever
    "none"                      nothing but what a subscriber has not read yet
    "2 MINUTES", timedelta      the changes of so long, by the time of the view
    "64 MB", 67108864           the newest changes, up to so many bytes a view (the default)

An instant is kept whole or not at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from sash.errors import SashError
from sash.schema import END
from sash.sql.syntax.durations import UNITS, unit_name

SIZES = {"B": 1, "BYTE": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
DEFAULT_BYTES = 64 << 20
HINT = 'write "all", "none", a length of time such as "2 MINUTES", or a size such as "64 MB"'

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")

Asked: TypeAlias = "History | str | int | timedelta"


@dataclass(frozen=True)
class History:
    """Bounds on what is kept of a view; without any, everything is."""

    bytes: int | None = None
    microseconds: int | None = None  # of the view's own time

    def __post_init__(self) -> None:
        if self.bytes is not None and self.bytes < 0:
            raise SashError(f"a history of {self.bytes} bytes cannot be kept", HINT)
        if self.microseconds is not None and not 0 < self.microseconds < END:
            raise SashError("the length of a history must be above zero and below 10,000 years", HINT)

    @property
    def is_all(self) -> bool:
        return self.bytes is None and self.microseconds is None

    @property
    def rows_bytes(self) -> int | None:
        """How much is kept of a stream's late and unreadable rows, which are no part of any view: never nothing."""
        return None if self.is_all else self.bytes or DEFAULT_BYTES

    def __str__(self) -> str:
        """As it can be given again."""
        if self.microseconds is not None:
            return f"{self.microseconds} MICROSECONDS"
        return "all" if self.bytes is None else "none" if self.bytes == 0 else f"{self.bytes} B"


DEFAULT = History(bytes=DEFAULT_BYTES)
ALL = History()
NONE = History(bytes=0)


def longest(one: History, other: History) -> History:
    """The one that keeps more; a length of time is more than a size, as one who names it has a use for it."""
    if one.is_all or other.is_all:
        return ALL
    if one.microseconds is not None or other.microseconds is not None:
        return max((one, other), key=lambda history: history.microseconds or 0)
    return max((one, other), key=lambda history: history.bytes or 0)


def parse_history(asked: Asked) -> History:
    """What `connect(history=…)` and an option of a job mean."""
    if isinstance(asked, History):
        return asked
    if isinstance(asked, timedelta):
        return History(microseconds=asked // timedelta(microseconds=1))
    if isinstance(asked, int) and not isinstance(asked, bool):
        return History(bytes=asked)
    if isinstance(asked, str):
        return _parsed(asked)
    raise SashError(f"{asked!r} does not say how much history to keep", HINT)


def _parsed(text: str) -> History:
    word = text.strip().lower()
    if word in ("all", "none"):
        return ALL if word == "all" else NONE
    size, found = parse_size(text), _AMOUNT.fullmatch(text)
    if size is not None:
        return History(bytes=size)
    if found is None:
        raise SashError(f'"{text}" does not say how much history to keep', HINT)
    amount, unit = float(found.group(1)), found.group(2).upper()
    if unit_name(unit) in UNITS:
        return History(microseconds=int(amount * UNITS[unit_name(unit)]))
    raise SashError(f'"{text}" does not say how much history to keep: unknown unit "{found.group(2)}"', HINT)


def parse_size(text: str) -> int | None:
    """The bytes of a size such as "64 MB"; None if it is none."""
    found = _AMOUNT.fullmatch(text)
    unit = "" if found is None else found.group(2).upper()
    size = SIZES.get(unit, SIZES.get(unit.removesuffix("S")))
    return None if found is None or size is None else int(float(found.group(1)) * size)
