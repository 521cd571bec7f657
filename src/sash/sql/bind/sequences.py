"""FOLLOWED BY: two or more streams, one after the other, as one stream of pairs under one window.

    a FOLLOWED BY b ON ... WITHIN ... [window]      Window(Sequence(a, b))
    a FOLLOWED BY b ... FOLLOWED BY c ...           Window(Sequence(Sequence(a, b), c))
"""

from __future__ import annotations

from collections.abc import Sequence as Many

from sqlglot import exp

from sash.plan import nodes
from sash.plan.nodes import Stream
from sash.plan.rules.conditions import conjunction
from sash.scalar.nodes import Column, Expression
from sash.sql.bind.conditions import conjuncts
from sash.sql.bind.context import Context
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.inputs import windowed
from sash.sql.bind.joins import Part, match
from sash.sql.bind.references import Key, placed
from sash.sql.bind.scope import Input, Scope
from sash.sql.bind.support import only
from sash.sql.syntax.stream_syntax import pairing_of, window_of, within_of
from sash.sql.syntax.text_positions import fault


def sequence(scope: Scope, first: int, joins: Many[exp.Join], context: Context) -> Part:
    """The inputs of a scope from number `first` on, one more than there are joins, as one windowed part."""
    stream = _stream(scope.inputs[first])
    for place, join in enumerate(joins, first + 1):
        only(join, ("this", "kind", "on"))
        if place < first + len(joins) and (window := window_of(join)) is not None:
            raise fault(window.place, "only the last FOLLOWED BY may have a window", "it holds the whole sequence")
        stream = _pair(scope, first, place, stream, join)
    plan = windowed(stream, window_of(joins[-1]) or context.window, "sequence")
    return Part(plan, _places(scope, first, first + len(joins)))


def _pair(scope: Scope, first: int, place: int, left: Stream, join: exp.Join) -> nodes.Sequence:
    right = _stream(scope.inputs[place])
    known = Scope(scope.inputs[: place + 1])
    conditions = _conditions(known, join)
    before, after = Part(left, _places(scope, first, place - 1)), Part(right, _places(scope, place, place))
    keys = [condition for condition in conditions if _is_key(before, after, condition)]
    found = match(before, after, keys)
    width = len(left.schema)
    places = before.places | {column: width + n for column, n in after.places.items()}
    rest = [placed(condition, places) for condition in conditions if condition not in keys]
    residual = conjunction(rest) if rest else None
    pairing, within = pairing_of(join), within_of(join)
    return nodes.Sequence(left, right, found.left_keys, found.right_keys, pairing, within, residual)


def _is_key(left: Part, right: Part, condition: Expression) -> bool:
    """Whether a condition compares two columns as they are: what is computed would have to be computed below."""
    found = match(left, right, [condition])
    return bool(found.left_keys) and (found.left, found.right) == (left, right)


def _conditions(scope: Scope, join: exp.Join) -> list[Expression]:
    on = join.args.get("on")
    binder = ExpressionBinder(scope, "ON")
    return [] if on is None else [binder.condition(part) for part in conjuncts(on)]


def _places(scope: Scope, first: int, last: int) -> dict[Key, int]:
    found: list[Column] = [c for place in range(first, last + 1) for c in scope.columns(place)]
    return {column.index: n for n, column in enumerate(found)}


def _stream(item: Input) -> Stream:
    assert isinstance(item.plan, Stream)
    return item.plan
