"""INSERT, UPDATE and DELETE against a catalog: rows of values, and expressions over the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sash.deep import deeply
from sash.errors import BadLiteral, SqlError, choices
from sash.plan.nodes import Scan
from sash.plan.streams import StreamSpec
from sash.scalar import build
from sash.scalar.nodes import Expression, Literal
from sash.sql.bind.conditions import constant
from sash.sql.bind.expressions import ExpressionBinder
from sash.sql.bind.scope import Input, Scope
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.sql.syntax.statements import Change, Delete, Insert, Update
from sash.sql.syntax.text_positions import Name, at, fault, within


@dataclass(frozen=True)
class InsertRows:
    """Rows of values in the order and the types of the columns."""

    into: StreamSpec
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True)
class UpdateRows:
    """New values for some columns, as expressions over the old row, in the rows for which the predicate is true."""

    table: StreamSpec
    assignments: tuple[tuple[int, Expression], ...]
    predicate: Expression | None


@dataclass(frozen=True)
class DeleteRows:
    """The rows for which the predicate is true leave; without one, all rows."""

    table: StreamSpec
    predicate: Expression | None


@deeply
def bind_change(statement: Change, catalog: Catalog) -> InsertRows | UpdateRows | DeleteRows:
    with within(statement.source.text):
        spec = _target(statement.name, catalog)
        if isinstance(statement, Insert):
            return _insert(statement, spec)
        if not spec.is_table:
            verb = type(statement).__name__.upper()
            raise fault(statement.name, f'{verb} changes tables, but "{spec.name}" is a stream', "a stream only grows")
        return _update(statement, spec) if isinstance(statement, Update) else _delete(statement, spec)


def _target(name: Name, catalog: Catalog) -> StreamSpec:
    with at(name):
        entry = catalog.get(name.text)
    if isinstance(entry, ViewDefinition):
        raise fault(name, f'"{entry.name}" is a {kind_of(entry)}; only streams and tables take rows')
    if entry.changes_from is not None:
        raise fault(name, f'table "{entry.name}" has its rows from stream "{entry.changes_from}"', "send changes there")
    if entry.is_followed:
        raise fault(name, f'table "{entry.name}" holds what its source holds', "change it there")
    return entry


def _insert(statement: Insert, spec: StreamSpec) -> InsertRows:
    places = [_place(name, spec) for name in statement.columns] or list(range(len(spec.schema)))
    for n, place in enumerate(places):
        if place in places[:n]:
            raise fault(statement.columns[n], f'column "{statement.columns[n]}" is given twice')
    return InsertRows(spec, tuple(_row(row, places, spec) for row in statement.rows))


def _row(row: tuple[exp.Expr, ...], places: list[int], spec: StreamSpec) -> tuple[object, ...]:
    if len(row) != len(places):
        raise fault(row[-1], f"this row has {len(row)} values for {len(places)} columns", f"columns are: {spec.schema}")
    given = {place: _value(node, place, spec) for place, node in zip(places, row, strict=True)}
    return tuple(given.get(place) for place in range(len(spec.schema)))


def _value(node: exp.Expr, place: int, spec: StreamSpec) -> object:
    bound = _cast(node, ExpressionBinder(Scope(()), "VALUES").bind(node), place, spec)
    found = constant(bound)
    if found is None:
        raise _misfit(node, place, spec)
    return found.value


def _update(statement: Update, spec: StreamSpec) -> UpdateRows:
    binder = ExpressionBinder(_scope(spec), "SET")
    assignments: list[tuple[int, Expression]] = []
    for name, node in statement.assignments:
        place = _place(name, spec)
        if place in [other for other, _ in assignments]:
            raise fault(name, f'column "{name}" is set twice')
        assignments.append((place, _cast(node, binder.bind(node), place, spec)))
    return UpdateRows(spec, tuple(assignments), _predicate(statement.where, spec))


def _delete(statement: Delete, spec: StreamSpec) -> DeleteRows:
    return DeleteRows(spec, _predicate(statement.where, spec))


def _predicate(where: exp.Expr | None, spec: StreamSpec) -> Expression | None:
    return None if where is None else ExpressionBinder(_scope(spec), "WHERE").condition(where)


def _scope(spec: StreamSpec) -> Scope:
    return Scope((Input(Scan(spec.name, spec.schema, is_table=True), spec.name, kind_of(spec)),))


def _place(name: Name, spec: StreamSpec) -> int:
    lower = [column.lower() for column in spec.schema.names]
    if name.text.lower() not in lower:
        columns = choices(spec.schema.names)
        raise fault(name, f'unknown column "{name}" in {kind_of(spec)} "{spec.name}"', f"columns are: {columns}")
    return lower.index(name.text.lower())


def _cast(node: exp.Expr, bound: Expression, place: int, spec: StreamSpec) -> Expression:
    if isinstance(bound, Literal) and bound.value is None:
        return Literal(None, spec.schema.types[place])
    with at(node):
        try:
            return build.cast(bound, spec.schema.types[place])
        except BadLiteral:
            raise _misfit(node, place, spec) from None


def _misfit(node: exp.Expr, place: int, spec: StreamSpec) -> SqlError:
    return fault(node, f'this is not a value for "{spec.schema.names[place]}", which is {spec.schema.types[place]}')
