"""UNION, INTERSECT and EXCEPT: both sides in the types that they have in common, under the names of the left one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sash.plan.nodes import Combination, Combine, Plan, Project
from sash.scalar import build
from sash.scalar.nodes import Column, Expression, Literal
from sash.schema import Type
from sash.sql.bind.context import Context
from sash.sql.bind.first_rows import first_rows
from sash.sql.bind.inputs import BindQuery
from sash.sql.bind.projections import columns, distinct, project, union
from sash.sql.bind.support import only
from sash.sql.syntax.dialect import default_window
from sash.sql.syntax.text_positions import at, fault

_KNOWN = ("this", "expression", "distinct", "with_", "windows", "order", "limit", "offset")
_OPERATORS: dict[tuple[type[exp.Expr], bool], Combination] = {
    (exp.Intersect, True): Combination.INTERSECT,
    (exp.Intersect, False): Combination.INTERSECT_ALL,
    (exp.Except, True): Combination.EXCEPT,
    (exp.Except, False): Combination.EXCEPT_ALL,
}


def bind_set_operation(node: exp.SetOperation, context: Context, bind_query: BindQuery) -> Plan:
    """A chain of unions is one union of all."""
    links = _links(node)
    for link in links:
        only(link, _KNOWN)
    sides = [bind_query(side, context) for side in (links[0].this, *(link.expression for link in links))]
    aligned = _aligned(links, sides)
    if isinstance(node, exp.Union):
        all_rows = union(aligned)
        return first_rows(node, distinct(all_rows) if node.args.get("distinct") else all_rows)
    left, right = aligned
    return first_rows(node, Combine(left, right, _OPERATORS[type(node), bool(node.args.get("distinct"))]))


def _links(node: exp.SetOperation) -> list[exp.SetOperation]:
    """The operators of a chain, the first one first: a union of a union without clauses of its own. UNION makes equal rows one,
    also those of a UNION ALL below it, so that is a chain, but not the other way round."""
    found = [node]
    while isinstance(first := found[-1].this, exp.Union) and isinstance(node, exp.Union) and _is_plain(first):
        if first.args.get("distinct") and not node.args.get("distinct"):
            break
        found.append(first)
    return found[::-1]


def _is_plain(node: exp.SetOperation) -> bool:
    has_clauses = any(value for part, value in node.args.items() if part not in ("this", "expression", "distinct"))
    return not has_clauses and default_window(node) is None


def _aligned(links: Sequence[exp.SetOperation], sides: Sequence[Plan]) -> list[Plan]:
    """All sides in the types that they have in common, found from left to right, as each link would find them."""
    values = _values(sides[0])
    met: list[list[Type]] = []  # the types after each link
    for link, side in zip(links, sides[1:], strict=True):
        if len(values) != len(side.schema):
            message = f"{link.key.upper()} needs as many columns on both sides: {len(values)} and {len(side.schema)}"
            raise fault(link, message)
        with at(link):
            met.append([build.unify(pair)[0].type for pair in zip(values, _values(side), strict=True)])
        values = [Column(place, type_, "") for place, type_ in enumerate(met[-1])]
    changes = [n for n, types in enumerate(met) if n == 0 or types != met[n - 1]]
    own = [0, *range(len(met))]  # the link at which each side comes in
    return [_cast_all(side, [met[n], *(met[m] for m in changes if m > n)]) for side, n in zip(sides, own, strict=True)]


def _cast_all(plan: Plan, steps: Sequence[list[Type]]) -> Plan:
    for types in steps:
        plan = _cast(plan, types)
    return plan


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
