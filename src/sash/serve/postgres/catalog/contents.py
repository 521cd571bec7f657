"""What the relations of the catalog hold: the streams, tables and views of a database as clients of PostgreSQL look for them.

    a stream                    is a foreign table: its rows come from outside
    a table                     is a table
    a view, materialized or not is what it is; for those who know only information_schema, both are views
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sash.schema import Schema
from sash.serve.postgres.catalog.relations import SCHEMAS, relations, type_names, type_numbers, types
from sash.serve.postgres.translate import DATABASE, SCHEMA
from sash.serve.postgres.wire_types import NUMERIC, TEXT, WireType, wire_type
from sash.sql.catalog import Catalog, ViewDefinition

OWNER, OWNER_NUMBER = "sash", 10
FIRST_OWN = 16_384  # numbers below are PostgreSQL's
DATABASE_NUMBER, WRAPPER_NUMBER, SERVER_NUMBER = 5, 6, 7
_KINDS = {"f": "FOREIGN", "r": "BASE TABLE", "v": "VIEW", "m": "VIEW"}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """A stream, table or view."""

    name: str
    kind: str
    schema: Schema
    sql: str | None


def entries(catalog: Catalog) -> list[Entry]:
    streams = [Entry(one.name, "r" if one.is_table else "f", one.schema, None) for one in list(catalog.streams.values())]
    return streams + [_view(one) for one in list(catalog.views.values())]


def _view(view: ViewDefinition) -> Entry:
    return Entry(view.name, "m" if view.is_materialized else "v", view.plan.schema, view.sql)


def numbered(found: Iterable[Entry], numbers: dict[str, int]) -> list[tuple[int, Entry]]:
    """Every name has its number for as long as the server runs."""
    return [(numbers.setdefault(entry.name.lower(), FIRST_OWN + len(numbers)), entry) for entry in found]


def contents(own: list[tuple[int, Entry]], settings: Mapping[str, str]) -> dict[tuple[str, str], list[Row]]:
    """The rows of every relation that has some; columns that are not named are NULL, FALSE, 0 or empty."""
    found: dict[tuple[str, str], list[Row]] = {}
    for name, make in _PG.items():
        found["pg_catalog", name] = list(make(own))
    for name, make in _INFORMATION.items():
        found["information_schema", name] = list(make(own))
    found["pg_catalog", "pg_settings"] = [
        {"name": name, "setting": value, "vartype": "string", "context": "user", "source": "default", "reset_val": value}
        for name, value in settings.items()
    ]
    return found


def _columns(own: list[tuple[int, Entry]]) -> Iterator[tuple[int, Entry, int, str, WireType]]:
    for number, entry in own:
        for place, field in enumerate(entry.schema.fields, 1):
            yield number, entry, place, field.name, wire_type(field.type.arrow)


def _classes(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    for relation in relations().values():
        yield _class(relation.oid, relation.name, SCHEMAS[relation.schema], relation.kind, len(relation.columns))
    for number, entry in own:
        yield _class(number, entry.name, SCHEMAS[SCHEMA], entry.kind, len(entry.schema))


def _class(number: int, name: str, namespace: int, kind: str, columns: int) -> Row:
    has_rows = kind in "rm"
    return {
        "oid": number, "relname": name, "relnamespace": namespace, "relowner": OWNER_NUMBER, "relam": 2 if has_rows else 0,
        "relkind": kind, "relnatts": columns, "relpersistence": "p", "relispopulated": True,
        "relreplident": "d" if has_rows else "n",
        "reltuples": -1.0, "relhasrules": kind in "vm", "relfilenode": number if has_rows else 0,
    }


def _attributes(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    known, numbers = {int(row["oid"]): row for row in types()}, type_numbers()
    for relation in relations().values():
        for place, (name, type_) in enumerate(relation.columns, 1):
            oid = numbers.get(_short_name(type_), TEXT)
            yield _attribute(relation.oid, place, name, WireType(oid), known[oid])
    for number, _, place, name, wire in _columns(own):
        yield _attribute(number, place, name, wire, known[wire.oid])


def _short_name(type_: str) -> str:
    return f"_{type_.removesuffix('[]')}" if type_.endswith("[]") else type_


def _attribute(number: int, place: int, name: str, type_: WireType, known: Mapping[str, str]) -> Row:
    return {
        "attrelid": number, "attname": name, "atttypid": type_.oid, "attlen": int(known["typlen"]), "attnum": place,
        "attndims": int(type_.element is not None), "attcacheoff": -1, "atttypmod": type_.modifier,
        "attbyval": known["typbyval"] == "t", "attalign": known["typalign"], "attstorage": known["typstorage"],
        "attcollation": int(known["typcollation"]), "attislocal": True, "attstattarget": -1, "attidentity": "",
        "attgenerated": "", "attcompression": "",
    }


def _types(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    for row in types():
        plain = {name: value for name, value in row.items() if name not in ("shown",)}
        flags = {name: row[name] == "t" for name in ("typbyval", "typispreferred")}
        numbers = {name: int(row[name]) for name in ("oid", "typlen", "typelem", "typarray", "typcollation")}
        more = {"typnamespace": SCHEMAS["pg_catalog"], "typowner": OWNER_NUMBER, "typisdefined": True, "typtypmod": -1}
        yield {**plain, **flags, **numbers, **more, "typmodin": "-", "typmodout": "-", "typanalyze": "-", "typsubscript": "-"}


def _namespaces(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    for name, number in SCHEMAS.items():
        yield {"oid": number, "nspname": name, "nspowner": OWNER_NUMBER}


def _databases(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {
        "oid": DATABASE_NUMBER, "datname": DATABASE, "datdba": OWNER_NUMBER, "encoding": 6, "datlocprovider": "c",
        "datallowconn": True, "datconnlimit": -1, "datcollate": "C.UTF-8", "datctype": "C.UTF-8", "dattablespace": 1663,
    }


def _roles(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"oid": OWNER_NUMBER, "rolname": OWNER, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}


def _users(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"usename": OWNER, "usesysid": OWNER_NUMBER}


def _access_methods(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"oid": 2, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"}


def _collations(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    for number, name in ((100, "default"), (950, "C")):
        named = {"oid": number, "collname": name, "collnamespace": 11, "collowner": OWNER_NUMBER}
        yield {**named, "collprovider": "d", "collencoding": -1}


def _tablespaces(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"oid": 1663, "spcname": "pg_default", "spcowner": OWNER_NUMBER}


def _foreign_wrappers(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"oid": WRAPPER_NUMBER, "fdwname": "sash", "fdwowner": OWNER_NUMBER}


def _foreign_servers(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    yield {"oid": SERVER_NUMBER, "srvname": "streams", "srvowner": OWNER_NUMBER, "srvfdw": WRAPPER_NUMBER}


def _foreign_tables(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    return ({"ftrelid": number, "ftserver": SERVER_NUMBER} for number, entry in own if entry.kind == "f")


def _pg_tables(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    return ({"schemaname": SCHEMA, "tablename": entry.name, "tableowner": OWNER} for _, entry in own if entry.kind == "r")


def _pg_views(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    for _, entry in own:
        if entry.kind == "v":
            yield {"schemaname": SCHEMA, "viewname": entry.name, "viewowner": OWNER, "definition": entry.sql}


def _pg_matviews(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    for _, entry in own:
        if entry.kind == "m":
            named = {"schemaname": SCHEMA, "matviewname": entry.name, "matviewowner": OWNER, "definition": entry.sql}
            yield {**named, "ispopulated": True}


def _schemata(_: list[tuple[int, Entry]]) -> Iterator[Row]:
    return ({"catalog_name": DATABASE, "schema_name": name, "schema_owner": OWNER} for name in SCHEMAS)


def _tables(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    for _, entry in own:
        named = {"table_catalog": DATABASE, "table_schema": SCHEMA, "table_name": entry.name, "table_type": _KINDS[entry.kind]}
        yield {**named, "is_insertable_into": "NO", "is_typed": "NO"}


def _views(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    for _, entry in own:
        if entry.sql is not None:
            named = {"table_catalog": DATABASE, "table_schema": SCHEMA, "table_name": entry.name}
            more = {"check_option": "NONE", "is_updatable": "NO", "is_insertable_into": "NO"}
            yield {**named, **more, "view_definition": entry.sql}


def _information_columns(own: list[tuple[int, Entry]]) -> Iterator[Row]:
    shown, short = type_names(), {int(row["oid"]): row["typname"] for row in types()}
    for _, entry, place, name, type_ in _columns(own):
        is_exact = type_.oid == NUMERIC and type_.modifier >= 0
        yield {
            "table_catalog": DATABASE, "table_schema": SCHEMA, "table_name": entry.name, "column_name": name,
            "ordinal_position": place, "is_nullable": "YES", "udt_catalog": DATABASE,
            "data_type": "ARRAY" if type_.element else shown[type_.oid],
            "udt_schema": "pg_catalog", "udt_name": short[type_.oid], "dtd_identifier": str(place), "is_identity": "NO",
            "is_generated": "NEVER", "is_updatable": "NO", "is_self_referencing": "NO", "identity_cycle": "NO",
            "numeric_precision": (type_.modifier - 4) >> 16 if is_exact else {21: 16, 23: 32, 20: 64, 701: 53}.get(type_.oid),
            "numeric_scale": (type_.modifier - 4) & 0xFFFF if is_exact else 0 if type_.oid in (20, 21, 23) else None,
            "numeric_precision_radix": 10 if is_exact else 2 if type_.oid in (20, 21, 23, 701) else None,
            "datetime_precision": {1114: 6, 1082: 0}.get(type_.oid),
        }


Maker = Callable[[list[tuple[int, Entry]]], Iterable[Row]]
_PG: dict[str, Maker] = {
    "pg_class": _classes, "pg_attribute": _attributes, "pg_type": _types, "pg_namespace": _namespaces, "pg_database": _databases,
    "pg_roles": _roles, "pg_authid": _roles, "pg_user": _users, "pg_am": _access_methods, "pg_collation": _collations,
    "pg_foreign_data_wrapper": _foreign_wrappers, "pg_foreign_server": _foreign_servers, "pg_foreign_table": _foreign_tables,
    "pg_tablespace": _tablespaces, "pg_tables": _pg_tables, "pg_views": _pg_views, "pg_matviews": _pg_matviews,
}
_INFORMATION: dict[str, Maker] = {
    "schemata": _schemata, "tables": _tables, "views": _views, "columns": _information_columns,
}
