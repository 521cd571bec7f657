"""VALUES: rows of constants, as single rows put together. The columns are called col1, col2, ..."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sash.plan.nodes import Combination, Combine, Plan, Project, SingleRow
from sash.scalar import build
from sash.scalar.nodes import Expression
from sash.sql.bind.support import only
from sash.sql.syntax.text_positions import at, fault


def bind_values(node: exp.Values) -> Plan:
    from sash.sql.bind.expressions import ExpressionBinder
    from sash.sql.bind.scope import Scope

    only(node, ("expressions", "alias", "order", "limit", "offset"))
    binder = ExpressionBinder(Scope(()), "VALUES")
    rows = [[binder.bind(value) for value in _row(row)] for row in node.expressions]
    for row, given in zip(rows, node.expressions, strict=True):
        if len(row) != len(rows[0]):
            raise fault(given, f"this row has {len(row)} values, but the first has {len(rows[0])}")
    names = tuple(f"col{place}" for place in range(1, len(rows[0]) + 1))
    plans: list[Plan] = [Project(SingleRow(), row, names) for row in _aligned(rows, node)]
    return reduce(lambda left, right: Combine(left, right, Combination.UNION_ALL), plans)


def _row(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node.unnest()]


def _aligned(rows: list[list[Expression]], node: exp.Values) -> list[tuple[Expression, ...]]:
    """Rows whose columns have one type each."""
    with at(node):
        columns = [build.unify(column) for column in zip(*rows, strict=True)]
    return list(zip(*columns, strict=True))
