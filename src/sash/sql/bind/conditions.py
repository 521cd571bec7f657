"""Conditions: taken apart at AND as they are written, and decided at once where they read no column."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.scalar.nodes import Expression, Literal, calls, leaves
from sash.schema import BOOLEAN
from sash.sql.bind.now import reads_time
from sash.sql.syntax.nesting import operands

GROUPING = "grouping"  # a call that tells which keys a set of GROUP BY leaves out; `groups.py` gives it a column
FALSE = Literal(False, BOOLEAN)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND ties together."""
    inner = node.unnest()
    if not isinstance(inner, exp.And):
        yield node
        return
    for part in operands(inner, exp.And):
        yield from conjuncts(part)


def reads_groups(expression: Expression) -> bool:
    return any(call.function == GROUPING for call in calls(expression))


def constant(expression: Expression) -> Literal | None:
    """The value of an expression that reads no column; one that fails has none."""
    if isinstance(expression, Literal):
        return expression
    if any(leaves(expression)) or reads_time(expression) or reads_groups(expression):
        return None
    failures = Failures()
    (value,) = evaluate(expression, {}, 1, failures).to_pylist()
    return None if failures.items() else Literal(value, expression.type)
