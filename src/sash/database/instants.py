"""Instants as people write and read them; inside, they are microseconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from datetime import time as time_of_day
from typing import TypeAlias

from sash.errors import SashError
from sash.runtime.instants import EPOCH, moment
from sash.schema import BEGINNING, END

Instant: TypeAlias = "str | int | datetime"  # "2024-05-01 12:00:00", "12:00:00", microseconds since 1970, or a datetime


def parse_instant(given: Instant, day: int = 0) -> int:
    """An instant in microseconds; a time alone is one of the day that `day` is in, and a zone is turned into UTC."""
    instant = given if isinstance(given, int) else _micros(_parsed(given, day) if isinstance(given, str) else given)
    if not BEGINNING <= instant < END:
        hint = "it goes from 0001-01-01 to 9999-12-31; numbers are microseconds since 1970"
        raise SashError("this instant is outside of the calendar", hint)
    return instant


def _micros(given: datetime) -> int:
    if not isinstance(given, datetime):
        raise SashError(f"a {type(given).__name__} is no instant", "give a text, a datetime, or microseconds since 1970")
    # Not by `astimezone`, which fails for what is in the calendar of another zone alone.
    offset = given.utcoffset() or timedelta()
    return (given.replace(tzinfo=None) - EPOCH - offset) // timedelta(microseconds=1)


def _parsed(text: str, day: int) -> datetime:
    try:
        if ":" in text[:3]:
            return datetime.combine((EPOCH + timedelta(microseconds=day)).date(), time_of_day.fromisoformat(text))
        return datetime.fromisoformat(text)
    except ValueError:
        raise SashError(f'"{text}" is not a timestamp', "write it as 2024-05-01 12:00:00 or 12:00:00") from None


def moment_or_none(instant: int) -> datetime | None:
    """None for what is no instant: before the first row, and for ever."""
    return moment(instant) if BEGINNING < instant < END else None
