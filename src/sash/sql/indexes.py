"""CREATE INDEX: by which columns rows of a materialized view, or of a window of a stream, are found.

    CREATE INDEX i ON totals (k)                     of the rows of a view that is kept already
    CREATE INDEX i ON bids [RANGE 5 MINUTES] (k)     of a window, which is kept once for all of its indexes, like a view of it
"""

from __future__ import annotations

from sash.errors import SashError, choices
from sash.file_names import check_name
from sash.plan.index_method import IndexKind
from sash.plan.streams import StreamSpec
from sash.plan.times import with_own_time
from sash.plan.windows import UNBOUNDED
from sash.schema import Kind, Schema
from sash.sql.bind import bind
from sash.sql.bind.inputs import window_shape
from sash.sql.catalog import Catalog, IndexDefinition, ViewDefinition, kind_of
from sash.sql.syntax.parse import parse_query_text
from sash.sql.syntax.statements import CreateIndex
from sash.sql.syntax.text_positions import Name, fault, quoted
from sash.sql.syntax.window_clause import WindowClause

NO_HISTORY = "none"  # of a window nobody asks for what was


def create_index(statement: CreateIndex, catalog: Catalog) -> bool:
    """Register an index; False if there is one of this name, and that is all right."""
    name = statement.name
    if (taken := catalog.indexes.get(name.text.lower())) is not None:
        if statement.if_not_exists:
            return False
        raise fault(name, f'there is an index "{taken.name}" already, on "{taken.view}"', "drop it first or choose another name")
    view = _view(statement.on, catalog) if statement.window is None else _window(statement.on, statement.window, catalog)
    label = f'view "{view.name}"' if statement.window is None else f'"{view.name}"'
    columns = tuple(_column(column, view.plan.schema, label) for column in statement.columns)
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise fault(statement.columns[place], f'column "{column}" is named twice', "name every column of an index once")
    check_name(name.text)
    if statement.method.kind is IndexKind.GROUP:
        _check_is_number(statement, view.plan.schema, columns)
    if statement.window is not None:
        catalog.windows.setdefault(view.name.lower(), view)
    catalog.indexes[name.text.lower()] = IndexDefinition(name.text, view.name, columns, statement.method)
    return True


def _check_is_number(statement: CreateIndex, schema: Schema, columns: tuple[str, ...]) -> None:
    if len(columns) > 1:
        raise fault(statement.columns[1], "GROUP counts ranges of one column", "create an index for each column")
    type_ = schema.types[schema.names.index(columns[0])]
    is_number = type_.kind in (Kind.INT, Kind.BIGINT, Kind.DOUBLE) or (type_.kind is Kind.DECIMAL and type_.lanes == 1)
    if not is_number:
        hint = "name a column of type INT, BIGINT, DOUBLE, or DECIMAL of at most 18 digits"
        raise fault(statement.columns[0], f'GROUP counts ranges of numbers, and "{columns[0]}" is {type_}', hint)


def forget_windows(catalog: Catalog) -> None:
    """Those that have no index any more which somebody asked for."""
    indexed = {index.view.lower() for index in catalog.indexes.values() if not index.is_automatic}
    gone = catalog.windows.keys() - indexed
    catalog.windows = {name: window for name, window in catalog.windows.items() if name in indexed}
    catalog.indexes = {name: index for name, index in catalog.indexes.items() if index.view.lower() not in gone}


def column_places(index: IndexDefinition, schema: Schema) -> tuple[int, ...]:
    """Where the columns of an index are in its view."""
    return tuple(schema.names.index(column) for column in index.columns)


def check_indexes_fit(view: ViewDefinition, catalog: Catalog) -> None:
    """A view that takes the place of another has the columns that the indexes of the other name. Those that were made by
    themselves go."""
    own = {index.name.lower() for index in catalog.indexes_of(view.name) if index.is_automatic}
    catalog.indexes = {name: index for name, index in catalog.indexes.items() if name not in own}
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
    if isinstance(found, StreamSpec) and not found.is_table:
        hint = f"write the window that is to be kept: CREATE INDEX … ON {found.name} [RANGE 5 MINUTES] (…)"
        raise fault(name, f'"{found.name}" is a stream, and an index is of a window of it', hint)
    if not isinstance(found, ViewDefinition):
        known = choices(view.name for view in catalog.views.values() if view.is_materialized)
        what = f'"{name}" is a {kind_of(found)}, not a view' if found is not None else f'unknown view or stream "{name}"'
        raise fault(name, what, f"an index is of a window of a stream, or of a materialized view: {known}")
    if not found.is_materialized:
        raise fault(name, f'view "{found.name}" is not kept, so it has no rows', "create it with CREATE MATERIALIZED VIEW")
    return found


def _window(name: Name, clause: WindowClause, catalog: Catalog) -> ViewDefinition:
    """A window of a stream, as the materialized view of all its rows would be kept."""
    stream = _stream(name, catalog)
    shape = window_shape(clause, stream.schema, f'stream "{stream.name}"')
    if shape == UNBOUNDED:
        raise fault(clause.place, "a window without an end holds ever more rows", "write one that rows leave: [RANGE 5 MINUTES]")
    window = f"{stream.name} {shape.text(stream.schema.names)}"
    if (taken := catalog.find(window)) is not None:
        raise fault(name, f'a {kind_of(taken)} has the name of this window: "{taken.name}"', "drop it first")
    sql = f"SELECT * FROM {quoted(stream.name)} {shape.text(tuple(map(quoted, stream.schema.names)))}"
    reads = frozenset({stream.name.lower()})
    return ViewDefinition(window, with_own_time(bind(parse_query_text(sql), catalog)), sql, True, reads, NO_HISTORY)


def _stream(name: Name, catalog: Catalog) -> StreamSpec:
    found = catalog.find(name.text)
    if isinstance(found, StreamSpec) and not found.is_table:
        return found
    if found is None:
        streams = choices(stream.name for stream in catalog.streams.values() if not stream.is_table)
        raise fault(name, f'unknown stream "{name}"', f"an index of a window is of a stream: {streams}")
    hint = "leave the window out" if isinstance(found, ViewDefinition) else "create a materialized view of it, and index that one"
    raise fault(name, f'"{found.name}" is a {kind_of(found)}, and only a stream has windows with indexes', hint)


def _column(name: Name, schema: Schema, label: str) -> str:
    found = [column for column in schema.names if column.lower() == name.text.lower()]
    if not found:
        raise fault(name, f'unknown column "{name}" in {label}', f"columns are: {choices(schema.names)}")
    if len(found) > 1:
        raise fault(name, f'{label} has several columns "{name}"', "give them different names in the view")
    if schema.types[schema.names.index(found[0])].kind is Kind.ARRAY:
        raise fault(name, f'column "{found[0]}" is an array, which has no index', "index the columns that are not")
    return found[0]
