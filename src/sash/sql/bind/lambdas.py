"""EXISTS(array, x -> condition) and FORALL, where they can be said without a function of a function.

    EXISTS(ARRAY(1, 2), x -> x < a)     1 < a OR 2 < a
    FORALL(ARRAY(1, 2), x -> x < a)     1 < a AND 2 < a
    EXISTS(items, x -> x = a)           ARRAY_CONTAINS(items, a)
"""

from __future__ import annotations

from sqlglot import exp

from sash.scalar.nodes import Expression, Literal
from sash.schema import BOOLEAN
from sash.sql.bind.scope import Binder
from sash.sql.bind.support import not_yet
from sash.sql.syntax.text_positions import fault

_JOINED = {"exists": "or", "forall": "and"}
_ARRAYS = ("array", "list_value", "make_array")


def of_elements(binder: Binder, node: exp.Anonymous) -> Expression | None:
    """What one of these calls means; None for any other."""
    given = node.expressions
    if node.name.lower() not in _JOINED or len(given) != 2 or not isinstance(given[1], exp.Lambda):
        return None
    names = [name.name for name in given[1].expressions]
    if len(names) != 1:
        raise fault(given[1], f"{node.name.upper()} takes a lambda of one element", "write x -> x = 1")
    if isinstance(given[0], exp.Anonymous) and given[0].name.lower() in _ARRAYS:
        parts = [binder.part(_with(given[1].this, names[0], element)) for element in given[0].expressions]
        if not parts:
            return Literal(node.name.lower() == "forall", BOOLEAN)
        return parts[0] if len(parts) == 1 else binder.call(node, _JOINED[node.name.lower()], parts)
    wanted = _equal_to(given[1].this, names[0])
    if wanted is None or node.name.lower() != "exists":
        raise not_yet(given[1], "a lambda over an array that is not written out, but for x -> x = value,")
    return binder.call(node, "array_contains", [binder.part(given[0]), binder.part(wanted)])


def _with(body: exp.Expr, name: str, element: exp.Expr) -> exp.Expr:
    """The body about an element."""
    whole = exp.Paren(this=body.copy())
    for mention in list(_mentions(whole, name)):
        mention.replace(exp.Paren(this=element.copy()))
    return whole


def _equal_to(body: exp.Expr, name: str) -> exp.Expr | None:
    """What the element is equal to, if that is all that is asked."""
    if isinstance(body, exp.EQ):
        for one, other in ((body.this, body.expression), (body.expression, body.this)):
            if isinstance(one, exp.Identifier) and one.name == name and not _mentions(other, name):
                return exp.Paren(this=other.copy())
    return None


def _mentions(node: exp.Expr, name: str) -> list[exp.Expr]:
    """Where a lambda's element stands: a name that is no part of a column's."""
    found = node.find_all(exp.Identifier)
    return [part for part in found if part.name == name and not isinstance(part.parent, exp.Column)]
