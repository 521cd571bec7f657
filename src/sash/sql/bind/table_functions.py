"""Functions in FROM: arrays taken apart, one row for every element. They may read columns of the inputs before them.

    FROM t, UNNEST(t.a) AS u(x)                         Unnest of t's rows: it keeps nothing
    FROM t LEFT JOIN UNNEST(t.a) AS u(x) ON TRUE        the same, with NULL where there are no elements
    FROM t, UNNEST(t.a) WITH ORDINALITY AS u(x, n)      the place of each element, too
    FROM GENERATE_SERIES(1, 3) AS g(n)                  of a single row; also RANGE(3), which begins at 0 and has no end
    FROM t LATERAL VIEW EXPLODE(a) u AS x               as Spark writes it
    SELECT k, UNNEST(a) AS x FROM t                     one in the select list
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sash.plan.nodes import Plan, Project, SingleRow
from sash.plan.rules.conditions import TRUE
from sash.plan.unnest import Unnest
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BIGINT, Kind
from sash.sql.bind.context import Context
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.joins import Part
from sash.sql.bind.outer_columns import inside
from sash.sql.bind.projections import columns
from sash.sql.bind.scope import Input, Scope
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import at, fault

_ARRAYS = ("unnest", "explode", "explode_outer")
_SERIES = ("generate_series", "sequence", "range")


def is_table_function(node: exp.Expr) -> bool:
    return _call(node) is not None


def bind_table_function(node: exp.Expr, context: Context) -> Input:
    """A function as an input; `context.outer` has the inputs before it."""
    call = _call(node)
    assert call is not None
    name, given = call
    binder = ExpressionBinder(Scope((), outer=context.outer), "FROM")
    if name in _SERIES:
        ends = [binder.part(part) for part in given]
        array = _range(node, ends) if name == "range" else binder.call(node, name, ends)
    else:
        if len(given) != 1:
            raise fault(node, f"{name.upper()} takes one array, not {len(given)}")
        array = binder.bind(given[0])
        if array.type.kind is not Kind.ARRAY:
            raise fault(given[0], f"{name.upper()} needs an ARRAY, but this is {array.type}")
    alias = node.args.get("alias")
    names = [] if alias is None else [column.name for column in alias.args.get("columns") or ()]
    place = _place_name(node, names)
    label = "" if alias is None else alias.name
    if len(names) > 1 + (place is not None):
        raise fault(alias, f"{len(names)} names are given, but there are {1 + (place is not None)} columns")
    unnamed = "id" if name == "range" else label or name
    whole = Unnest(SingleRow(), array, names[0] if names else unnamed, place, name == "explode_outer")
    shown = columns(whole)[1:]
    return Input(Project(whole, tuple(shown), tuple(column.name for column in shown)), label, "function")


def _range(node: exp.Expr, ends: list[Expression]) -> Expression:
    """RANGE(end), or RANGE(start, end, step): the end is not part of it."""
    if not 1 <= len(ends) <= 3:
        raise fault(node, f"RANGE takes an end, or a start, an end and a step, not {len(ends)} numbers")
    start, end, *steps = [Literal(0, BIGINT), *ends] if len(ends) == 1 else ends
    step = steps[0] if steps else Literal(1, BIGINT)
    with at(node):
        start, end, step = (build.cast(part, BIGINT) for part in (start, end, step))
        last = build.call("subtract", [end, build.cast(build.call("sign", [step]), BIGINT)])
        return build.call("generate_series", [start, last, step])


def unnested(left: Part, right: Part, level: int, is_outer: bool) -> Part | None:
    """The rows of a part with what a function makes of each; None if the right part is something else."""
    function = _function_of(right.plan)
    if function is None:
        return None
    array = left.over(inside(function.array, level))
    places = {column: left.width + place for column, place in right.places.items()}
    is_outer = is_outer or function.is_outer
    return Part(replace(function, input=left.plan, array=array, is_outer=is_outer), left.places | places)


def is_unnested(right: Part, kind: str, conditions: tuple[object, ...]) -> bool:
    """Whether a join is the work of Unnest: one that keeps the left rows does so without conditions."""
    if _function_of(right.plan) is None:
        return False
    return kind == "INNER" or (kind == "LEFT" and all(condition == TRUE for condition in conditions))


def _function_of(plan: Plan) -> Unnest | None:
    """The function that an input is, with all its columns."""
    if not isinstance(plan, Project) or not isinstance(plan.input, Unnest) or not isinstance(plan.input.input, SingleRow):
        return None
    return plan.input if plan.expressions == tuple(columns(plan.input))[1:] else None


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr]] | None:
    """The name of a function in FROM, and its arguments."""
    inner = node.this if isinstance(node, exp.Table | exp.Lateral) else node
    if isinstance(inner, exp.Unnest):
        return "unnest", list(inner.expressions)
    if isinstance(inner, exp.Anonymous) and inner.name.lower() in (*_ARRAYS, *_SERIES):
        return inner.name.lower(), list(inner.expressions)
    return None


def _place_name(node: exp.Expr, names: list[str]) -> str | None:
    inner = node.this if isinstance(node, exp.Lateral) else node
    only(inner, ("this", "expressions", "alias", "offset", "ordinality", "view", "outer"))
    offset = inner.args.get("offset") or node.args.get("ordinality")
    if not offset:
        return None
    if isinstance(offset, exp.Identifier):
        return str(offset.name)
    return names[1] if len(names) > 1 else "ordinality"


def take_out_of_items(select: exp.Select) -> None:
    """LATERAL VIEW, and UNNEST in the select list, become functions in FROM; in place."""
    joins = list(select.args.get("joins") or ())
    for view in select.args.get("laterals") or ():
        side = {"side": "LEFT", "on": exp.true()} if view.args.get("outer") else {"kind": "CROSS"}
        lateral = exp.Lateral(this=view.this.copy(), alias=view.args.get("alias"))
        joins.append(exp.Join(this=lateral, **side))
    select.set("laterals", None)
    found = [item for item in select.expressions if _is_item(item.unalias())]
    if len(found) > 1:
        raise not_yet(found[1], "a second UNNEST in a select list")
    for item in found:
        name = item.alias or "col"
        alias = exp.TableAlias(this=exp.to_identifier("_unnested"), columns=[exp.to_identifier(name)])
        lateral = exp.Lateral(this=item.unalias().copy(), alias=alias)
        if select.args.get("from_") is None:
            select.set("from_", exp.From(this=lateral))
        else:
            joins.append(exp.Join(this=lateral, kind="CROSS"))
        item.replace(exp.alias_(exp.column(name, table="_unnested"), name))
    if joins:
        select.set("joins", joins)


def _is_item(node: exp.Expr) -> bool:
    return isinstance(node, exp.Unnest) or (isinstance(node, exp.Anonymous) and node.name.lower() in _ARRAYS)
