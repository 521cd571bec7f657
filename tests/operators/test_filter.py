"""A filter tests comparisons with constants on lanes: it keeps, and counts as failed, what the whole expression does."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sash.deltas import Delta, Layout
from sash.operators.filter.conditions import parted
from sash.operators.filter.operator import Filter
from sash.operators.filter.spec import FilterSpec
from sash.operators.operator import OperatorContext
from sash.operators.spec import PortSpec
from sash.plan.patterns import Pattern
from sash.scalar import build
from sash.scalar.evaluate import Failures, evaluate
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, FOREVER, INT, STRING, TIMESTAMP, Schema, Type, decimal, schema
from sash.stores.arena import Arena
from sash.stores.interner import Interner
from sash.stores.lanes import encode

INFINITY, NAN = float("inf"), float("nan")
VALUES: dict[Type, list[object]] = {
    BOOLEAN: [True, False, None],
    INT: [-(2**31), -1, 0, 1, 2**31 - 1, None],
    BIGINT: [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1, None],
    DOUBLE: [-INFINITY, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, INFINITY, NAN, None],
    STRING: ["", "ann", "bob", "\u00e9", None],
    DATE: [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), None],
    TIMESTAMP: [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2024, 5, 1), None],
    decimal(10, 2): [Decimal("-1.25"), Decimal("0.00"), Decimal("1.25"), None],
    decimal(30, 2): [Decimal("-1.25"), Decimal("0.00"), Decimal(2**80), None],
}
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


class Filtering:
    """A filter over rows of some columns, beside the evaluation of its predicate as a whole."""

    def __init__(self, columns: Schema, arrays: list[pa.Array]) -> None:
        self.columns, self.arrays = columns, arrays
        self.interner = Interner(Arena.anonymous())
        rows = encode(arrays, Layout(columns), self.interner)
        ones = np.ones(len(rows), np.int64)
        self.delta = Delta(rows, np.arange(len(rows)), ones * FOREVER, ones)

    def by_filter(self, predicate: Expression) -> tuple[list[int], object]:
        port, failures = PortSpec(1, self.columns, Pattern.MONOTONIC, ()), Failures()
        context = OperatorContext(Arena.anonymous().scope("filter"), self.interner, failures)
        out = Filter(FilterSpec(port, predicate), context).run([self.delta], FOREVER, None)
        np.testing.assert_array_equal(out.rows, self.delta.rows[out.ts])
        return out.ts.tolist(), failures.items()

    def by_expression(self, predicate: Expression) -> tuple[list[int], object]:
        failures = Failures()
        found = evaluate(predicate, dict(enumerate(self.arrays)), len(self.delta), failures).to_pylist()
        return [place for place, value in enumerate(found) if value is True], failures.items()


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_a_column_and_a_constant(type_: Type) -> None:
    values = VALUES[type_]
    filtering = Filtering(schema(("x", type_)), [pa.array(values, type_.arrow)])
    column = Column(0, type_, "x")
    predicates = [
        build.call(name, sides)
        for name in COMPARISONS for value in values for sides in ([column, Literal(value, type_)], [Literal(value, type_), column])
    ]
    predicates += [build.call("between", [column, Literal(low, type_), Literal(high, type_)]) for low in values for high in values]
    predicates += [build.call(name, [column]) for name in ("is_null", "is_not_null")]
    for predicate in predicates:
        assert filtering.by_filter(predicate) == filtering.by_expression(predicate), str(predicate)


def test_comparisons_are_tested_on_lanes() -> None:
    """So that the test above has tested something."""
    for type_, values in VALUES.items():
        predicate = build.call("equal", [Column(0, type_, "x"), Literal(values[0], type_)])
        assert (parted(predicate)[1] is None) == (type_.lanes == 1)


def conditions() -> list[Expression]:
    x, y, name = Column(0, INT, "x"), Column(1, INT, "y"), Column(2, STRING, "name")
    zero, one = Literal(0, INT), Literal(1, INT)
    return [
        build.call("equal", [x, one]), build.call("greater", [y, zero]), build.call("not_equal", [name, Literal("ann", STRING)]),
        build.call("greater", [build.call("div", [one, y]), Literal(0, BIGINT)]),  # fails where y is 0
        build.call("is_null", [x]),
    ]


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
@pytest.mark.parametrize("third", range(5))
def test_conjunctions_fail_where_the_whole_expression_does(first: int, second: int, third: int) -> None:
    every = [(x, y, name) for x in (None, 0, 1) for y in (None, 0, 1) for name in (None, "ann", "bob")]
    types = (INT, INT, STRING)
    arrays = [pa.array(values, type_.arrow) for values, type_ in zip(zip(*every, strict=True), types, strict=True)]
    filtering = Filtering(schema(("x", INT), ("y", INT), ("name", STRING)), arrays)
    one, two, three = (conditions()[place] for place in (first, second, third))
    for predicate in (build.call("and", [one, two, three]), Call("and", (one, build.call("and", [two, three])), BOOLEAN)):
        assert filtering.by_filter(predicate) == filtering.by_expression(predicate), str(predicate)


def test_the_text_of_a_condition_keeps_its_code() -> None:
    """Texts that nobody holds are forgotten, and their codes given to others."""
    interner = Interner(Arena.anonymous())
    port = PortSpec(1, schema(("name", STRING)), Pattern.MONOTONIC, ())
    predicate = build.call("equal", [Column(0, STRING, "name"), Literal("ann", STRING)])
    context = OperatorContext(Arena.anonymous().scope("filter"), interner, Failures())
    operator = Filter(FilterSpec(port, predicate), context)
    kept = 0
    for step in range(40):
        interner.sweep()
        names = ["ann", *(f"{step} {number}" for number in range(1000))]
        rows = encode([pa.array(names)], port.layout, interner)
        ones = np.ones(len(rows), np.int64)
        kept += len(operator.run([Delta(rows, ones * step, ones * FOREVER, ones)], step + 1, None))
    assert kept == 40
    assert interner.count < 20_000
