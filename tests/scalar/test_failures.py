"""An expression that fails on a row gives NULL and is counted there, and only where the row gets to it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from scalar_expressions import big, call, day, exact, failure, literal, run, ts, typed

from sash.scalar import build
from sash.scalar.evaluate import Failures
from sash.scalar.nodes import Call, Column
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal

ONE_BY_ZERO = call("divide", 1, 0)


@pytest.mark.parametrize(
    ("expression", "reason", "example"),
    [
        (ONE_BY_ZERO, "division by zero", "1.0, 0.0"),
        (call("divide", exact("1.5", 2, 1), 0), "division by zero", "1.5, 0"),
        (call("mod", 1, 0), "division by zero", "1, 0"),
        (call("pmod", 1.5, 0), "division by zero", "1.5, 0.0"),
        (call("div", 1, 0), "division by zero", "1, 0"),
        (call("div", big(-(2**63)), -1), "div overflows BIGINT", f"{-(2**63)}, -1"),
        (call("add", 2**31 - 1, 1), "add overflows INT", "2147483647, 1"),
        (call("subtract", big(-(2**63)), 1), "subtract overflows BIGINT", f"{-(2**63)}, 1"),
        (call("multiply", 2**62, 2), "multiply overflows BIGINT", f"{2**62}, 2"),
        (call("multiply", exact("9" * 38, 38, 0), 10), "multiply overflows DECIMAL(38, 0)", "9" * 38 + ", 10"),
        (call("subtract", exact("9" * 38, 38, 0), exact("0." + "1" * 38, 38, 38)),
         "subtract overflows DECIMAL(38, 6)", "9" * 38 + ", 0." + "1" * 38),
        (call("negate", typed(-(2**31), INT)), "negate overflows INT", str(-(2**31))),
        (call("abs", typed(-(2**63), BIGINT)), "abs overflows BIGINT", str(-(2**63))),
        (call("round", 2**31 - 1, -1), "round overflows INT", "2147483647"),
        (call("floor", 1e300), "floor overflows BIGINT", "1e+300"),
        (call("equal", 1, call("lower", "A")), "cannot cast STRING to BIGINT", "a"),
        (call("make_date", 2021, 2, 29), "no such DATE in the calendar", "2021, 2, 29"),
        (call("date_add", day("9999-12-31"), 1), "no such DATE in the calendar", "9999-12-31, 1"),
        (call("date_add", day("2020-01-01"), -(2**31)), "no such DATE in the calendar", f"2020-01-01, {-(2**31)}"),
        (call("add_interval", ts("9999-12-31"), big(2**63 - 1)),
         "no such TIMESTAMP in the calendar", f"9999-12-31 00:00:00, {2**63 - 1}"),
        (call("timestamp_millis", big(-(2**63))), "no such TIMESTAMP in the calendar", str(-(2**63))),
        (call("split_part", "a,b", ",", 0), "split_part has no part 0", "a,b, 0"),
        (call("to_timestamp", "xx", "yyyy"), "cannot read a TIMESTAMP by this format", "xx, yyyy"),
        (call("to_date", call("lower", "2020-02-30")), "cannot cast STRING to DATE", "2020-02-30"),
        (Call("cast", (literal("12x"),), INT), "cannot cast STRING to INT", "12x"),
        (Call("cast", (literal(3e9),), INT), "cannot cast DOUBLE to INT", "3000000000.0"),
        (Call("cast", (literal(exact("1000", 4, 0)),), decimal(3, 0)), "cannot cast DECIMAL(4, 0) to DECIMAL(3, 0)", "1000"),
    ],
    ids=lambda part: str(part)[:50],
)  # fmt: skip
def test_failure(expression: object, reason: str, example: str) -> None:
    assert failure(expression) == (reason, example)  # type: ignore[arg-type]


def test_only_the_failing_rows_are_null_and_counted() -> None:
    numbers = pa.array([1, 0, None, 2**31 - 1, 0], pa.int32())
    column = Column(0, INT, "x")
    values, failures = run(call("divide", 6, column), 5, {0: numbers})
    assert values == [6.0, None, None, 6 / (2**31 - 1), None]
    assert failures.items() == [("division by zero", 2, "6.0, 0.0")]
    values, failures = run(call("add", column, 1), 5, {0: numbers})
    assert values == [2, 1, None, None, 1]
    assert failures.total == 1


def test_null_divided_by_zero_is_no_failure() -> None:
    assert run(call("divide", typed(None, DOUBLE), 0))[1].total == 0


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        (call("if", False, ONE_BY_ZERO, 5), 5.0),
        (call("case", True, 5, True, ONE_BY_ZERO, ONE_BY_ZERO), 5.0),
        (call("case", False, ONE_BY_ZERO, True, 5, ONE_BY_ZERO), 5.0),
        (call("coalesce", 5, ONE_BY_ZERO), 5.0),
        (call("nvl2", None, ONE_BY_ZERO, 5), 5.0),
        (call("and", False, call("equal", ONE_BY_ZERO, 1)), False),
        (call("or", True, call("equal", ONE_BY_ZERO, 1)), True),
    ],
)
def test_a_branch_that_is_not_taken_does_not_fail(expression: object, answer: object) -> None:
    values, failures = run(expression)  # type: ignore[arg-type]
    assert values == [answer, answer]
    assert failures.total == 0


def test_a_guarded_division_fails_only_where_the_guard_lets_it() -> None:
    column = Column(0, INT, "x")
    guarded = call("and", call("less", column, 5), call("greater", call("divide", 1, column), 0))
    values, failures = run(guarded, 4, {0: pa.array([0, 1, 9, None], pa.int32())})
    assert values == [None, True, False, None]
    assert failures.total == 1
    nested = call("if", call("greater", column, 0), call("if", True, call("divide", 1, column), 0), -1)
    values, failures = run(nested, 3, {0: pa.array([0, 2, None], pa.int32())})
    assert values == [-1.0, 0.5, -1.0]
    assert failures.total == 0


def test_try_cast_is_never_counted() -> None:
    values, failures = run(build.cast(literal("x"), INT, try_=True))
    assert values == [None, None]
    assert failures.total == 0


def test_a_pattern_from_a_column_fails_in_its_row() -> None:
    texts, patterns = Column(0, STRING, "t"), Column(1, STRING, "p")
    columns = {0: pa.array(["ab", "ab", None, "xyz"]), 1: pa.array(["a.", "((", "a", "z$"])}
    values, failures = run(call("rlike", texts, patterns), 4, columns)
    assert values == [True, None, None, True]
    assert failures.items() == [("rlike needs a pattern", 1, "((")]


def test_failures_add_up_and_keep_the_first_example() -> None:
    failures = Failures()
    failures.count("a", 2, "x")
    failures.count("b", 1, None)
    failures.count("a", 3, "y")
    failures.count("c", 0, "z")
    assert failures.items() == [("a", 5, "x"), ("b", 1, None)]
    assert failures.total == 6


@pytest.mark.parametrize("type_", [BOOLEAN, INT, BIGINT, DOUBLE, STRING, TIMESTAMP, DATE, decimal(20, 3)])
def test_null_of_every_type(type_: object) -> None:
    values, failures = run(build.null(type_))  # type: ignore[arg-type]
    assert values == [None, None]
    assert failures.total == 0
