"""FROM and JOIN: the scope of a query, and the conditions that ON and USING give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from sash.scalar.nodes import Column, Expression
from sash.sql.binder.context import Context
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.inputs import BindQuery, bind_input
from sash.sql.binder.scope import Input, Scope
from sash.sql.binder.support import not_yet, only
from sash.sql.places import fault


def bind_from(select: exp.Select, context: Context, bind_query: BindQuery) -> tuple[Scope, list[Expression]]:
    """The inputs of a query in the order of the text, and what their joins demand."""
    source = select.args.get("from_")
    if source is None:
        raise fault(select, "a query needs FROM", "name a stream, a table or a view")
    scope = Scope((bind_input(source.this, context, bind_query),))
    conditions: list[Expression] = []
    for join in select.args.get("joins") or ():
        _check_join(join)
        scope = _widened(scope, bind_input(join.this, context, bind_query), join)
        if (on := join.args.get("on")) is not None:
            binder = ExpressionBinder(scope, "ON")
            conditions += [binder.condition(part) for part in conjuncts(on)]
        for name in join.args.get("using") or ():
            scope, condition = _merged(scope, name)
            conditions.append(condition)
    return scope, conditions


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND ties together."""
    inner = node.unnest()
    if isinstance(inner, exp.And):
        yield from conjuncts(inner.this)
        yield from conjuncts(inner.expression)
    else:
        yield node


def _check_join(join: exp.Join) -> None:
    words = [join.args.get(part) for part in ("method", "side", "kind")]
    written = " ".join(word for word in words if word and word not in ("INNER", "CROSS"))
    if written:
        raise not_yet(join, f"{written} JOIN")
    only(join, ("this", "on", "using", "kind"))


def _widened(scope: Scope, item: Input, join: exp.Join) -> Scope:
    taken = {other.name.lower() for other in scope.inputs if other.name}
    if item.name.lower() in taken:
        raise fault(join.this, f'two inputs are called "{item.name}"', "give one of them another name with AS")
    return replace(scope, inputs=(*scope.inputs, item))


def _merged(scope: Scope, name: exp.Expr) -> tuple[Scope, Expression]:
    """USING: the column of the last input equals the one before, and is no longer seen by itself."""
    last = len(scope.inputs) - 1
    before = Scope(scope.inputs[:last], scope.merged)
    left = before.resolve(exp.Column(this=name.copy()))
    right = _column_of(scope, last, name)
    condition = ExpressionBinder(scope, "USING").call(name, "equal", [left, right])
    return replace(scope, merged={**scope.merged, right.index: left.index}), condition


def _column_of(scope: Scope, place: int, name: exp.Expr) -> Column:
    item = scope.inputs[place]
    found = Scope((item,)).resolve(exp.Column(this=name.copy()))
    return list(scope.columns(place))[found.index]
