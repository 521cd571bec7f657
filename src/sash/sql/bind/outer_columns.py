"""Columns of a query in the subqueries of its expressions, before they are unnested.

A query has a level: 0, or one more than the query around it. Plans that read columns of the queries around them cannot run;
`unnest.py` makes plans of them that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sash.plan.nodes import Plan
from sash.scalar.nodes import Call, Column, Expression, Leaf, Literal, leaves, replaced
from sash.sql.bind.references import AggregateResult, OuterColumn, expressions_of


def outside(meant: Column | AggregateResult, level: int) -> OuterColumn:
    """A column of a query as a subquery names it."""
    return OuterColumn(meant.type, meant.name, level, meant)


def is_of(leaf: Leaf, level: int) -> bool:
    """Whether this is a column of the query of that level, named in a subquery."""
    return isinstance(leaf, OuterColumn) and leaf.level == level


def inside(expression: Expression, level: int) -> Expression:
    """An expression of a subquery as one of the query of that level."""
    return substituted(expression, lambda leaf: leaf.meant if isinstance(leaf, OuterColumn) and leaf.level == level else leaf)


def level_of(expressions: list[Expression]) -> int | None:
    """The level that all columns of these are of, if there is one; None if some are not from outside."""
    read = [leaf for part in expressions for leaf in leaves(part)]
    levels = {leaf.level if isinstance(leaf, OuterColumn) else None for leaf in read}
    return levels.pop() if len(levels) == 1 else None


def substituted(expression: Expression, replacement: Callable[[Leaf], Expression]) -> Expression:
    """An expression with something else for its columns and references."""
    return replaced(expression, lambda part: None if isinstance(part, Call | Literal) else replacement(part))


def is_variable(expression: Expression, level: int) -> bool:
    """Whether an expression reads columns of that level, and nothing else."""
    read = list(leaves(expression))
    return bool(read) and all(is_of(leaf, level) for leaf in read)


def variables(expression: Expression, level: int) -> Iterator[Expression]:
    """The greatest parts of an expression that read columns of that level and nothing else."""
    if is_variable(expression, level):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from variables(argument, level)


def names(expression: Expression, level: int) -> bool:
    return any(is_of(leaf, level) for leaf in leaves(expression))


def is_tied(plan: Plan, level: int) -> bool:
    """Whether a plan reads columns of the query of that level."""
    return any(names(expression, level) for expression in expressions_of(plan))
