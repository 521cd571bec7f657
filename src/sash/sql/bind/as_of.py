"""ASOF JOIN: equalities and one inequality between the two sides.

    a ASOF [LEFT] JOIN b ON a.k = b.k AND a.t >= b.t        the last b at or before a; also >, and <=, < for the next b
    a ASOF [LEFT] JOIN b USING (k, t)                       the same: the last column is compared by >=
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sash.errors import SqlError
from sash.plan.as_of import AsOf
from sash.plan.tables import is_non_retroactive
from sash.scalar.nodes import Call, Expression
from sash.sql.bind.joins import Part, match, with_columns
from sash.sql.syntax.text_positions import fault

AS_OF, AS_OF_LEFT = "ASOF", "ASOF LEFT"
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def as_of(left: Part, right: Part, conditions: Sequence[Expression], node: exp.Expr | None, is_outer: bool) -> Part:
    for side in (left, right):
        if is_non_retroactive(side.plan):
            raise fault(node, "ASOF JOIN cannot read a NON RETROACTIVE table", "declare the table RETROACTIVE")
    if node is not None and node.args.get("using"):
        conditions = [*conditions[:-1], _not_before(conditions[-1])]
    found = match(left, right, conditions)
    if found.left_only or found.right_only or len(found.residual) != 1:
        raise _fault(node)
    function, mine, theirs = _compared(found.residual[0], found.left, found.right, node)
    left, (left_at,) = with_columns(found.left, [mine])
    right, (right_at,) = with_columns(found.right, [theirs])
    places = left.places | {column: place + left.width for column, place in right.places.items()}
    plan = AsOf(
        left.plan, right.plan, found.left_keys, found.right_keys, left_at, right_at, is_forward=function.startswith("less"),
        is_strict=not function.endswith("equal"), is_outer=is_outer,
    )  # fmt: skip
    return Part(plan, places)


def _not_before(condition: Expression) -> Expression:
    assert isinstance(condition, Call)
    return replace(condition, function="greater_equal")


def _compared(
    condition: Expression, left: Part, right: Part, node: exp.Expr | None
) -> tuple[str, Expression, Expression]:
    """The comparison, and what it compares on the left and on the right."""
    if isinstance(condition, Call) and condition.function in _MIRRORED:
        one, other = condition.arguments
        if left.covers(one) and right.covers(other):
            return condition.function, one, other
        if left.covers(other) and right.covers(one):
            return _MIRRORED[condition.function], other, one
    raise _fault(node)


def _fault(node: exp.Expr | None) -> SqlError:
    where = None if node is None else node.args.get("on") or node
    hint = "write ON a.k = b.k AND a.t >= b.t, and put other conditions into subqueries"
    return fault(where, "ASOF JOIN needs one inequality between its two sides, and equalities beside it", hint)
