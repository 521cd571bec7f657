"""Values of every type, as literals of SQL and as rows: ordinary ones, the greatest and least, odd ones, NULL."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal

from sash.schema import Kind, Type

START = datetime(2024, 1, 1)
TEXTS = ("", "a", "ab", "Bob", "ann", "%", "_", "\\", "'", "0", "12", "-7.5", "2024-01-01", "2024-01-01 00:00:05", "ß", "İ", "😀", "e\u0301",
         "\u2028", "\t", " x ", "NaN", "true", "[1,2]", "x" * 300)  # fmt: skip
INTS = (0, 1, 2, 3, 7, -1, -5, 10, 60, 2**31 - 1, -(2**31))
BIGINTS = (*INTS, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES = (0.0, -0.0, 1.0, 0.25, -2.5, 1e-300, 1e300, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"))
DATES = (date(2024, 1, 1), date(2024, 2, 29), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31))
INSTANTS = (START, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "DOW", "EPOCH", "nothing")


def value(chance: random.Random, type_: Type, nulls: float = 0.15) -> object:
    """A value for a row."""
    if chance.random() < nulls:
        return None
    kind = type_.kind
    if kind is Kind.ARRAY and type_.element is not None:
        element = type_.element
        return [value(chance, element) for _ in range(chance.choice((0, 1, 2, 3)))]
    if kind is Kind.DECIMAL:
        digits = chance.choice((1, 2, type_.precision))
        return Decimal(chance.choice((-1, 1)) * chance.randrange(10**digits)).scaleb(-type_.scale)
    if kind is Kind.TIMESTAMP:
        return START + timedelta(microseconds=chance.choice((0, 500_000, 1_000_000))) * chance.randrange(12) if chance.random() < 0.8 else chance.choice(INSTANTS)
    if kind is Kind.BOOLEAN:
        return chance.random() < 0.5
    few = {Kind.INT: INTS, Kind.BIGINT: BIGINTS, Kind.DOUBLE: DOUBLES, Kind.DATE: DATES, Kind.STRING: TEXTS}[kind]
    return chance.choice(few[:5]) if chance.random() < 0.6 else chance.choice(few)


def literal(chance: random.Random, type_: Type) -> str:
    """A value as it is written in SQL."""
    made = value(chance, type_, 0.05)
    if made is None:
        return "NULL" if chance.random() < 0.3 else f"CAST(NULL AS {type_})"
    if isinstance(made, bool):
        return str(made).upper()
    if isinstance(made, list):
        inner = type_.element
        assert inner is not None
        return f"ARRAY({', '.join(literal(chance, inner) for _ in made)})" if made else f"CAST(NULL AS {type_})"
    if isinstance(made, datetime):
        return f"TIMESTAMP '{made}'"
    if isinstance(made, date):
        return f"DATE '{made}'"
    if isinstance(made, str):
        return quoted(made)
    if isinstance(made, float):
        return f"{made}D" if made == made and abs(made) < 1e16 and "e" not in repr(made) else f"CAST('{made}' AS DOUBLE)"
    return f"CAST('{made}' AS {type_})" if type_.kind is Kind.DECIMAL or abs(int(str(made))) >= 2**63 or str(made).startswith("-9223") else str(made)


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def interval(chance: random.Random) -> str:
    count = chance.choice((0, 1, 2, 5, 10, 90))
    unit = chance.choice(("SECOND", "SECONDS", "MINUTE", "HOUR", "DAY", "MILLISECONDS"))
    return chance.choice((f"INTERVAL {count} {unit}", f"INTERVAL '{count}' {unit}"))


def duration(chance: random.Random) -> str:
    return f"{chance.choice((1, 2, 3, 5, 10, 60, 1000))} {chance.choice(('SECONDS', 'SECOND', 'MINUTES', 'MILLISECONDS', 'HOURS', 'DAYS'))}"
