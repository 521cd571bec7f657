"""Rows of values in comparisons, written out value by value. As in Spark, a NULL in a row equals another and is below all values.

    (a, b) = (c, d)             a <=> c AND b <=> d
    (a, b) < (c, d)             a before c OR (a <=> c AND b before d)      so with <=, > and >=
    (a, b) IN ((1, 2), (3, 4))  (a, b) = (1, 2) OR (a, b) = (3, 4)
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sash.scalar.nodes import Expression, Literal
from sash.schema import BOOLEAN
from sash.sql.bind.scope import Binder
from sash.sql.syntax.text_positions import fault

_EQUAL = (exp.EQ, exp.NullSafeEQ)
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_WORDS = ("row", "struct")
_Pairs = Sequence[tuple[Expression, Expression]]


def values_of(node: exp.Expr) -> list[exp.Expr] | None:
    """The values of a row; None if a node is none."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    if isinstance(node, exp.Anonymous) and node.name.lower() in _WORDS:
        return [part.unalias() for part in node.expressions]
    return None


def compared(binder: Binder, node: exp.Expr) -> Expression | None:
    """A comparison of two rows; None for anything else."""
    if not isinstance(node, (*_EQUAL, *_ORDERED, exp.NEQ)):
        return None
    left, right = values_of(node.this), values_of(node.expression)
    if left is None or right is None:
        return None
    if len(left) != len(right):
        raise fault(node, f"a row of {len(left)} values is compared with one of {len(right)}")
    pairs = [(binder.part(one), binder.part(other)) for one, other in zip(left, right, strict=True)]
    rows = _Rows(binder, node)
    if isinstance(node, _ORDERED):
        if isinstance(node, exp.GT | exp.GTE):
            pairs = [(other, one) for one, other in pairs]
        return rows.ordered(pairs, isinstance(node, exp.LTE | exp.GTE))
    return rows.call("not", rows.equal(pairs)) if isinstance(node, exp.NEQ) else rows.equal(pairs)


def listed(binder: Binder, node: exp.In) -> Expression | None:
    """A row in a list of rows; None for anything else."""
    if values_of(node.this) is None:
        return None
    found = [compared(binder, exp.EQ(this=node.this.copy(), expression=part.copy())) for part in node.expressions]
    whole = [part for part in found if part is not None]
    if len(whole) < len(found):
        raise fault(node, "a row is compared with rows", "write (a, b) IN ((1, 2), (3, 4))")
    return _Rows(binder, node).joined("or", whole)


class _Rows:
    def __init__(self, binder: Binder, node: exp.Expr) -> None:
        self._binder, self._node = binder, node

    def call(self, function: str, *arguments: Expression) -> Expression:
        return self._binder.call(self._node, function, arguments)

    def joined(self, function: str, parts: Sequence[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else self.call(function, *parts)

    def equal(self, pairs: _Pairs) -> Expression:
        return self.joined("and", [self.call("null_safe_equal", *pair) for pair in pairs])

    def ordered(self, pairs: _Pairs, may_tie: bool) -> Expression:
        if not pairs:
            return Literal(may_tie, BOOLEAN)
        rest = self.joined("and", [self.equal(pairs[:1]), self.ordered(pairs[1:], may_tie)])
        return self.joined("or", [self._before(*pairs[0]), rest])

    def _before(self, one: Expression, other: Expression) -> Expression:
        first = self.joined("and", [self.call("is_null", one), self.call("is_not_null", other)])
        return self.joined("or", [first, self.call("is_true", self.call("less", one, other))])
