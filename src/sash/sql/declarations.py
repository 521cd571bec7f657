"""CREATE STREAM and CREATE TABLE, what they say about rows, time and the source; CREATE AGGREGATE, an expression."""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import choices
from sash.plan.streams import Stamp, StreamSpec, Updates
from sash.schema import TIMESTAMP, Field, Schema
from sash.sql.catalog import Macro
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.dialect import parse_expression
from sash.sql.syntax.durations import duration
from sash.sql.syntax.statements import CreateAggregate, Source
from sash.sql.syntax.text_positions import Name, fault
from sash.sql.syntax.type_names import column_type


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
    return StreamSpec(name.text, schema, time.stamp, time.column, time.delay, idle, options=options(cursor))


def table(cursor: Cursor, name: Name) -> StreamSpec:
    """Take the rest of CREATE TABLE after its name."""
    schema = _columns(cursor)
    updates = None
    if cursor.accept("NON", "RETROACTIVE"):
        updates = Updates.NON_RETROACTIVE
    elif cursor.accept("RETROACTIVE"):
        updates = Updates.RETROACTIVE
    said = options(cursor)
    if updates is None:  # a file stands as it is; what comes through statements can change
        updates = Updates.NEVER if "path" in dict(said) else Updates.RETROACTIVE
    return StreamSpec(name.text, schema, is_table=True, updates=updates, options=said)


def aggregate(cursor: Cursor, source: Source, or_replace: bool) -> CreateAggregate:
    """Take the rest of CREATE AGGREGATE: name(x TYPE, ...) RETURNS TYPE AS expression."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("the name of an aggregate")
    parameters = tuple((field.name, field.type) for field in _columns(cursor).fields)
    cursor.expect("RETURNS")
    type_ = column_type(cursor)
    cursor.expect("AS")
    if cursor.current is None:
        raise cursor.unexpected("an expression")
    body = parse_expression(cursor.tokens[cursor.index :], source.text)
    cursor.index = len(cursor.tokens)
    return CreateAggregate(source, name, Macro(name.text, parameters, type_, body), if_not_exists, or_replace)


def _columns(cursor: Cursor) -> Schema:
    cursor.expect("(")
    names: set[str] = set()
    fields = [_column(cursor, names)]
    while cursor.accept(","):
        fields.append(_column(cursor, names))
    cursor.expect(")")
    return Schema(tuple(fields))


def _column(cursor: Cursor, before: set[str]) -> Field:
    """The next column; its name joins those before it."""
    if cursor.sees("PRIMARY KEY") or cursor.sees("PRIMARY", "KEY"):
        raise fault(cursor.current, "PRIMARY KEY is not supported", "leave it out: tables are bags of rows")
    name = cursor.name("the name of a column")
    if name.text.lower() in before:
        raise fault(name, f'two columns are called "{name}"', "names are compared without case")
    if name.text.lower() in ("_op", "_ts"):
        raise fault(name, f'"{name}" is the name of a column that every changelog has', "choose another name")
    before.add(name.text.lower())
    field = Field(name.text, column_type(cursor))
    for words in (("PRIMARY KEY",), ("PRIMARY", "KEY"), ("UNIQUE",), ("NOT", "NULL"), ("DEFAULT",)):
        if cursor.sees(*words):
            raise fault(cursor.current, f"{' '.join(words)} is not supported", "leave it out: every column may be NULL")
    return field


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


def options(cursor: Cursor) -> tuple[tuple[str, str], ...]:
    """What WITH (...) says, if it is there."""
    if not cursor.accept("WITH"):
        return ()
    cursor.expect("(")
    found = dict([_option(cursor)])
    while cursor.accept(","):
        key, value = _option(cursor)
        if key in found:
            raise fault(cursor.last, f'the option "{key}" is given twice')
        found[key] = value
    cursor.expect(")")
    return tuple(found.items())


def _option(cursor: Cursor) -> tuple[str, str]:
    key = cursor.name("the name of an option").text
    while cursor.accept("."):
        key += "." + cursor.name("the name of an option").text
    cursor.expect("=")
    return key.lower(), cursor.string("a value in quotes")
