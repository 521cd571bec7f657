"""Conditions: taken apart at AND, put together again, and decided at once where they read no column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sash.scalar import build
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.scalar.nodes import Call, Expression, Literal, columns
from sash.schema import BOOLEAN
from sash.sql.binder.now import reads_time

TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND ties together."""
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from conjuncts(inner.this)
        yield from conjuncts(inner.expression)
    else:
        yield node


def parts_of(conditions: Sequence[Expression]) -> Iterator[Expression]:
    """Bound conditions taken apart: BETWEEN is two."""
    for condition in conditions:
        if isinstance(condition, Call) and condition.function == "and":
            yield from parts_of(condition.arguments)
        else:
            yield condition


def conjunction(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else build.call("and", conditions)


def constant(expression: Expression) -> Literal | None:
    """The value of an expression that reads no column; one that fails has none."""
    if isinstance(expression, Literal):
        return expression
    if any(columns(expression)) or reads_time(expression):
        return None
    failures = Failures()
    (value,) = evaluate(expression, {}, 1, failures).to_pylist()
    return None if failures.items() else Literal(value, expression.type)
