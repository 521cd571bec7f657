"""CREATE INDEX: by which columns rows of a materialized view are found."""

from __future__ import annotations

from sash.errors import SashError, choices
from sash.file_names import check_name
from sash.schema import Kind, Schema
from sash.sql.catalog import Catalog, IndexDefinition, ViewDefinition, kind_of
from sash.sql.syntax.statements import CreateIndex
from sash.sql.syntax.text_positions import Name, fault


def create_index(statement: CreateIndex, catalog: Catalog) -> bool:
    """Register an index; False if there is one of this name, and that is all right."""
    name = statement.name
    if (taken := catalog.indexes.get(name.text.lower())) is not None:
        if statement.if_not_exists:
            return False
        raise fault(name, f'there is an index "{taken.name}" already, on "{taken.view}"', "drop it first or choose another name")
    view = _view(statement.view, catalog)
    columns = tuple(_column(column, view.plan.schema, view.name) for column in statement.columns)
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise fault(statement.columns[place], f'column "{column}" is named twice', "name every column of an index once")
    check_name(name.text)
    catalog.indexes[name.text.lower()] = IndexDefinition(name.text, view.name, columns, statement.is_ordered)
    return True


def column_places(index: IndexDefinition, schema: Schema) -> tuple[int, ...]:
    """Where the columns of an index are in its view."""
    return tuple(schema.names.index(column) for column in index.columns)


def check_indexes_fit(view: ViewDefinition, catalog: Catalog) -> None:
    """A view that takes the place of another has the columns that the indexes of the other name."""
    for index in catalog.indexes_of(view.name):
        schema = view.plan.schema
        fits = view.is_materialized and all(
            schema.names.count(column) == 1 and schema.types[schema.names.index(column)].kind is not Kind.ARRAY
            for column in index.columns
        )
        if not fits:
            message = f'index "{index.name}" needs a materialized view "{index.view}" with: {choices(index.columns)}'
            raise SashError(message, "drop the index first")


def _view(name: Name, catalog: Catalog) -> ViewDefinition:
    found = catalog.find(name.text)
    if not isinstance(found, ViewDefinition):
        known = choices(view.name for view in catalog.views.values() if view.is_materialized)
        what = f'"{name}" is a {kind_of(found)}, not a view' if found is not None else f'unknown view "{name}"'
        raise fault(name, what, f"an index is of a materialized view: {known}")
    if not found.is_materialized:
        raise fault(name, f'view "{found.name}" is not kept, so it has no rows', "create it with CREATE MATERIALIZED VIEW")
    return found


def _column(name: Name, schema: Schema, view: str) -> str:
    found = [column for column in schema.names if column.lower() == name.text.lower()]
    if not found:
        raise fault(name, f'unknown column "{name}" in view "{view}"', f"columns are: {choices(schema.names)}")
    if len(found) > 1:
        raise fault(name, f'view "{view}" has several columns "{name}"', "give them different names in the view")
    if schema.types[schema.names.index(found[0])].kind is Kind.ARRAY:
        raise fault(name, f'column "{found[0]}" is an array, which has no index', "index the columns that are not")
    return found[0]
