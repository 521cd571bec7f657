"""Columns of a query in the subqueries of its expressions, before they are unnested.

A query has a level: 0, or one more than the query around it. In a subquery, column n of a query of level l has a number
below zero that tells both. Plans that read such columns cannot run; `unnest.py` makes plans of them that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sash.plan.nodes import Filter, Join, Plan, Project, Sequence, parts
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Call, Column, Expression, columns

_BITS = 24
_PLACES = (1 << _BITS) - 1


def outside(column: Column, level: int) -> Column:
    """A column of a query as a subquery names it."""
    return Column(-1 - (level << _BITS | column.index), column.type, column.name)


def is_of(column: Column, level: int) -> bool:
    """Whether this is a column of the query of that level, named in a subquery."""
    return column.index < 0 and -1 - column.index >> _BITS == level


def inside(expression: Expression, level: int) -> Expression:
    """An expression of a subquery in the numbers of the query of that level."""
    return substituted(expression, lambda column: _inside(column) if is_of(column, level) else column)


def level_of(expressions: list[Expression]) -> int | None:
    """The level that all columns of these are of, if there is one; None if some are not from outside."""
    levels = {-1 - column.index >> _BITS if column.index < 0 else -1 for part in expressions for column in columns(part)}
    return levels.pop() if len(levels) == 1 and levels != {-1} else None


def substituted(expression: Expression, replacement: Callable[[Column], Expression]) -> Expression:
    """An expression with something else for its columns."""
    if isinstance(expression, Column):
        return replacement(expression)
    if isinstance(expression, Call):
        arguments = tuple(substituted(part, replacement) for part in expression.arguments)
        return Call(expression.function, arguments, expression.type, expression.user)
    return expression


def variables(expression: Expression, level: int) -> Iterator[Expression]:
    """The greatest parts of an expression that read columns of that level and nothing else."""
    read = list(columns(expression))
    if read and all(is_of(column, level) for column in read):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from variables(argument, level)


def names(expression: Expression, level: int) -> bool:
    return any(is_of(column, level) for column in columns(expression))


def reads(plan: Plan) -> Iterator[Expression]:
    """The expressions of a plan, at all depths."""
    for part in parts(plan):
        if isinstance(part, Filter):
            yield part.predicate
        elif isinstance(part, Project):
            yield from part.expressions
        elif isinstance(part, Unnest):
            yield part.array
        elif isinstance(part, Join | Sequence) and part.residual is not None:
            yield part.residual


def is_tied(plan: Plan, level: int) -> bool:
    """Whether a plan reads columns of the query of that level."""
    return any(names(expression, level) for expression in reads(plan))


def _inside(column: Column) -> Column:
    return Column(-1 - column.index & _PLACES, column.type, column.name)
