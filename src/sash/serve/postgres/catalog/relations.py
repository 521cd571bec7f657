"""The relations of PostgreSQL's catalog: names, numbers and columns as version 15 has them. Most of them stay empty here.

    relations.txt   schema.name  number  kind  column:type …
    types.csv       the types that columns may have, as pg_type has them
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_DUCKDB = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "oid": "UINTEGER", "xid": "UINTEGER",
    "float4": "FLOAT", "float8": "DOUBLE", "timestamptz": "TIMESTAMPTZ", "interval": "INTERVAL", "bytea": "BLOB",
    "numeric": "DECIMAL(18, 3)", "int2vector": "SMALLINT[]", "oidvector": "UINTEGER[]", "anyarray": "VARCHAR[]",
}
SCHEMAS = {"pg_catalog": 11, "information_schema": 13_000, "public": 2200}


@dataclass(frozen=True)
class Relation:
    """One relation of the catalog; types are the short names of PostgreSQL."""

    schema: str
    name: str
    oid: int
    kind: str
    columns: tuple[tuple[str, str], ...]

    def declaration(self) -> str:
        columns = ", ".join(f'"{name}" {_duckdb_type(type_)}' for name, type_ in self.columns)
        return f'CREATE TABLE {self.schema_here}."{self.name}" ({columns})'

    @property
    def schema_here(self) -> str:
        return schema_here(self.schema)


def schema_here(schema: str) -> str:
    """DuckDB has schemas of these names itself."""
    return {"pg_catalog": "pg", "information_schema": "info"}[schema]


def _duckdb_type(name: str) -> str:
    base = name.removesuffix("[]")
    return _DUCKDB.get(base, "VARCHAR") + ("[]" if name.endswith("[]") else "")


@cache
def relations() -> dict[tuple[str, str], Relation]:
    """By schema and name."""
    return {(found.schema, found.name): found for found in _read()}


def _read() -> Iterator[Relation]:
    for line in _text("relations.txt").splitlines():
        name, oid, kind, *columns = line.split()
        schema, _, bare = name.partition(".")
        pairs = tuple((column, type_) for column, _, type_ in (word.partition(":") for word in columns))
        yield Relation(schema, bare, int(oid), kind, pairs)


@cache
def types() -> list[dict[str, str]]:
    return list(csv.DictReader(_text("types.csv").splitlines()))


@cache
def type_names() -> dict[int, str]:
    """How PostgreSQL shows a type, by its number."""
    return {int(row["oid"]): row["shown"] for row in types()}


@cache
def type_numbers() -> dict[str, int]:
    """The number of a type, by its short name and by the name it is shown with."""
    return {name: int(row["oid"]) for row in types() for name in (row["shown"], row["typname"])}


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
