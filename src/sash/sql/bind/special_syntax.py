"""Expressions with a syntax of their own: arithmetic with time, IS, IN, BETWEEN, LIKE, CASE, CAST and their like."""

from __future__ import annotations

from sqlglot import exp

from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.schema import BIGINT, INT, LENGTH, STRING, Kind, Type
from sash.sql.bind import literals, row_values
from sash.sql.bind.scope import Binder
from sash.sql.bind.support import not_yet, only
from sash.sql.syntax.text_positions import Name, Place, at, fault, place
from sash.sql.syntax.type_names import cast_type

_TIME = (Kind.TIMESTAMP, Kind.DATE)


def length(node: exp.Expr, value: literals.Interval) -> Expression:
    """An interval by itself, which can be compared with the difference of two timestamps."""
    if value.months:
        raise fault(node, "months have no fixed length", "add them to a TIMESTAMP or a DATE, or use DAYS")
    return Literal(value.micros, LENGTH)


def plus(binder: Binder, node: exp.Add) -> Expression:
    for moved, by in ((node.this, node.expression), (node.expression, node.this)):
        if (value := literals.interval(by)) is not None:
            base = binder.part(moved)
            if base.type.kind in _TIME:
                return _shifted(binder, node, base, value)
    return binder.call(node, "add", [binder.part(node.this), binder.part(node.expression)])


def minus(binder: Binder, node: exp.Sub) -> Expression:
    left = binder.part(node.this)
    value = literals.interval(node.expression)
    if value is not None and left.type.kind in _TIME:
        return _shifted(binder, node, left, -value)
    right = binder.part(node.expression)
    if left.type.kind in _TIME and right.type.kind in _TIME:
        return binder.call(node, "subtract_timestamps", [left, right])
    return binder.call(node, "subtract", [left, right])


def _shifted(binder: Binder, node: exp.Expr, base: Expression, by: literals.Interval) -> Expression:
    """A point in time moved: first by the months, then by the rest."""
    if by.months:
        base = binder.call(node, "add_months_interval", [base, Literal(by.months, INT)])
    if by.micros < 0:
        return binder.call(node, "subtract_interval", [base, Literal(-by.micros, BIGINT)])
    if by.micros or not by.months:
        return binder.call(node, "add_interval", [base, Literal(by.micros, BIGINT)])
    return base


def not_(binder: Binder, node: exp.Not) -> Expression:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return binder.call(node, "is_not_null", [binder.part(node.this.this)])
    return binder.call(node, "not", [binder.part(node.this)])


def is_(binder: Binder, node: exp.Is) -> Expression:
    only(node, ("this", "expression"))
    tested = binder.part(node.this)
    if isinstance(node.expression, exp.Null):
        return binder.call(node, "is_null", [tested])
    if isinstance(node.expression, exp.Boolean):
        return binder.call(node, "is_true" if node.expression.this else "is_false", [tested])
    raise not_yet(node.expression)


def differs(binder: Binder, node: exp.NullSafeNEQ) -> Expression:
    same = binder.call(node, "null_safe_equal", [binder.part(node.this), binder.part(node.expression)])
    return binder.call(node, "not", [same])


def in_(binder: Binder, node: exp.In) -> Expression:
    listed = node.expressions
    if len(listed) == 1 and isinstance(listed[0], exp.Values):
        node.set("query", exp.Subquery(this=listed[0].copy()))
        node.set("expressions", None)
    if node.args.get("query"):
        if (values := row_values.values_of(node.this)) is not None:
            node.set("this", exp.Tuple(expressions=values))
        return binder.subquery(node)
    only(node, ("this", "expressions"))
    if (found := row_values.listed(binder, node)) is not None:
        return found
    return binder.call(node, "in", [binder.part(part) for part in (node.this, *node.expressions)])


def among(binder: Binder, node: exp.Expr) -> Expression | None:
    """x = ANY(array) and x <> ALL(array); None for anything else, as ANY(x) is also an aggregate."""
    wanted = ("any", "some") if isinstance(node, exp.EQ) else ("all",) if isinstance(node, exp.NEQ) else ()
    call = node.args.get("expression")
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in wanted or len(call.expressions) != 1:
        return None
    array = binder.part(call.expressions[0])
    if array.type.kind is not Kind.ARRAY:
        return None
    found = binder.call(node, "array_contains", [array, binder.part(node.this)])
    return binder.call(node, "not", [found]) if isinstance(node, exp.NEQ) else found


def subscript(binder: Binder, node: exp.Bracket) -> Expression:
    """a[0] for the first element, as in Spark, and a[2:3] for a part of an array, whose places count from 1 as in ARRAY_SLICE."""
    if len(node.expressions) != 1:
        raise fault(node, "expected one place in the brackets", "write a[0], or a[2:3]")
    array, place = binder.part(node.this), node.expressions[0]
    if not isinstance(place, exp.Slice):
        return _element(binder, node, array, binder.part(place))
    ends = [
        Literal(otherwise, INT) if part is None else binder.part(part)
        for part, otherwise in ((place.this, 1), (place.expression, -1))
    ]
    return binder.call(node, "array_slice", [array, *ends])


def _element(binder: Binder, node: exp.Bracket, array: Expression, before: Expression) -> Expression:
    """The element that has so many before it; there is none before the first."""
    after = binder.call(node, "add", [before, Literal(1, INT)])
    is_there = binder.call(node, "greater_equal", [before, Literal(0, INT)])
    found = binder.call(node, "element_at", [array, binder.call(node, "if", [is_there, after, Literal(None, after.type)])])
    return found


def between(binder: Binder, node: exp.Between) -> Expression:
    only(node, ("this", "low", "high"))
    value, low, high = (binder.part(node.args[part]) for part in ("this", "low", "high"))
    above = binder.call(node, "greater_equal", [value, low])
    return binder.call(node, "and", [above, binder.call(node, "less_equal", [value, high])])


def like(binder: Binder, node: exp.Expr) -> Expression:
    inner = node.this if isinstance(node, exp.Escape) else node
    if not isinstance(inner, exp.Like | exp.ILike):
        raise not_yet(node)
    parts = [inner.this, inner.expression] + ([node.expression] if isinstance(node, exp.Escape) else [])
    function = "like" if isinstance(inner, exp.Like) else "ilike"
    matched = binder.call(node, function, [binder.part(part) for part in parts])
    return binder.call(node, "not", [matched]) if inner.args.get("negate") else matched


def like_several(binder: Binder, node: exp.Like | exp.ILike) -> Expression:
    """LIKE ANY ('a%', 'b%') and LIKE ALL; with NOT, one or all of them do not match."""
    listed = node.expression.this
    patterns = listed.expressions if isinstance(listed, exp.Tuple) else [listed.unnest()]
    singles = [type(node)(this=node.this, expression=part, negate=node.args.get("negate")) for part in patterns]
    parts = [like(binder, single) for single in singles]
    function = "or" if isinstance(node.expression, exp.Any) else "and"
    return parts[0] if len(parts) == 1 else binder.call(node, function, parts)


def case(binder: Binder, node: exp.Case) -> Expression:
    subject = binder.part(node.this) if node.this else None
    arguments: list[Expression] = []
    for branch in node.args["ifs"]:
        arguments += [_when(binder, branch.this, subject), binder.part(branch.args["true"])]
    return binder.call(node, "case", [*arguments, _otherwise(binder, node.args.get("default"))])


def _when(binder: Binder, node: exp.Expr, subject: Expression | None) -> Expression:
    bound = binder.part(node)
    return bound if subject is None else binder.call(node, "equal", [subject, bound])


def if_(binder: Binder, node: exp.If) -> Expression:
    then = binder.part(node.args["true"])
    return binder.call(node, "if", [binder.part(node.this), then, _otherwise(binder, node.args.get("false"))])


def _otherwise(binder: Binder, node: exp.Expr | None) -> Expression:
    return Literal(None, STRING) if node is None else binder.part(node)


def cast(binder: Binder, node: exp.Cast) -> Expression:
    only(node, ("this", "to", "safe", "_type"))
    type_ = cast_type(node.args["to"], Name("", place(node) or Place(0, 0)))
    return converted(binder, node, node.this, type_, isinstance(node, exp.TryCast))


def converted(
    binder: Binder, node: exp.Expr, inner: exp.Expr, type_: Type, is_try: bool = False
) -> Expression:
    bound = binder.part(inner)
    if isinstance(bound, Literal) and (constant := literals.converted(bound, type_)) is not None:
        return constant
    with at(node):
        return build.cast(bound, type_, is_try)


def extract(binder: Binder, node: exp.Extract) -> Expression:
    return binder.call(node, "date_part", [Literal(node.this.name.lower(), STRING), binder.part(node.expression)])


def trim(binder: Binder, node: exp.Trim) -> Expression:
    only(node, ("this", "expression", "position"))
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.args.get("position") or "", "trim")
    return _written_with_words(binder, node, function, "this", "expression")


def substring(binder: Binder, node: exp.Substring) -> Expression:
    only(node, ("this", "start", "length"))
    return _written_with_words(binder, node, "substring", "this", "start", "length")


def position(binder: Binder, node: exp.StrPosition) -> Expression:
    only(node, ("this", "substr", "position"))
    return _written_with_words(binder, node, "locate", "substr", "this", "position")


def _written_with_words(binder: Binder, node: exp.Expr, function: str, *parts: str) -> Expression:
    present = [node.args[part] for part in parts if node.args.get(part)]
    return binder.call(node, function, [binder.part(part) for part in present])
