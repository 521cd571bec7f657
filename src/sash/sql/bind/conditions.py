"""Conditions: taken apart at AND, put together again, and decided at once where they read no column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sash.scalar import build
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.scalar.nodes import Call, Expression, Literal, leaves
from sash.schema import BOOLEAN
from sash.sql.bind.now import reads_time
from sash.sql.syntax.nesting import operands

GROUPING = "grouping"  # a call that tells which keys a set of GROUP BY leaves out; `groups.py` gives it a column
TRUE = Literal(True, BOOLEAN)
FALSE = Literal(False, BOOLEAN)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND ties together."""
    inner = node.unnest()
    if not isinstance(inner, exp.And):
        yield node
        return
    for part in operands(inner, exp.And):
        yield from conjuncts(part)


def parts_of(conditions: Sequence[Expression]) -> Iterator[Expression]:
    """Bound conditions taken apart: BETWEEN is two."""
    for condition in conditions:
        if isinstance(condition, Call) and condition.function == "and":
            yield from parts_of(condition.arguments)
        else:
            yield condition


def conjunction(conditions: Sequence[Expression]) -> Expression:
    return conditions[0] if len(conditions) == 1 else build.call("and", conditions)


def reads_groups(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    return expression.function == GROUPING or any(map(reads_groups, expression.arguments))


def constant(expression: Expression) -> Literal | None:
    """The value of an expression that reads no column; one that fails has none."""
    if isinstance(expression, Literal):
        return expression
    if any(leaves(expression)) or reads_time(expression) or reads_groups(expression):
        return None
    failures = Failures()
    (value,) = evaluate(expression, {}, 1, failures).to_pylist()
    return None if failures.items() else Literal(value, expression.type)
