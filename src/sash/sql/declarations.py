"""CREATE STREAM and CREATE TABLE, what they say about rows, time and the source; CREATE AGGREGATE, an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sash.errors import SashError, choices
from sash.plan.json_paths import parse_path
from sash.plan.streams import FOLLOWED, KEYED, Stamp, StreamSpec, Updates
from sash.schema import TIMESTAMP, Field, Schema
from sash.sql.catalog import Macro
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.dialect import parse_expression
from sash.sql.syntax.durations import duration
from sash.sql.syntax.statements import CreateAggregate, Source
from sash.sql.syntax.text_positions import Name, fault
from sash.sql.syntax.type_names import column_type


@dataclass(frozen=True)
class _Origin:
    """Where the values of a column come from, if not from what has its own name."""

    path: str | None = None  # in a JSON object
    metadata: str | None = None  # beside the message; empty: what has the column's name


@dataclass
class _Key:
    """The columns of a PRIMARY KEY, and where it stands."""

    columns: list[Name] = field(default_factory=list)
    place: Any = None

    def begins(self, cursor: Cursor) -> bool:
        token = cursor.current
        if not (cursor.accept("PRIMARY KEY") or cursor.accept("PRIMARY", "KEY")):
            return False
        if self.columns:
            raise fault(token, "a table has one PRIMARY KEY", "name all its columns behind the last one: PRIMARY KEY (a, b)")
        self.place = token
        return True

    def take_list(self, cursor: Cursor) -> None:
        cursor.expect("(")
        self.columns.append(cursor.name("the name of a column"))
        while cursor.accept(","):
            self.columns.append(cursor.name("the name of a column"))
        cursor.expect(")")


@dataclass(frozen=True)
class _Columns:
    schema: Schema
    paths: tuple[tuple[str, str], ...]
    metadata: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Time:
    stamp: Stamp = Stamp.INTERNAL
    column: int | None = None
    delay: int = 0


def stream(cursor: Cursor, name: Name) -> StreamSpec:
    """Take the rest of CREATE STREAM after its name."""
    columns = _columns(cursor, _origin)
    time = _time(cursor, name, columns.schema)
    idle = duration(cursor) if cursor.accept("IDLE", "AFTER") else None
    return StreamSpec(
        name.text, columns.schema, time.stamp, time.column, time.delay, idle, options=options(cursor),
        paths=columns.paths, metadata=columns.metadata,
    )


def table(cursor: Cursor, name: Name) -> StreamSpec:
    """Take the rest of CREATE TABLE after its name."""
    key = _Key()
    columns = _columns(cursor, _origin, key)
    updates = None
    if cursor.accept("NON", "RETROACTIVE"):
        updates = Updates.NON_RETROACTIVE
    elif cursor.accept("RETROACTIVE"):
        updates = Updates.RETROACTIVE
    said = options(cursor)
    if updates is None:  # a file stands as it is; what comes through statements can change
        is_file = "path" in dict(said) and (dict(said).get("format") or "").lower() not in FOLLOWED
        updates = Updates.NEVER if is_file else Updates.RETROACTIVE
    return StreamSpec(
        name.text, columns.schema, is_table=True, updates=updates, options=_with_key(said, key, columns.schema),
        paths=columns.paths, metadata=columns.metadata,
    )  # fmt: skip


def _with_key(said: tuple[tuple[str, str], ...], key: _Key, schema: Schema) -> tuple[tuple[str, str], ...]:
    """What PRIMARY KEY says, beside what WITH does; only a table that follows changes of rows by their key has one."""
    if not key.columns:
        return said
    if (dict(said).get("format") or "").lower() != KEYED:
        raise fault(key.place, "PRIMARY KEY is not supported", "leave it out: tables are bags of rows")
    if "key" in dict(said):
        raise fault(key.place, "the key is given twice", "leave the option key out")
    for one in key.columns:
        if one.text.lower() not in [known.lower() for known in schema.names]:
            raise fault(one, f'unknown column "{one}" in PRIMARY KEY', f"columns are: {choices(schema.names)}")
    return (*said, ("key", ", ".join(one.text for one in key.columns)))


def aggregate(cursor: Cursor, source: Source, or_replace: bool) -> CreateAggregate:
    """Take the rest of CREATE AGGREGATE: name(x TYPE, ...) RETURNS TYPE AS expression."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("the name of an aggregate")
    parameters = tuple((field.name, field.type) for field in _columns(cursor).schema.fields)
    cursor.expect("RETURNS")
    type_ = column_type(cursor)
    cursor.expect("AS")
    if cursor.current is None:
        raise cursor.unexpected("an expression")
    body = parse_expression(cursor.tokens[cursor.index :], source.text)
    cursor.index = len(cursor.tokens)
    return CreateAggregate(source, name, Macro(name.text, parameters, type_, body), if_not_exists, or_replace)


def _columns(
    cursor: Cursor, origin: Callable[[Cursor], _Origin] = lambda _: _Origin(), key: _Key | None = None
) -> _Columns:
    """Columns in parentheses; `origin` takes what a column may say of where its values come from; `key` takes the columns of a
    PRIMARY KEY, where there may be one."""
    cursor.expect("(")
    names: set[str] = set()
    found = [(_column(cursor, names, key), origin(cursor))]
    while cursor.accept(","):
        if key is not None and key.begins(cursor):
            key.take_list(cursor)
            continue
        found.append((_column(cursor, names, key), origin(cursor)))
    cursor.expect(")")
    paths = tuple((field.name, told.path) for field, told in found if told.path is not None)
    metadata = tuple((field.name, told.metadata or field.name) for field, told in found if told.metadata is not None)
    return _Columns(Schema(tuple(field for field, _ in found)), paths, metadata)


def _origin(cursor: Cursor) -> _Origin:
    """Take FROM '$.a.b', or METADATA [FROM 'name']."""
    if cursor.accept("METADATA"):
        return _Origin(metadata=cursor.string("the source's name of it in quotes") if cursor.accept("FROM") else "")
    if not cursor.accept("FROM"):
        return _Origin()
    token = cursor.current
    path = cursor.string("a path such as '$.a.b'")
    try:
        parse_path(path)
    except SashError as error:
        raise fault(token, error.message, error.hint) from None
    return _Origin(path)


def _column(cursor: Cursor, before: set[str], key: _Key | None = None) -> Field:
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
    if key is not None and key.begins(cursor):
        key.columns.append(name)
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
