"""Rounding of DOUBLEs as the decimals that they print as: 1.005 in two places is 1.01, though its bits are less."""

from __future__ import annotations

import decimal

import numpy as np
import numpy.typing as npt

from sash.scalar.decimals import ROUNDING

Doubles = npt.NDArray[np.float64]

CERTAIN = 2.0**50  # below it a DOUBLE tells halves from their neighbours


def round_doubles(values: Doubles, digits: int, mode: str) -> Doubles:
    """Scaled, rounded and scaled back where that is certain; values too near a tie go by their decimal digits."""
    if not -300 <= digits <= 22:
        return np.array([_round_one(value, digits, mode) for value in values.tolist()])
    with np.errstate(all="ignore"):
        scaled = values * 10.0**digits if digits >= 0 else values / 10.0**-digits
        size = np.abs(scaled)
        doubtful = ~(size < CERTAIN) | (np.abs(size - np.floor(size) - 0.5) <= 4 * np.spacing(size + 1))
        nearest = np.copysign(np.floor(size + 0.5), scaled)
        result = (nearest / 10.0**digits if digits >= 0 else nearest * 10.0**-digits) + 0.0  # no negative zero
    places = np.flatnonzero(doubtful)
    result[places] = [_round_one(value, digits, mode) for value in values[places].tolist()]
    return result


def _round_one(value: float, digits: int, mode: str) -> float:
    exact = decimal.Decimal(repr(value))
    if not exact.is_finite() or exact.as_tuple().exponent >= -digits:  # type: ignore[operator]
        return value
    if exact.adjusted() < -digits - 1:
        return 0.0
    unit = decimal.Decimal(1).scaleb(-digits)
    return float(exact.quantize(unit, ROUNDING[mode], decimal.Context(prec=400))) + 0.0
