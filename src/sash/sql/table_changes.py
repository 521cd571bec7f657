"""Tables that a stream of changes makes:

    CREATE STREAM moves (ts TIMESTAMP, op INT, k STRING, room STRING) TIMESTAMP BY ts;
    CREATE TABLE rooms (k STRING, room STRING) WITH (changes = 'moves', sign = 'op');

A row of the stream with op = 1 enters the table, one with -1 leaves it, at the instant of the row.
"""

from __future__ import annotations

from sash.errors import SashError, choices
from sash.plan.nodes import Scan, TableChanges
from sash.plan.streams import StreamSpec
from sash.sql.catalog import Catalog

SIGN = "op"  # the column, where none is named


def table_changes(table: StreamSpec, catalog: Catalog) -> TableChanges:
    """The table as a plan over its stream; an error if they do not fit."""
    stream = catalog.streams.get((table.changes_from or "").lower())
    if stream is None or stream.is_table:
        known = choices(spec.name for spec in catalog.streams.values() if not spec.is_table)
        message = f'table "{table.name}" has its changes from "{table.changes_from}", which is no stream'
        raise SashError(message, f"streams are: {known}")
    columns = tuple(_place(stream, name, table) for name in table.schema.names)
    for place, field in zip(columns, table.schema.fields, strict=True):
        if stream.schema.types[place] != field.type:
            message = f'column "{field.name}" is {field.type} in table "{table.name}"'
            raise SashError(f'{message}, but {stream.schema.types[place]} in stream "{stream.name}"', "declare both alike")
    sign = _place(stream, table.option("sign") or SIGN, table)
    if not stream.schema.types[sign].is_integer:
        message = f'the sign "{stream.schema.names[sign]}" of stream "{stream.name}" is no integer'
        raise SashError(message, "declare it INT: 1 for a row that enters, -1 for one that leaves")
    return TableChanges(Scan(stream.name, stream.schema), columns, sign, table.schema.names, table.updates)


def _place(stream: StreamSpec, name: str, table: StreamSpec) -> int:
    lower = [column.lower() for column in stream.schema.names]
    if name.lower() not in lower:
        raise SashError(
            f'stream "{stream.name}" of the changes of table "{table.name}" has no column "{name}"',
            f"columns are: {choices(stream.schema.names)}",
        )
    return lower.index(name.lower())
