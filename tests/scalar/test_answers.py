"""Every function gives what Spark SQL gives: of constants, of columns, of one row and of none."""

from __future__ import annotations

import pytest
from answers import ANSWERS
from scalar_expressions import as_columns, call, run, value

from sash.errors import SashError
from sash.scalar.build import function_names
from sash.scalar.functions import FUNCTIONS
from sash.schema import Type

Case = tuple[str, tuple[object, ...], object, Type]

# For these NULL is a value like others, so a NULL argument need not make the result NULL.
NULL_MATTERS = {
    "coalesce", "nvl", "nvl2", "nullif", "only_row", "case", "if", "in", "greatest", "least", "null_safe_equal", "is_null", "isnan",
    "is_not_null", "is_true", "is_false", "concat_ws", "between", "array", "array_append", "array_prepend", "array_repeat",
}  # fmt: skip


def named(case: Case) -> str:
    return f"{case[0]}{case[1]}"[:60]


@pytest.mark.parametrize("case", ANSWERS, ids=named)
def test_of_constants(case: Case) -> None:
    name, arguments, answer, type_ = case
    expression = call(name, *arguments)
    assert expression.type == type_
    assert repr(value(expression)) == repr(answer)


@pytest.mark.parametrize("case", ANSWERS, ids=named)
def test_of_columns_and_null(case: Case) -> None:
    name, arguments, answer, type_ = case
    try:
        expression, columns = as_columns(name, *arguments)
    except SashError:
        pytest.skip("takes constants only")
    values, failures = run(expression, 2, columns)
    assert failures.total == 0
    if columns and FUNCTIONS[name].name not in NULL_MATTERS:
        assert values[0] is None
    if expression.type == type_:  # beside a DECIMAL an integer column has more digits than a constant
        assert repr(values[1]) == repr(answer)


@pytest.mark.parametrize("case", ANSWERS, ids=named)
def test_of_no_rows_and_of_one(case: Case) -> None:
    name, arguments, answer, _ = case
    assert run(call(name, *arguments), 0)[0] == []
    assert repr(run(call(name, *arguments), 1)[0]) == repr([answer])
    try:
        expression, columns = as_columns(name, *arguments)
    except SashError:
        return
    assert run(expression, 0, {place: column.slice(0, 0) for place, column in columns.items()})[0] == []


def test_every_function_that_is_not_elementary_has_an_answer() -> None:
    elementary: set[str] = {
        "cast", "try_cast", "and", "or", "not", "positive", "exp", "expm1", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "radians", "atan2", "pi", "e", "octet_length", "sha1",
        "start of session", "end of session",  # of groups, not of rows: tests/slt/aggregates/sessions.slt
    }  # fmt: skip
    answered = {FUNCTIONS[name].name for name, _, _, _ in ANSWERS}
    assert {FUNCTIONS[name].name for name in function_names()} - answered - elementary == set()
