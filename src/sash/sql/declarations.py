"""CREATE STREAM and CREATE TABLE: what they declare about rows, time and the source."""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import choices
from sash.logical.streams import Stamp, StreamSpec
from sash.schema import TIMESTAMP, Field, Schema
from sash.sql.cursor import Cursor
from sash.sql.durations import duration
from sash.sql.places import Name, fault
from sash.sql.type_names import column_type


@dataclass(frozen=True)
class _Time:
    stamp: Stamp = Stamp.INTERNAL
    column: int | None = None
    delay: int = 0


def stream(cursor: Cursor, name: Name) -> StreamSpec:
    """Take the rest of CREATE STREAM after its name."""
    schema = _columns(cursor)
    time = _time(cursor, name, schema)
    idle = duration(cursor) if cursor.accept("IDLE", "AFTER") else None
    options = _options(cursor)
    return StreamSpec(name.text, schema, time.stamp, time.column, time.delay, idle, options=options)


def table(cursor: Cursor, name: Name) -> StreamSpec:
    """Take the rest of CREATE TABLE after its name."""
    schema = _columns(cursor)
    is_retroactive = not cursor.accept("NON", "RETROACTIVE")
    if is_retroactive:
        cursor.accept("RETROACTIVE")
    options = _options(cursor)
    return StreamSpec(name.text, schema, is_table=True, is_retroactive=is_retroactive, options=options)


def _columns(cursor: Cursor) -> Schema:
    cursor.expect("(")
    fields = [_column(cursor, [])]
    while cursor.accept(","):
        fields.append(_column(cursor, fields))
    cursor.expect(")")
    return Schema(tuple(fields))


def _column(cursor: Cursor, before: list[Field]) -> Field:
    name = cursor.name("the name of a column")
    if name.text.lower() in {field.name.lower() for field in before}:
        raise fault(name, f'two columns are called "{name}"', "names are compared without case")
    if name.text.lower() in ("_op", "_ts"):
        raise fault(name, f'"{name}" is the name of a column that every changelog has', "choose another name")
    return Field(name.text, column_type(cursor))


def _time(cursor: Cursor, stream_name: Name, schema: Schema) -> _Time:
    if not cursor.accept("TIMESTAMP"):
        return _Time()
    if cursor.accept("LATENT"):
        return _Time(Stamp.LATENT)
    if cursor.accept("INTERNAL"):
        return _Time(Stamp.INTERNAL)
    if not cursor.accept("BY"):
        raise cursor.unexpected("BY, LATENT or INTERNAL after TIMESTAMP")
    column = _timestamp_column(cursor.name("the column of the timestamp"), stream_name, schema)
    return _Time(Stamp.EXTERNAL, column, duration(cursor, least=0) if cursor.accept("DELAY") else 0)


def _timestamp_column(column: Name, stream_name: Name, schema: Schema) -> int:
    lower = [name.lower() for name in schema.names]
    if column.text.lower() not in lower:
        columns = choices(schema.names)
        raise fault(column, f'unknown column "{column}" in stream "{stream_name}"', f"columns are: {columns}")
    place = lower.index(column.text.lower())
    if schema.types[place] != TIMESTAMP:
        message = f'TIMESTAMP BY needs a TIMESTAMP column, but "{column}" is {schema.types[place]}'
        raise fault(column, message, f"declare it as {column} TIMESTAMP")
    return place


def _options(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    if not cursor.accept("WITH"):
        return ()
    cursor.expect("(")
    options = dict([_option(cursor)])
    while cursor.accept(","):
        key, value = _option(cursor)
        if key in options:
            raise fault(cursor.last, f'the option "{key}" is given twice')
        options[key] = value
    cursor.expect(")")
    return tuple(options.items())


def _option(cursor: Cursor) -> tuple[str, str]:
    key = cursor.name("the name of an option").text
    while cursor.accept("."):
        key += "." + cursor.name("the name of an option").text
    cursor.expect("=")
    return key.lower(), cursor.string("a value in quotes")
