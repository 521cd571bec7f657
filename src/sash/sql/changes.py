"""INSERT, UPDATE and DELETE: what is to change in a stream or table, as expressions still to be bound."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.dialect import parse_expression
from sash.sql.syntax.statements import Delete, Insert, Source, Update
from sash.sql.syntax.text_positions import Name, fault


def insert(cursor: Cursor, source: Source) -> Insert:
    """Take the rest of INSERT INTO name [(columns)] VALUES (...), (...)."""
    cursor.expect("INTO")
    cursor.accept("TABLE")
    name = cursor.name("the name of a stream or table")
    columns = tuple(_names(cursor)) if cursor.sees("(") else ()
    if cursor.sees("SELECT") or cursor.sees("WITH"):
        raise fault(cursor.current, "INSERT takes VALUES, not a query", "create a view instead")
    cursor.expect("VALUES")
    rows = [_row(cursor, source)]
    while cursor.accept(","):
        rows.append(_row(cursor, source))
    return Insert(source, name, columns, tuple(rows))


def update(cursor: Cursor, source: Source) -> Update:
    """Take the rest of UPDATE name SET column = expression, ... [WHERE condition]."""
    name = cursor.name("the name of a table")
    cursor.expect("SET")
    assignments = [_assignment(cursor, source)]
    while cursor.accept(","):
        assignments.append(_assignment(cursor, source))
    return Update(source, name, tuple(assignments), _where(cursor, source))


def delete(cursor: Cursor, source: Source) -> Delete:
    """Take the rest of DELETE FROM name [WHERE condition]."""
    cursor.expect("FROM")
    return Delete(source, cursor.name("the name of a table"), _where(cursor, source))


def _names(cursor: Cursor) -> Iterator[Name]:
    cursor.expect("(")
    yield cursor.name("the name of a column")
    while cursor.accept(","):
        yield cursor.name("the name of a column")
    cursor.expect(")")


def _row(cursor: Cursor, source: Source) -> tuple[exp.Expr, ...]:
    cursor.expect("(")
    values = [_expression(cursor, source, ",", ")")]
    while cursor.accept(","):
        values.append(_expression(cursor, source, ",", ")"))
    cursor.expect(")")
    return tuple(values)


def _assignment(cursor: Cursor, source: Source) -> tuple[Name, exp.Expr]:
    name = cursor.name("the name of a column")
    cursor.expect("=")
    return name, _expression(cursor, source, ",", "WHERE")


def _where(cursor: Cursor, source: Source) -> exp.Expr | None:
    return _expression(cursor, source) if cursor.accept("WHERE") else None


def _expression(cursor: Cursor, source: Source, *ends: str) -> exp.Expr:
    """Take an expression, up to one of these words outside of parentheses and brackets."""
    start, depth = cursor.index, 0
    while cursor.current is not None and not (depth == 0 and any(cursor.sees(word) for word in ends)):
        depth += any(map(cursor.sees, "([")) - any(map(cursor.sees, ")]"))
        cursor.index += 1
    if cursor.index == start:
        raise cursor.unexpected("an expression")
    return parse_expression(cursor.tokens[start : cursor.index], source.text)
