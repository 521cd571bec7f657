"""FROM and JOIN: the scope of a query, and the steps that join its inputs.

A comma binds looser than JOIN, and a join in parentheses is joined by itself.

    a, b FULL JOIN c ON ...             a and (b FULL JOIN c ON ...)
    a LEFT JOIN b JOIN c ON ... ON ...  a LEFT JOIN (b JOIN c ON ...) ON ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sash.plan.nodes import SingleRow
from sash.scalar.nodes import Column, Leaf, leaves
from sash.sql.bind.as_of import AS_OF, AS_OF_LEFT
from sash.sql.bind.context import Context
from sash.sql.bind.inputs import BindQuery, bind_input, bind_stream
from sash.sql.bind.join_conditions import join_conditions
from sash.sql.bind.join_steps import INNER, KEEPS_LEFT, Joined, Step
from sash.sql.bind.joins import Part
from sash.sql.bind.outer_columns import inside, is_of, is_tied
from sash.sql.bind.references import Key, OuterColumn, expressions_of
from sash.sql.bind.scope import Input, Scope
from sash.sql.bind.sequences import sequence
from sash.sql.bind.support import not_yet, only
from sash.sql.bind.table_functions import bind_table_function, is_table_function
from sash.sql.syntax.stream_syntax import FOLLOWED_BY, MINUS, window_of
from sash.sql.syntax.text_positions import fault

_HIDES_RIGHT = ("SEMI", "ANTI", MINUS)


def bind_from(select: exp.Select, context: Context, bind_query: BindQuery, scope: Scope) -> Joined:
    """The inputs of a query in the order of the text; without FROM, it reads a row that has nothing to name."""
    source = select.args.get("from_")
    if source is None:
        return Joined(scope.widened(Input(SingleRow(), "", "row", is_hidden=True)), (Step(INNER, Part(SingleRow(), {0: 0}), ()),))
    return _listed(scope, source.this, select.args.get("joins") or (), context, bind_query)


def _listed(
    scope: Scope, first: exp.Expr, joins: Sequence[exp.Join], context: Context, bind_query: BindQuery
) -> Joined:
    """What commas separate, each with its own joins."""
    commas = [n for n, join in enumerate(joins) if _is_comma(join)]
    ends = [*commas, len(joins)]
    joined = _chain(Joined(scope, ()), first, joins[: ends[0]], context, bind_query)
    for start, end in zip(commas, ends[1:], strict=True):
        alone = Joined(joined.scope.fenced(), ())
        joined = _beside(joined, _chain(alone, joins[start].this, joins[start + 1 : end], context, bind_query))
    return joined


def _is_comma(join: exp.Join) -> bool:
    return not any(value for part, value in join.args.items() if part != "this")


def _beside(left: Joined, right: Joined) -> Joined:
    """Two parts of a list: inner joins of both can be put in one order; what is LATERAL must come after what it reads."""
    steps = right.steps
    is_lateral = is_tied(steps[0].part.plan, left.scope.level) and all(step.kind in KEEPS_LEFT for step in steps)
    if any(step.kind != INNER for step in steps) and not is_lateral:
        steps = (Step(INNER, _alone(right, left.scope), ()),)
    return Joined(left.scope.opened(right.scope), (*left.steps, *steps))


def _alone(joined: Joined, before: Scope) -> Part:
    """Inputs that are joined before they meet others, which their conditions cannot name."""
    for step in joined.steps:
        named = [leaf for part in step.conditions for leaf in leaves(part)] if step.node else []
        if any(_is_earlier(leaf, before) for leaf in named):
            is_around = any(isinstance(leaf, OuterColumn) for leaf in named)
            around = "a column of a query around, which a join in parentheses or after a comma cannot"
            what = around if is_around else "an input that is joined later"
            raise fault(step.node and step.node.args.get("on"), f"this names {what}", "put the condition into WHERE")
        if any(_is_earlier(leaf, before) for leaf in _read_by(step, before.level)):
            raise fault(step.node, "this LATERAL names an input that is joined later", "write the join without parentheses")
    return joined.part(())


def _is_earlier(leaf: Leaf, before: Scope) -> bool:
    """Whether this is a column of an input before some others, or of a query around."""
    return isinstance(leaf, OuterColumn) or (isinstance(leaf, Column) and leaf.index < before.width)


def _read_by(step: Step, level: int) -> Iterator[Leaf]:
    """The columns that a LATERAL step reads of the inputs around it."""
    for expression in expressions_of(step.part.plan):
        for leaf in leaves(expression):
            if is_of(leaf, level):
                yield from leaves(inside(leaf, level))


def _chain(
    joined: Joined, first: exp.Expr, joins: Sequence[exp.Join], context: Context, bind_query: BindQuery
) -> Joined:
    """An item and its joins."""
    for node, join, followers in _items(first, joins):
        joined = _with(joined, node, join, followers, context, bind_query)
    return joined


def _items(
    first: exp.Expr, joins: Sequence[exp.Join]
) -> Iterator[tuple[exp.Expr, exp.Join | None, list[exp.Join]]]:
    """Every item with its join, and the FOLLOWED BYs that come right after it."""
    starts = [n for n, join in enumerate(joins) if join.args.get("kind") != FOLLOWED_BY]
    for n, start in enumerate([-1, *starts]):
        end = starts[n] if n < len(starts) else len(joins)
        join = joins[start] if start >= 0 else None
        yield join.this if join else first, join, list(joins[start + 1 : end])


def _with(
    joined: Joined, node: exp.Expr, join: exp.Join | None, followers: list[exp.Join], context: Context,
    bind_query: BindQuery,
) -> Joined:  # fmt: skip
    """One more item, or several that follow each other."""
    first = len(joined.scope.inputs)
    if followers:
        scope, part = _sequence(joined.scope, node, followers, context, bind_query)
    else:
        scope, part = _item(joined.scope, node, context, bind_query)
    if join is None:
        return Joined(scope, (Step(INNER, part, ()),))
    kind = _kind(join)
    scope, conditions = join_conditions(scope, first, join, kind)
    steps = (*joined.steps, Step(kind, part, tuple(conditions), join))
    return Joined(joined.scope if kind in _HIDES_RIGHT else scope, steps)


def _item(scope: Scope, node: exp.Expr, context: Context, bind_query: BindQuery) -> tuple[Scope, Part]:
    if (inner := _join_inside(node)) is not None:
        nested = _listed(scope.fenced(), *inner, context, bind_query)
        return scope.opened(nested.scope), _alone(nested, scope)
    is_function = is_table_function(node)
    is_lateral = isinstance(node, exp.Lateral) or is_function
    around = replace(context, outer=replace(scope, first=0)) if is_lateral else context
    item = bind_table_function(node, around) if is_function else bind_input(node, around, bind_query)
    wider = _widened(scope, item, node)
    places: dict[Key, int] = {column.index: place for place, column in enumerate(wider.columns(len(scope.inputs)))}
    return wider, Part(wider.inputs[-1].plan, places)


def _join_inside(node: exp.Expr) -> tuple[exp.Expr, Sequence[exp.Join]] | None:
    """The first item and the joins of a join that stands in the place of an item."""
    if node.args.get("joins"):
        return _without_joins(node), node.args["joins"]
    inner = node.this
    if not isinstance(node, exp.Subquery) or (isinstance(inner, exp.Query) and not _is_item(inner)):
        return None
    if node.args.get("alias") or window_of(node):
        raise not_yet(node, "a name or a window for a join in parentheses")
    return _without_joins(inner), inner.args.get("joins") or ()


def _is_item(node: exp.Query) -> bool:
    """Whether parentheses hold an item of FROM, not just a query."""
    return isinstance(node, exp.Subquery) and bool(
        node.args.get("joins") or node.args.get("alias") or window_of(node) or _join_inside(node)
    )


def _without_joins(node: exp.Expr) -> exp.Expr:
    alone = node.copy()
    alone.set("joins", None)
    return alone


def _sequence(
    scope: Scope, node: exp.Expr, followers: list[exp.Join], context: Context, bind_query: BindQuery
) -> tuple[Scope, Part]:
    first = len(scope.inputs)
    for each in (node, *(follower.this for follower in followers)):
        scope = _widened(scope, bind_stream(each, context, bind_query), each)
    return scope, sequence(scope, first, followers, context)


def _kind(join: exp.Join) -> str:
    """One of INNER, LEFT, RIGHT, FULL, SEMI, ANTI, MINUS, ASOF, ASOF LEFT."""
    only(join, ("this", "on", "using", "kind", "side", "method"))
    method, side, kind = (join.args.get(part) or "" for part in ("method", "side", "kind"))
    if method == AS_OF and side in ("", "LEFT") and kind in ("", "OUTER", INNER):
        return AS_OF_LEFT if side else AS_OF
    if method not in ("", "NATURAL"):
        raise not_yet(join, " ".join(word for word in (method, side, kind, "JOIN") if word))
    if kind == MINUS or (kind in ("SEMI", "ANTI") and side in ("", "LEFT")):
        return kind
    if kind not in ("", INNER, "CROSS", "OUTER"):
        raise not_yet(join, " ".join(word for word in (side, kind, "JOIN") if word))
    if not side and kind == "OUTER":
        raise fault(join, "OUTER JOIN needs a side", "write LEFT, RIGHT or FULL OUTER JOIN")
    return side or INNER


def _widened(scope: Scope, item: Input, node: exp.Expr) -> Scope:
    taken = {other.name.lower() for other in scope.inputs if other.name}
    if item.name.lower() in taken:
        raise fault(node, f'two inputs are called "{item.name}"', "give one of them another name with AS")
    return scope.widened(item)
