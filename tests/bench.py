"""Operators fed with Python values: what their tests share.

A history is a list of changes (instant, row, weight) of one input, in the order of time. `Bench.run_cut` plays histories in
pieces and builds the operator anew over the same arena at every cut, as another process would.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Layout
from sash.operators.operator import Operator, OperatorContext
from sash.operators.spec import PortSpec, Spec
from sash.plan.nodes import Order
from sash.plan.patterns import Pattern
from sash.scalar.evaluate import Failures
from sash.schema import BIGINT, DOUBLE, FOREVER, INT, STRING, Schema, decimal, schema
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import decode, encode
from sash.testing import tables

Row = tuple[object, ...]
Change = tuple[int, Row, int]

END = 10**9


def port(columns: Schema, name: str = "s", carries: Pattern = Pattern.STRICT) -> PortSpec:
    return PortSpec(1, columns, carries, (), name)


class Bench:
    """One operator over an arena of its own."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.arena = Arena.anonymous()
        self.attach()

    def attach(self) -> None:
        self.interner = Interner(self.arena)
        self.operator: Operator = self.spec.build(OperatorContext(self.arena.scope("it"), self.interner, Failures()))

    def run(self, inputs: Sequence[Sequence[Change]], now: int) -> list[Change]:
        layouts = [below.layout for below in self.spec.inputs]
        deltas = [self.delta(changes, layout) for changes, layout in zip(inputs, layouts, strict=True)]
        out = self.operator.run(deltas, now, None)
        assert (np.diff(out.ts) >= 0).all() and (out.ts < now).all() and out.weight.all()
        columns = [column.to_pylist() for column in decode(out.rows, self.spec.layout, self.interner)]
        rows = [tuple(map(plain, row)) for row in zip(*columns, strict=True)] if columns else [()] * len(out)
        return list(zip(out.ts.tolist(), rows, out.weight.tolist(), strict=True))

    def run_cut(self, histories: Sequence[Sequence[Change]], cuts: Iterable[int] = (), end: int = END) -> list[Change]:
        result: list[Change] = []
        before = -END
        for now in [*sorted(cuts), end]:
            result += self.run([[c for c in history if before <= c[0] < now] for history in histories], now)
            self.attach()
            before = now
        return result

    def delta(self, changes: Sequence[Change], layout: Layout) -> Delta:
        columns = list(zip(*(row for _, row, _ in changes), strict=True)) or [()] * len(layout.schema)
        arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, layout.schema.types, strict=True)]
        rows = encode(arrays, layout, self.interner) if arrays else np.zeros((len(changes), layout.width), np.int64)
        ts, weight = (np.array([change[place] for change in changes], np.int64) for place in (0, 2))
        return Delta(rows, ts, np.full(len(changes), FOREVER), weight)

    def held_strings(self) -> set[str]:
        """The strings that somebody keeps."""
        codes: set[int] = set()
        for holder in self.interner.holders:
            rows, lanes = holder()
            codes |= {code for lane in lanes for code in rows[:, lane].tolist() if code}
        return set(self.interner.decode(np.array(sorted(codes), np.int64)).to_pylist())


def plain(value: object) -> object:
    """A value that can be compared: zeros are one, NaNs are equal, decimals have no scale."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return float(value) if isinstance(value, Decimal) else value


def net(changes: Iterable[Change]) -> dict[tuple[int, Row], int]:
    """What every instant really changed."""
    total: Counter[tuple[int, Row]] = Counter()
    for ts, row, weight in changes:
        total[ts, tuple(map(plain, row))] += weight
    return {key: weight for key, weight in total.items() if weight}


def recomputed(
    histories: Sequence[Sequence[Change]], answer: Callable[[int, list[Counter[Row]]], Counter[Row]]
) -> dict[tuple[int, Row], int]:
    """The net changes of an answer that is computed afresh after every instant, from the bags of all inputs."""
    bags: list[Counter[Row]] = [Counter() for _ in histories]
    shown: Counter[Row] = Counter()
    result: list[Change] = []
    for instant in sorted({ts for history in histories for ts, _, _ in history}):
        for bag, history in zip(bags, histories, strict=True):
            for ts, row, weight in history:
                if ts == instant:
                    bag[tuple(map(plain, row))] += weight
            assert all(count >= 0 for count in bag.values())
        now_shown = answer(instant, [+bag for bag in bags])
        result += [(instant, row, now_shown[row] - shown[row]) for row in {*shown, *now_shown}]
        shown = now_shown
    return net(result)


def rank(value: object, order: Order) -> tuple[object, ...]:
    """A key that sorts values of one column as the order says."""
    if value is None:
        return (0 if order.nulls_first else 2,)
    sign = -1 if order.is_descending else 1
    if isinstance(value, str) and value != "nan":
        return 1, [sign * (byte + 1) for byte in value.encode()] + [0]
    major, minor = (1, 0) if value == "nan" else (0, value)
    return 1, sign * major, sign * minor  # type: ignore[operator]


def in_order(rows: Sequence[Row], orders: Sequence[Order] = ()) -> list[Row]:
    """Rows sorted by an ORDER BY, ties by the full row."""
    everything = [*orders, *(Order(column) for column in range(len(rows[0])))] if rows else []
    return sorted(rows, key=lambda row: [rank(row[order.column], order) for order in everything])


def text(*lines: str, schema: Schema) -> list[Change]:
    """A history written as text; instants are seconds."""
    return [(change.ts, change.row, change.op) for change in tables.changes(*lines, schema=schema)]


def shown(changes: Iterable[Change]) -> list[str]:
    """Changes as text, in their order, one line for every unit of weight."""
    units = [tables.Change(1 if w > 0 else -1, ts, row) for ts, row, w in changes for _ in range(abs(w))]
    return tables.show(units).splitlines()


# Random histories.

COLUMNS = schema(("name", STRING), ("n", INT), ("x", DOUBLE), ("big", BIGINT), ("amount", decimal(30, 4)))
VALUES: list[list[object]] = [
    ["", "a", "ab", "b", "é"],
    [-3, 0, 5],
    [0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf],
    [-(2**63), 2**63 - 1, 7],
    [Decimal("-12345678901234567890.1234"), Decimal("0.0001"), Decimal("18446744073709551616")],
]


def random_row(chance: random.Random, columns: Sequence[int]) -> Row:
    """Only some columns vary; the others are NULL."""
    return tuple(chance.choice([None, *values]) if c in columns else None for c, values in enumerate(VALUES))


def history(seed: int, lifetimes: int, instants: int, columns: Sequence[int], *, all_leave: bool = False) -> list[Change]:
    """Rows that come and (most of them) go; at one instant in any order."""
    chance = random.Random(seed)
    changes: list[Change] = []
    for _ in range(lifetimes):
        row, weight = random_row(chance, columns), chance.choice([1, 1, 1, 2, 5])
        start = chance.randrange(instants)
        changes.append((start, row, weight))
        if all_leave or chance.random() < 0.8:
            end = chance.randrange(start, instants)
            leaving = chance.choice([weight, 1])
            changes.append((end, row, -leaving))
            if leaving < weight:
                changes.append((chance.randrange(end, instants), row, leaving - weight))
    chance.shuffle(changes)
    return sorted(changes, key=lambda change: change[0])
