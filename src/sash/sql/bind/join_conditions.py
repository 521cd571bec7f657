"""What ON, USING and NATURAL demand of a join, and which columns USING makes one.

After a comma ON means the inputs after it. As in Spark, that of an inner join may name those before it, too.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sash.scalar.nodes import Column, Expression
from sash.sql.bind.conditions import conjuncts
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.join_steps import INNER
from sash.sql.bind.scope import Scope


def join_conditions(scope: Scope, last: int, join: exp.Join, kind: str) -> tuple[Scope, list[Expression]]:
    """What ON, USING or NATURAL demands, and the scope in which USING has merged its columns."""
    conditions: list[Expression] = []
    if (on := join.args.get("on")) is not None and join.args.get("method") != "NATURAL":
        is_known = kind != INNER or all(scope.knows(column) for column in on.find_all(exp.Column))
        binder = ExpressionBinder(scope if is_known else replace(scope, first=0), "ON")
        conditions += [binder.condition(part) for part in conjuncts(on)]
    names = list(join.args.get("using") or ())
    if join.args.get("method") == "NATURAL":
        names = _shared(scope, last)
    kept = []
    for name in names:
        scope, condition, column = _merged(scope, last, name, kind)
        conditions.append(condition)
        kept.append(column)
    return scope.led_by(kept), conditions


def _shared(scope: Scope, last: int) -> list[exp.Expr]:
    """The columns that NATURAL means: those that both sides have."""
    names = {column.name.lower() for column in scope.starred if scope.owner(column) >= last}
    before = [column.name for column in scope.starred if scope.owner(column) < last]
    return [exp.to_identifier(name) for name in before if name.lower() in names]


def _merged(scope: Scope, last: int, name: exp.Expr, kind: str) -> tuple[Scope, Expression, Column]:
    """USING: the column of the last item equals the one before; only one of the two, the last result, is seen by itself."""
    before, after = replace(scope, inputs=scope.inputs[:last]), replace(scope, first=last)
    left, right = (side.resolve(exp.Column(this=name.copy())) for side in (before, after))
    condition = ExpressionBinder(scope, "USING").call(name, "equal", [before.shown(left), after.shown(right)])
    if kind == "RIGHT":
        return replace(scope, merged={**scope.merged, left.index: right.index}), condition, right
    if kind == "FULL":
        twins = (*scope.twins.get(left.index, ()), right, *scope.twins.get(right.index, ()))
        scope = replace(scope, twins={**scope.twins, left.index: twins})
    return replace(scope, merged={**scope.merged, right.index: left.index}), condition, left
