"""Texts cast to DECIMAL: the number that is written, rounded half up, or none. pyarrow's own cast makes another number of a large one."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest

from sash.scalar.cast import try_cast
from sash.schema import TIMESTAMP
from sash.sources.text import parse

EXACT = Context(prec=900, rounding=ROUND_HALF_UP)


def expected(text: str, precision: int, scale: int) -> Decimal | None:
    found = Decimal(text).quantize(Decimal(1).scaleb(-scale), context=EXACT)
    return found if abs(found) < Decimal(10) ** (precision - scale) else None


def numeral(chance: random.Random) -> str:
    digits = "".join(chance.choice("0123456789") for _ in range(chance.choice([1, 5, 13, 20, 33, 38, 39, 40, 77, 130, 300])))
    if chance.random() < 0.3:
        digits = chance.choice("19") + "0" * (len(digits) - 1)
    point = chance.randrange(len(digits) + 1)
    text = f"{digits[:point]}.{digits[point:]}" if chance.random() < 0.4 else digits
    exponent = f"e{chance.randrange(-60, 90)}" if chance.random() < 0.3 else ""
    return chance.choice(["", "-", "+"]) + text + exponent


@pytest.mark.parametrize("seed", range(8))
def test_a_text_is_the_decimal_that_it_says_or_none(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        precision = chance.choice([38, 38, 20, 10, 3])
        scale = chance.choice([0, min(6, precision), precision // 2, precision])
        texts = [numeral(chance) for _ in range(chance.choice([1, 2, 6]))]
        found, failed = try_cast(pa.array(texts), pa.decimal128(precision, scale))
        wanted = [expected(text, precision, scale) for text in texts]
        assert found.to_pylist() == wanted, (texts, precision, scale)
        assert failed.to_pylist() == [value is None for value in wanted]


@pytest.mark.parametrize("text", ["9670531615273", "22232607404467284098809086766548538728"])
def test_a_number_of_few_digits_does_not_fit_where_the_scale_takes_all(text: str) -> None:
    """Of the first one pyarrow made 1.482397771198685318835268810967089152."""
    found, _ = try_cast(pa.array([text]), pa.decimal128(38, 36))
    assert found.to_pylist() == [None]


@pytest.mark.parametrize("text", ["1" + "0" * 39, "123456789e26", "1" + "0" * 128, "1.5e34"])
def test_seconds_beyond_all_times_are_no_time(text: str) -> None:
    for others in ([], ["1713484784.962686"], ["2024-01-01"]):
        found, failed = parse(pa.array([text, *others]), TIMESTAMP)
        assert failed.tolist() == [True, *(False for _ in others)]
        assert found[0].as_py() is None
