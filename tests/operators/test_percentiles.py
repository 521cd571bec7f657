"""What lies between two doubles is the double nearest to it, also where one integer is enough to say so."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from sash.operators.group_by.kernels.percentiles import _between_doubles

SPARE, LIMBS = np.zeros((1, 96), np.int64), np.zeros(512, np.int64)


def bits(value: float) -> int:
    return int(struct.unpack("q", struct.pack("d", value))[0])


def between(lower: float, upper: float, rest: int, denominator: int) -> float:
    found = _between_doubles(bits(lower), bits(upper), rest, denominator, SPARE, LIMBS)
    return float(struct.unpack("d", struct.pack("q", found))[0])


def nearest(lower: float, upper: float, rest: int, denominator: int) -> float:
    """Fractions are divided exactly, and rounded to the nearest, ties to even."""
    return float((Fraction(lower) * (denominator - rest) + Fraction(upper) * rest) / denominator)


def near(chance: random.Random, value: float) -> float:
    """A neighbour: some steps away, or a few powers of two."""
    if chance.random() < 0.5:
        for _ in range(chance.randint(1, 5)):
            value = math.nextafter(value, math.inf)
        return value
    return value * chance.choice([1, 1, 2, 3, 8, 512, 1024, 2048]) * (1 + chance.random())


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_double(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(3000):
        one = math.ldexp(1 + chance.choice([0.0, 0.5, chance.random()]), chance.randint(-1074, 1000))
        if chance.random() < 0.4:
            one = chance.choice([1.0, 0.5, 1.5, 2.0 - 2**-52, float(chance.randint(1, 100))])
        lower, upper = sorted((sign := chance.choice([-1, 1])) * value for value in (one, near(chance, one)))
        if chance.random() < 0.1:
            lower, upper = sorted((-sign * one, upper))
        denominator = chance.choice([2, 4, 8, 3, 100, 255, 256, 511, 512, 1000, 1023, 1024, 10**9])
        rest = chance.choice([denominator // 2, chance.randrange(denominator)]) or 1
        if math.isinf(lower) or math.isinf(upper) or lower == upper:
            continue
        assert between(lower, upper, rest, denominator) == nearest(lower, upper, rest, denominator), (lower, upper, rest, denominator)
