"""Mathematics with DOUBLEs. Outside of its domain a logarithm is NULL, as in Spark SQL, and another function NaN."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.scalar.arrays import array_of, blank, nulls, numbers, truth
from sash.scalar.functions.function import Function, fixed, plain
from sash.schema import DOUBLE

_ONE = fixed(DOUBLE, DOUBLE)
_TWO = fixed(DOUBLE, DOUBLE, DOUBLE)


def _above(kernel: Callable[[pa.Array], pa.Array], bound: float) -> Callable[[pa.Array], pa.Array]:
    """NULL at the bound and below."""
    return lambda value: kernel(blank(value, truth(pc.less_equal(value, bound))))


_ln = _above(pc.ln, 0.0)


def _log(first: pa.Array, second: pa.Array | None = None) -> pa.Array:
    """LOG(value), or LOG(base, value)."""
    return _ln(first) if second is None else pc.divide(_ln(second), _ln(first))


def _cube_root(value: pa.Array) -> pa.Array:
    """With one step of Newton's, so that it is exact for cubes."""
    values = numbers(value)
    root = np.cbrt(values)
    with np.errstate(all="ignore"):
        better = root - (root * root * root - values) / (3 * root * root)
    return array_of(np.where(np.isfinite(better), better, root), pa.float64(), nulls(value))


def _nearest_even(value: pa.Array) -> pa.Array:
    return pc.round(value, round_mode="half_to_even")


def _not_nan(value: pa.Array, otherwise: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(value), otherwise, value)


def _named(kernel: Callable[[pa.Array], pa.Array], *names: str) -> Function:
    return Function(names, "one number", _ONE, plain(kernel))


def _number(name: str, value: float) -> Function:
    return Function((name,), "nothing", fixed(DOUBLE), lambda frame, call: pa.repeat(value, frame.length))


FUNCTIONS = (
    _named(pc.sign, "sign", "signum"),
    _named(pc.sqrt, "sqrt"),
    _named(_cube_root, "cbrt"),
    _named(pc.exp, "exp"),
    _named(pc.expm1, "expm1"),
    _named(_ln, "ln"),
    _named(_above(pc.log10, 0.0), "log10"),
    _named(_above(pc.log2, 0.0), "log2"),
    _named(_above(pc.log1p, -1.0), "log1p"),
    _named(pc.sin, "sin"),
    _named(pc.cos, "cos"),
    _named(pc.tan, "tan"),
    _named(pc.asin, "asin"),
    _named(pc.acos, "acos"),
    _named(pc.atan, "atan"),
    _named(pc.sinh, "sinh"),
    _named(pc.cosh, "cosh"),
    _named(pc.tanh, "tanh"),
    _named(lambda value: pc.divide(pc.multiply(value, 180.0), math.pi), "degrees"),
    _named(lambda value: pc.multiply(pc.divide(value, 180.0), math.pi), "radians"),
    _named(_nearest_even, "rint"),
    Function(("log",), "a number, or a base and a number", fixed(DOUBLE, DOUBLE, DOUBLE, optional=1), plain(_log)),
    Function(("power", "pow"), "two numbers", _TWO, plain(pc.power)),
    Function(("atan2",), "two numbers", _TWO, plain(pc.atan2)),
    Function(("hypot",), "two numbers", _TWO, plain(pc.hypot)),
    Function(("nanvl",), "two numbers", _TWO, plain(_not_nan)),
    _number("pi", math.pi),
    _number("e", math.e),
)
