"""How deep a query may be nested, and chains of operators, which are not nesting however long they are.

    a AND b AND c       one AND of three, though the parser makes two of two
    a + b + c           an addition within an addition: which of them overflows is part of the answer
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from sash.sql.syntax.text_positions import fault

MOST_TREE = 1_000  # levels of a tree as the parser makes it
MOST_SUBQUERIES = 32  # within expressions of each other: each is a join of its own, with some twenty operators
MOST_CALLS = 150  # calls within each other: they are evaluated for every batch, on the stack of whoever runs it
CHAINS = (exp.And, exp.Or, exp.DPipe, exp.Union)
TABLES = (exp.From, exp.Join, exp.With)


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
    waiting = [_Place(tree, 1, 0, is_table=True)]
    while waiting:
        place = waiting.pop()
        if place.level > MOST_TREE:
            message = f"this is nested more than {MOST_TREE:,} levels deep"
            raise fault(place.node, message, "compute parts of it in a subquery of WITH, or in a view")
        if place.subqueries > MOST_SUBQUERIES:
            message = f"more than {MOST_SUBQUERIES} subqueries are nested in expressions of each other here"
            raise fault(place.node, message, "compute parts of it in a view, or name them in FROM")
        waiting += place.below()


class _Place(NamedTuple):
    """A node, how many levels it is below the root, and of how many subqueries in expressions it is a part."""

    node: exp.Expr
    level: int
    subqueries: int
    is_table: bool  # a query that is found from here on is read as a table, not as a value

    def below(self) -> Iterator[_Place]:
        node, is_chain = self.node, isinstance(self.node, CHAINS)
        subqueries = self.subqueries + (isinstance(node, exp.Select) and not self.is_table)
        is_table = isinstance(node, TABLES) or (self.is_table and not isinstance(node, exp.Select))
        for child in node.iter_expressions():
            level = self.level + (not is_chain or type(child) is not type(node))
            yield _Place(child, level, subqueries, is_table)
