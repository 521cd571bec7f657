"""Lengths of time as people write them: 5 MINUTES, 5.5 SECONDS, INTERVAL '5' MINUTES."""

from __future__ import annotations

from decimal import Decimal

from sqlglot.tokenizer_core import Token, TokenType

from sash.errors import choices
from sash.numerals import exact
from sash.schema import END, SECOND
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.text_positions import Place, fault

UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": 3_600 * SECOND,
    "DAY": 86_400 * SECOND,
    "WEEK": 7 * 86_400 * SECOND,
}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def unit_name(word: str) -> str:
    """MINUTE for minute, minutes, MINUTES."""
    upper = word.upper()
    return upper.removesuffix("S") if upper.removesuffix("S") in UNITS | MONTHS else upper


def duration(cursor: Cursor, least: int = 1) -> int:
    """Take `n UNIT` or an INTERVAL; the answer is in microseconds."""
    first = cursor.current
    amount, unit = _amount_and_unit(cursor)
    assert first is not None
    where = Place(first.start, cursor.last.end + 1)
    if unit in MONTHS:
        raise fault(where, f"a {unit} has no fixed length", "use DAYS or WEEKS")
    micros = amount * UNITS[unit]
    if micros != int(micros):
        raise fault(where, "time is counted in whole microseconds", "use a length that is a multiple of one")
    if not least <= micros < END:
        raise fault(where, "this length of time must be above zero and below 10,000 years")
    return int(micros)


def _amount_and_unit(cursor: Cursor) -> tuple[Decimal, str]:
    cursor.accept("INTERVAL")
    token = cursor.current
    if token is not None and token.token_type is TokenType.STRING:
        cursor.index += 1
        words = token.text.split()
        unit = _known_unit(words[1], token) if len(words) == 2 else _unit(cursor)
        return _decimal(words[0] if words else "", token), unit
    return cursor.number("a length of time such as 5 MINUTES"), _unit(cursor)


def _unit(cursor: Cursor) -> str:
    unit = cursor.name("a unit of time such as MINUTES")
    return _known_unit(unit.text, cursor.last)


def _known_unit(word: str, token: Token) -> str:
    unit = unit_name(word)
    if unit not in UNITS | MONTHS:
        raise fault(token, f'unknown unit of time "{word}"', f"units are: {choices(name + 'S' for name in UNITS)}")
    return unit


def _decimal(text: str, token: Token) -> Decimal:
    value = exact(text)
    if value is None:
        raise fault(token, f'"{text}" is not a number')
    return value
