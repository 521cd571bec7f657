"""How deep a query may be nested, and chains of operators, which are not nesting however long they are.

    a AND b AND c       one AND of three, though the parser makes two of two
    a + b + c           an addition within an addition: which of them overflows is part of the answer
"""

from __future__ import annotations

from sqlglot import exp

from sash.sql.syntax.text_positions import fault

MOST_TREE = 1_000  # levels of a tree as the parser makes it
MOST_CALLS = 150  # calls within each other: they are evaluated for every batch, on the stack of whoever runs it
CHAINS = (exp.And, exp.Or, exp.DPipe, exp.Union)


def operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """What a chain of one operator ties together, from left to right."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if type(one) is kind:
            waiting += [one.this, one.expression]
        else:
            found.append(one)
    return found[::-1]


def check_nesting(tree: exp.Expr) -> None:
    """An error at the first node that lies too deep. The links of a chain lie beside each other."""
    waiting: list[tuple[exp.Expr, int]] = [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        if level > MOST_TREE:
            message = f"this is nested more than {MOST_TREE:,} levels deep"
            raise fault(node, message, "compute parts of it in a subquery of WITH, or in a view")
        is_chain = isinstance(node, CHAINS)
        waiting += [(child, level + (not is_chain or type(child) is not type(node))) for child in node.iter_expressions()]
