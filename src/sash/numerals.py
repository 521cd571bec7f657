"""Numerals as people and files write them: exact, whatever exponent they have.

`1e999999` is a numeral like any other, but an integer of a million digits takes a minute to make, and an exponent of thirty
digits is more than a Decimal holds. No type reaches 1e400, so what lies beyond it, or nearer to zero than 1e-400,
is taken for that.
"""

from __future__ import annotations

import math
from decimal import Decimal

LARGE, SMALL = Decimal("1e400"), Decimal("1e-400")
_WIDEST = int(LARGE).bit_length()


def exact(numeral: str) -> Decimal | None:
    """The value of a numeral; None for a text that is no finite number."""
    try:
        about = float(numeral)
    except ValueError:
        return None
    if math.isnan(about) or not any(character.isdigit() for character in numeral):
        return None
    if math.isinf(about):
        return LARGE.copy_sign(Decimal(about))
    if about == 0:
        return SMALL.copy_sign(Decimal(about)) if _has_value(numeral) else Decimal(0)
    return Decimal(numeral)


def scaled(data: bytes, scale: int) -> Decimal:
    """A number without its point in two's complement, the greatest byte first, with all of its digits: `scaleb` rounds to 28."""
    number = int.from_bytes(data, "big", signed=True)
    if number.bit_length() > _WIDEST or abs(scale) > LARGE.adjusted():
        raise OverflowError(f"a decimal of {number.bit_length()} bits and scale {scale} is no value")
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -scale))


def _has_value(numeral: str) -> bool:
    return Decimal(numeral.lower().partition("e")[0]) != 0


def whole(digits: str) -> int | None:
    """The number that a text of digits is; None for any other text."""
    value = exact(digits) if digits.isdecimal() else None
    return None if value is None else int(value)
