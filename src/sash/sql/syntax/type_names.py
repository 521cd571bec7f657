"""The names of types."""

from __future__ import annotations

import re

from sqlglot import exp

from sash.errors import SashError, choices
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, array, decimal
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.text_positions import Name, Place, at, fault

TYPES: dict[str, Type] = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "TIMESTAMP": TIMESTAMP,
    "DATE": DATE,
}
VALID = f"types are: {choices([*TYPES, 'DECIMAL(p, s)', 'ARRAY<type>'])}"
SYNONYMS: dict[str, Type] = {
    **TYPES,
    "INTEGER": INT,
    "LONG": BIGINT,
    "VARCHAR": STRING,
    "CHAR": STRING,
    "TEXT": STRING,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "DATETIME": TIMESTAMP,
}
# Types of other systems that would have to round or overflow as these do; each with the one that holds all their values.
NARROW: dict[str, Type] = {"FLOAT": DOUBLE, "REAL": DOUBLE, "TINYINT": INT, "BYTE": INT, "SMALLINT": INT, "SHORT": INT}
CAST_FUNCTIONS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "TIMESTAMP", "DATE")
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")
_LENGTHS = ("VARCHAR", "CHAR")
_NOWHERE = Place(0, 0)
_ARRAY = re.compile(r"ARRAY<(.*)>|(.*)\[\]", re.IGNORECASE)
_WRITTEN = re.compile(r"(\w+)(?:\( *(\d{1,18}) *(?:, *(\d{1,18}) *)?\))?")


def column_type(cursor: Cursor) -> Type:
    """Take the type of a column in a declaration: BIGINT, DECIMAL(10, 2), ARRAY<BIGINT> or BIGINT[]."""
    if cursor.accept("ARRAY", "<"):
        type_ = array(column_type(cursor))
        cursor.expect(">")
    else:
        type_ = _single(cursor)
    while cursor.accept("[", "]") or cursor.accept("ARRAY"):
        type_ = array(type_)
    return type_


def _single(cursor: Cursor) -> Type:
    name = cursor.name("a type")
    numbers = []
    if cursor.accept("("):
        numbers = [_number(cursor)]
        while cursor.accept(","):
            numbers.append(_number(cursor))
        cursor.expect(")")
    return type_of(Name(name.text, Place(name.place.start, cursor.last.end + 1)), numbers)


def _number(cursor: Cursor) -> int:
    number = cursor.number("a number")
    if number != int(number):
        raise fault(cursor.last, "the digits of a type are a whole number", "write DECIMAL(10, 2)")
    return int(number)


def cast_type(target: exp.Expr, where: Name) -> Type:
    """The type in CAST(... AS type)."""
    with at(where):
        return parse_type(target.sql(dialect="spark"), where.place)


def parse_type(text: str, place: Place = _NOWHERE) -> Type:
    """A type written by a program: BIGINT, DECIMAL(10, 2), ARRAY<BIGINT>."""
    if (inner := _ARRAY.fullmatch(text.strip())) is not None:
        return array(parse_type(inner[1] or inner[2], place))
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise SashError(f'unknown type "{text}"', VALID)
    return type_of(Name(written[1], place), [int(number) for number in written.groups()[1:] if number])


def type_of(name: Name, numbers: list[int]) -> Type:
    upper = name.text.upper()
    if upper in _DECIMALS and len(numbers) <= 2:
        return _decimal(name, numbers)
    if upper in NARROW:
        wide = NARROW[upper]
        raise fault(name, f"{upper} is not a type of Sash", f"use {wide}, which holds every value of {upper} exactly")
    if upper not in SYNONYMS or (numbers and upper not in _LENGTHS):
        raise fault(name, f'unknown type "{name}"', VALID)
    return SYNONYMS[upper]


def _decimal(name: Name, numbers: list[int]) -> Type:
    precision, scale = [*numbers, *(10, 0)[len(numbers) :]]
    try:
        return decimal(precision, scale)
    except SashError as error:
        raise fault(name, error.message, error.hint) from None
