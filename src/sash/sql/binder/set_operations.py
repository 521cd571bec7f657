"""UNION, INTERSECT and EXCEPT: both sides in the types that they have in common, under the names of the left one."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sash.logical.nodes import Combination, Combine, Plan, Project
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import Type
from sash.sql.binder.context import Context
from sash.sql.binder.first_rows import first_rows
from sash.sql.binder.inputs import BindQuery
from sash.sql.binder.projections import columns, distinct, project
from sash.sql.binder.support import only
from sash.sql.places import at, fault

_KNOWN = ("this", "expression", "distinct", "with_", "windows", "order", "limit", "offset")
_OPERATORS: dict[tuple[type[exp.Expr], bool], Combination] = {
    (exp.Intersect, True): Combination.INTERSECT,
    (exp.Intersect, False): Combination.INTERSECT_ALL,
    (exp.Except, True): Combination.EXCEPT,
    (exp.Except, False): Combination.EXCEPT_ALL,
}


def bind_set_operation(node: exp.SetOperation, context: Context, bind_query: BindQuery) -> Plan:
    only(node, _KNOWN)
    left, right = bind_query(node.this, context), bind_query(node.expression, context)
    if len(left.schema) != len(right.schema):
        message = f"{node.key.upper()} needs as many columns on both sides: {len(left.schema)} and {len(right.schema)}"
        raise fault(node, message)
    with at(node):
        left, right = _aligned(left, right)
    return first_rows(node, _combined(node, left, right))


def _combined(node: exp.SetOperation, left: Plan, right: Plan) -> Plan:
    is_distinct = bool(node.args.get("distinct"))
    if not isinstance(node, exp.Union):
        return Combine(left, right, _OPERATORS[type(node), is_distinct])
    both = Combine(left, right, Combination.UNION_ALL)
    return distinct(both) if is_distinct else both


def _aligned(left: Plan, right: Plan) -> tuple[Plan, Plan]:
    pairs = zip(_values(left), _values(right), strict=True)
    types = [build.unify(pair)[0].type for pair in pairs]
    return _cast(left, types), _cast(right, types)


def _values(plan: Plan) -> list[Expression]:
    """The columns of a side; NULL written as a column takes the type of the other side."""
    computed = plan.expressions if isinstance(plan, Project) else ()
    written = {n: part for n, part in enumerate(computed) if isinstance(part, Literal)}
    return [written.get(n, column) for n, column in enumerate(columns(plan))]


def _cast(plan: Plan, types: list[Type]) -> Plan:
    """A plan in these types; what is computed right below is cast there."""
    if isinstance(plan, Project):
        inner = zip(plan.expressions, types, strict=True)
        return replace(plan, expressions=tuple(build.cast(part, type_) for part, type_ in inner))
    casts = [build.cast(column, type_) for column, type_ in zip(columns(plan), types, strict=True)]
    return project(plan, casts, plan.schema.names)
