"""FROM and JOIN: the scope of a query, and the steps that join its inputs.

Inner joins wait, so that they can be put in order; every other join takes all that was joined before it. Conditions of
WHERE sink below a join that leaves the rows of its left side as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sash.logical.nodes import Minus
from sash.scalar.nodes import Column, Expression
from sash.sql.binder import matches
from sash.sql.binder.conditions import conjuncts
from sash.sql.binder.context import Context
from sash.sql.binder.expressions import ExpressionBinder
from sash.sql.binder.inputs import BindQuery, bind_input, bind_stream
from sash.sql.binder.joins import Part, covers, join_parts, match
from sash.sql.binder.scope import Input, Scope
from sash.sql.binder.sequences import sequence
from sash.sql.binder.support import not_yet, only
from sash.sql.places import fault
from sash.sql.stream_syntax import FOLLOWED_BY, MINUS

_INNER = "INNER"
_OUTER: dict[str, Callable[[Part, Part, Sequence[Expression]], Part]] = {
    "LEFT": matches.left_outer,
    "RIGHT": matches.right_outer,
    "FULL": matches.full_outer,
    "SEMI": matches.semi,
    "ANTI": matches.anti,
}
_KEEPS_LEFT = (_INNER, "LEFT", "SEMI", "ANTI")
_HIDES_RIGHT = ("SEMI", "ANTI", MINUS)


@dataclass(frozen=True)
class Step:
    """A join as written: what is joined, how, and under which conditions."""

    kind: str
    part: Part
    conditions: tuple[Expression, ...]
    node: exp.Expr | None = None


@dataclass(frozen=True)
class Joined:
    """The inputs of a query and the steps that join them."""

    scope: Scope
    steps: tuple[Step, ...]

    def part(self, conditions: Sequence[Expression]) -> Part:
        """All inputs joined, under the conditions of WHERE."""
        waiting, parts, own = list(conditions), [self.steps[0].part], list[Expression]()
        for place, step in enumerate(self.steps[1:], 1):
            if step.kind != _INNER:
                if all(later.kind in _KEEPS_LEFT for later in self.steps[place:]):
                    known = {column for part in parts for column in part.places}
                    sunk = [condition for condition in waiting if covers(known, condition)]
                    waiting, own = [c for c in waiting if c not in sunk], own + sunk
                parts, own = [_joined(join_parts(parts, own), step)], []
            else:
                parts.append(step.part)
                own += step.conditions
        return join_parts(parts, own + waiting)


def bind_from(select: exp.Select, context: Context, bind_query: BindQuery, outer: Scope | None) -> Joined:
    """The inputs of a query in the order of the text."""
    source = select.args.get("from_")
    if source is None:
        raise fault(select, "a query needs FROM", "name a stream, a table or a view")
    joined = Joined(Scope((), outer=outer), ())
    for node, join, followers in _chains(source.this, select.args.get("joins") or ()):
        joined = _with(joined, node, join, followers, context, bind_query)
    return joined


def _chains(
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
    scope, first = joined.scope, len(joined.scope.inputs)
    bind = bind_stream if followers else bind_input
    for each in (node, *(follower.this for follower in followers)):
        scope = _widened(scope, bind(each, context, bind_query), each)
    if followers:
        part = sequence(scope, first, followers, context)
    else:
        part = Part(scope.inputs[first].plan, {c.index: n for n, c in enumerate(scope.columns(first))})
    if join is None:
        return Joined(scope, (Step(_INNER, part, ()),))
    kind = _kind(join)
    scope, conditions = _conditions(scope, first, join, kind)
    steps = (*joined.steps, Step(kind, part, tuple(conditions), join))
    return Joined(joined.scope if kind in _HIDES_RIGHT else scope, steps)


def _kind(join: exp.Join) -> str:
    """One of INNER, LEFT, RIGHT, FULL, SEMI, ANTI, MINUS."""
    only(join, ("this", "on", "using", "kind", "side", "method"))
    method, side, kind = (join.args.get(part) or "" for part in ("method", "side", "kind"))
    if method not in ("", "NATURAL"):
        raise not_yet(join, f"{method} JOIN")
    if kind == MINUS or (kind in ("SEMI", "ANTI") and side in ("", "LEFT")):
        return kind
    if kind not in ("", _INNER, "CROSS", "OUTER"):
        raise not_yet(join, " ".join(word for word in (side, kind, "JOIN") if word))
    if not side and kind == "OUTER":
        raise fault(join, "OUTER JOIN needs a side", "write LEFT, RIGHT or FULL OUTER JOIN")
    return side or _INNER


def _conditions(scope: Scope, last: int, join: exp.Join, kind: str) -> tuple[Scope, list[Expression]]:
    """What ON, USING or NATURAL demands, and the scope in which USING has merged its columns."""
    conditions: list[Expression] = []
    if (on := join.args.get("on")) is not None and join.args.get("method") != "NATURAL":
        binder = ExpressionBinder(scope, "ON")
        conditions += [binder.condition(part) for part in conjuncts(on)]
    names = list(join.args.get("using") or ())
    if join.args.get("method") == "NATURAL":
        names = _shared(scope, last)
    for name in names:
        scope, condition = _merged(scope, last, name, kind)
        conditions.append(condition)
    return scope, conditions


def _shared(scope: Scope, last: int) -> list[exp.Expr]:
    """The columns that NATURAL means: those that both sides have."""
    before = replace(scope, inputs=scope.inputs[:last]).visible()
    names = {column.name.lower() for column in scope.columns(last)}
    return [exp.to_identifier(column.name) for column in before if column.name.lower() in names]


def _merged(scope: Scope, last: int, name: exp.Expr, kind: str) -> tuple[Scope, Expression]:
    """USING: the column of the last input equals the one before; only one of the two is seen by itself."""
    before = replace(scope, inputs=scope.inputs[:last])
    left = before.resolve(exp.Column(this=name.copy()))
    right = _column_of(scope, last, name)
    condition = ExpressionBinder(scope, "USING").call(name, "equal", [before.shown(left), right])
    if kind == "RIGHT":
        return replace(scope, merged={**scope.merged, left.index: right.index}), condition
    if kind == "FULL":
        twins = (*scope.twins.get(left.index, ()), right)
        scope = replace(scope, twins={**scope.twins, left.index: twins})
    return replace(scope, merged={**scope.merged, right.index: left.index}), condition


def _column_of(scope: Scope, place: int, name: exp.Expr) -> Column:
    item = scope.inputs[place]
    found = Scope((item,)).resolve(exp.Column(this=name.copy()))
    return list(scope.columns(place))[found.index]


def _widened(scope: Scope, item: Input, node: exp.Expr) -> Scope:
    taken = {other.name.lower() for other in scope.inputs if other.name}
    if item.name.lower() in taken:
        raise fault(node, f'two inputs are called "{item.name}"', "give one of them another name with AS")
    return scope.widened(item)


def _joined(left: Part, step: Step) -> Part:
    return _minus(left, step) if step.kind == MINUS else _OUTER[step.kind](left, step.part, step.conditions)


def _minus(left: Part, step: Step) -> Part:
    """Negation: it counts by keys, so nothing else can be compared."""
    found = match(left, step.part, step.conditions)
    if found.left_only or found.right_only or found.residual or not found.left_keys:
        where = step.node.args.get("on") if step.node else None
        raise fault(where, "MINUS compares columns by = only", "put other conditions into subqueries: (SELECT ...)")
    return replace(found.left, plan=Minus(found.left.plan, found.right.plan, found.left_keys, found.right_keys))
