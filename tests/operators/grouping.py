"""A GROUP BY fed with Python values, and a slow twin of it that computes every bag anew."""

from __future__ import annotations

import datetime
import math
import random
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from math import isqrt
from operator import and_, or_, xor

import numpy as np
import pyarrow as pa

from sash.deltas import Delta
from sash.operators.group_by.operator import GroupBy
from sash.operators.group_by.spec import GroupBySpec
from sash.operators.operator import OperatorContext
from sash.operators.spec import PortSpec
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.patterns import Pattern
from sash.scalar.evaluate import Failures
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, FOREVER, INT, STRING, TIMESTAMP, Kind, Type, decimal, schema
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode

Row = tuple[object, ...]
Change = tuple[int, Row, int]  # instant, row, weight
Calls = Sequence[tuple[Function, int | None] | tuple[Function, int | None, dict[str, object]]]
COUNT, SUM, AVG, MIN, MAX = Function.COUNT, Function.SUM, Function.AVG, Function.MIN, Function.MAX

# The slow twin.


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def slow_double(values: list[float], divisor: int) -> float:
    if any(math.isnan(v) for v in values) or {math.inf, -math.inf} <= set(values):
        return math.nan
    infinite = [v for v in values if math.isinf(v)]
    if infinite:
        return infinite[0]
    return nearest(sum((Fraction(v) for v in values), Fraction(0)) / divisor) + 0.0


def slow_decimal(values: list[Decimal], divisor: int, type_: Type) -> Decimal | None:
    with localcontext(prec=200):
        result = (sum(values, Decimal(0)) / divisor).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
        return result if abs(result) < Decimal(10) ** (type_.precision - type_.scale) else None


def rank(value: object) -> object:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def slow_call(call: AggregateCall, rows: list[Row]) -> object:
    if call.argument is None:
        return len(rows)
    if call.second is not None:
        return slow_beside(call, rows)
    values = [row[call.argument] for row in rows if row[call.argument] is not None]
    if call.is_distinct:
        values = list({printed(value): value for value in values}.values())
    if call.function is COUNT:
        return len(values)
    if not values:
        return None
    if call.function in (COUNT, SUM, AVG):
        return slow_sum(call, values)
    found = SLOW[call.function](call, sorted(values, key=rank))
    return found + 0.0 if isinstance(found, float) else found


def slow_sum(call: AggregateCall, values: list) -> object:
    divisor = len(values) if call.function is AVG else 1
    if call.argument_type == DOUBLE:
        return slow_double(values, divisor)
    if call.argument_type is not None and call.argument_type.kind is Kind.DECIMAL:
        return slow_decimal(values, divisor, call.type)
    total = sum(values)
    if call.function is AVG:
        return nearest(Fraction(total, divisor))
    return total if -(2**63) <= total < 2**63 else None


def slow_beside(call: AggregateCall, rows: list[Row]) -> object:
    first, second = call.argument, call.second
    pairs = [((rank(r[second])), (0,) if r[first] is None else (1, rank(r[first])), r[first]) for r in rows
             if r[second] is not None]
    choose = min if call.function is Function.MIN_BY else max
    return choose(pairs, key=lambda pair: pair[:2])[2] if pairs else None


def slow_variance(call: AggregateCall, values: list) -> object:
    divisor = len(values) - (call.function in (Function.VAR_SAMP, Function.STDDEV_SAMP))
    if divisor == 0:
        return None
    if not all(math.isfinite(value) for value in values):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    variance = sum(((value - mean) ** 2 for value in exact), Fraction(0)) / divisor
    return nearest(variance) if call.function in (Function.VAR_POP, Function.VAR_SAMP) else nearest_root(variance)


def slow_shape(call: AggregateCall, values: list) -> object:
    """Skewness and kurtosis of the population: the third and the fourth moment over powers of the second."""
    if not all(math.isfinite(value) for value in values):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    second, third, fourth = (sum(((value - mean) ** power for value in exact), Fraction(0)) / len(exact) for power in (2, 3, 4))
    if second == 0:
        return None
    if call.function is Function.KURTOSIS:
        return nearest(fourth / second**2 - 3)
    magnitude = nearest_root(third**2 / second**3)
    return -magnitude if third < 0 else magnitude


def nearest_root(square: Fraction) -> float:
    """From far more bits than a double has; an odd last one stands for whatever follows."""
    shift = max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length()) // 2 + 1100
    scaled, rest = divmod(square.numerator << 2 * shift, square.denominator)
    root = isqrt(scaled)
    is_inexact = rest != 0 or root * root != scaled
    return nearest(Fraction(2 * root + is_inexact, 2 << shift))


def slow_percentile(call: AggregateCall, values: list) -> object:
    fraction = Fraction(1, 2) if call.function is Function.MEDIAN else Fraction(str(call.parameter))
    if call.function is Function.PERCENTILE_DISC:
        return values[max(math.ceil(fraction * len(values)) - 1, 0)]
    spot = fraction * (len(values) - 1)
    place = math.floor(spot)
    lower, upper = values[place], values[min(place + 1, len(values) - 1)]
    rest = spot - place
    if rest == 0 or lower == upper:
        return nearest(Fraction(lower)) if math.isfinite(lower) else float(lower)
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return float(lower) + float(upper)
    return nearest((1 - rest) * Fraction(lower) + rest * Fraction(upper)) + 0.0


SLOW = {
    **dict.fromkeys((MIN, Function.ANY_VALUE), lambda call, values: values[0]),
    MAX: lambda call, values: values[-1],
    **dict.fromkeys(
        (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP), slow_variance
    ),
    **dict.fromkeys((Function.SKEWNESS, Function.KURTOSIS), slow_shape),
    **dict.fromkeys((Function.MEDIAN, Function.PERCENTILE_CONT, Function.PERCENTILE_DISC), slow_percentile),
    Function.STRING_AGG: lambda call, values: (call.parameter or "").join(values),
    Function.BIT_AND: lambda call, values: reduce(and_, values),
    Function.BIT_OR: lambda call, values: reduce(or_, values),
    Function.BIT_XOR: lambda call, values: reduce(xor, values),
    Function.BOOL_AND: lambda call, values: all(values),
    Function.BOOL_OR: lambda call, values: any(values),
}


def slow_answer(spec: GroupBySpec, bag: Counter[Row]) -> list[Row]:
    groups: dict[Row, list[Row]] = {} if spec.keys else {(): []}
    for row in bag.elements():
        groups.setdefault(tuple(printed(row[key]) for key in spec.keys), []).append(row)
    return [
        (*key, *(printed(slow_call(call, rows)) for call in spec.calls)) for key, rows in groups.items()
    ]


def printed(value: object) -> object:
    """Doubles as text: zeros are one, NaNs are equal. Decimals without their scale."""
    if isinstance(value, Decimal):
        return f"decimal {Fraction(value)}"
    return "double " + repr(value + 0.0) if isinstance(value, float) else value


def slow_changes(spec: GroupBySpec, changes: Sequence[Change], begin: int | None) -> list[tuple[int, Row, int]]:
    bag: Counter[Row] = Counter()
    shown: Counter[Row] = Counter()
    result = []
    instants = {ts for ts, _, _ in changes} | ({begin} if begin is not None and not spec.keys else set())
    for instant in sorted(instants):
        for ts, row, weight in changes:
            if ts == instant:
                bag[row] += weight
        hidden = not spec.keys and (begin is None or instant < begin)
        answer = Counter([] if hidden else slow_answer(spec, bag))
        result += [(instant, row, -1) for row in (shown - answer).elements()]
        result += [(instant, row, 1) for row in (answer - shown).elements()]
        shown = answer
    return result


# The fast one, fed with Python values.


def made_call(
    types: Sequence[Type], function: Function, argument: int | None, options: dict[str, object] | None = None
) -> AggregateCall:
    options = options or {}
    if "second" in options:
        options = options | {"second_type": types[options["second"]]}
    return AggregateCall(function, argument, None if argument is None else types[argument], **options)


class Bench:
    """A GROUP BY over columns of some types."""

    def __init__(
        self, types: Sequence[Type], keys: Sequence[int], calls: Calls, kind: type[GroupBySpec] = GroupBySpec
    ) -> None:
        columns = schema(*((f"c{place}", type_) for place, type_ in enumerate(types)))
        made = tuple(made_call(types, *call) for call in calls)
        names = tuple(f"o{place}" for place in range(len(keys) + len(made)))
        self.spec = kind(PortSpec(1, columns, Pattern.STRICT, ()), tuple(keys), made, names)
        self.layout = self.spec.input.layout
        self.arena = Arena.anonymous()
        self.attach()

    def attach(self) -> None:
        self.interner = Interner(self.arena)
        self.failures = Failures()
        self.operator = GroupBy(self.spec, OperatorContext(self.arena.scope("group"), self.interner, self.failures))

    def delta(self, changes: Sequence[Change]) -> Delta:
        types = self.layout.schema.types
        columns = [[row[place] for _, row, _ in changes] for place in range(len(types))]
        arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, types, strict=True)]
        rows = encode(arrays, self.layout, self.interner)
        for place, type_ in enumerate(types):
            if type_ == DOUBLE:  # as they are, negative zeros too
                raw = [struct.unpack("<q", struct.pack("<d", v))[0] if v is not None else 0 for v in columns[place]]
                rows[:, self.layout.lanes[place]] = raw
        ts, weight = np.array([c[0] for c in changes], np.int64), np.array([c[2] for c in changes], np.int64)
        return Delta(rows, ts, np.full(len(changes), FOREVER), weight)

    def run(self, changes: Sequence[Change], now: int, begin: int | None = None) -> list[tuple[int, Row, int]]:
        out = self.operator.run([self.delta(changes)], now, begin)
        assert (np.diff(out.ts) >= 0).all() and (out.expiry == FOREVER).all() and (out.ts < now).all()
        columns = [column.to_pylist() for column in decode(out.rows, self.spec.layout, self.interner)]
        rows = [tuple(printed(v) for v in row) for row in zip(*columns, strict=True)] if columns else [()] * len(out)
        return list(zip(out.ts.tolist(), rows, out.weight.tolist(), strict=True))

    def run_cut(self, changes: Sequence[Change], cuts: Iterable[int], begin: int | None) -> list[tuple[int, Row, int]]:
        result, before = [], -100
        for now in [*sorted(cuts), 10**9]:
            part = [change for change in changes if before <= change[0] < now]
            result += self.run(part, now, begin if begin is not None and begin < now else None)
            before = now
        return result


def by_instant(changes: list[tuple[int, Row, int]]) -> list[tuple[int, str, int]]:
    return sorted((ts, repr(row), weight) for ts, row, weight in changes)


# Random histories.

MANY = [BOOLEAN, INT, BIGINT, DOUBLE, decimal(9, 2), decimal(30, 4), decimal(38, 0), STRING, TIMESTAMP, DATE]
VALUES: list[list[object]] = [
    [True, False],
    [-(2**31), -1, 0, 5, 2**31 - 1],
    [-(2**63), 2**63 - 1, 2**62, 3, -7],
    [0.0, -0.0, 0.1, 1e300, -1e300, 5e-324, 1.5, math.nan, math.inf, -math.inf, -2.25],
    [Decimal("0.01"), Decimal("-9999999.99"), Decimal("1.50")],
    [Decimal("0.0001"), Decimal("-12345678901234567890.1234"), Decimal("18446744073709551616"), Decimal("7")],
    [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(1), Decimal(-3)],
    ["", "a", "ab", "b", "é", "zebra", "\U0001f600"],
    [datetime.datetime(2020, 1, 1), datetime.datetime(1960, 5, 5)],
    [datetime.date(2020, 1, 1), datetime.date(1960, 5, 5)],
]
SIMPLE_CALLS = [(COUNT, None)] + [(COUNT, c) for c in (3, 7)]
SIMPLE_CALLS += [(f, c) for f in (SUM, AVG) for c in (1, 2, 3, 4, 5, 6)] + [(f, c) for f in (MIN, MAX) for c in range(10)]


def history(seed: int, lifetimes: int, instants: int, columns: Sequence[int]) -> list[Change]:
    """Rows that come and (most of them) go; at one instant in any order."""
    chance = random.Random(seed)
    changes = []
    for _ in range(lifetimes):
        row = tuple(chance.choice([None, *VALUES[c]]) if c in columns else None for c in range(len(MANY)))
        weight = chance.choice([1, 1, 1, 2, 5])
        start = chance.randrange(instants)
        changes.append((start, row, weight))
        if chance.random() < 0.8:
            end = chance.randrange(start, instants)
            leaving = chance.choice([weight, 1])
            changes.append((end, row, -leaving))
            if leaving < weight:
                changes.append((chance.randrange(end, instants), row, leaving - weight))
    chance.shuffle(changes)
    return sorted(changes, key=lambda change: change[0])
