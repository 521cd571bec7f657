"""What plain readers find in the folder of a sink: all files that are not hidden, as DuckDB reads them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from tables import bag

from sash.schema import INT, TIMESTAMP, Field, Schema
from sash.sinks.files.formats import FORMATS


def files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts))


def rows(folder: Path, schema: Schema) -> pa.Table:
    """All rows, read by the format that wrote them."""
    tables = [FORMATS[path.suffix[1:]](schema).read(path.read_bytes()) for path in files(folder)]
    return pa.concat_tables(tables) if tables else schema.arrow.empty_table()


def changes_schema(schema: Schema) -> Schema:
    return Schema((Field("_op", INT), Field("_ts", TIMESTAMP), *schema.fields))


def partitioned(folder: Path, names: list[str]) -> Counter[Any]:
    """The rows of partitions, with the columns that are in the names of folders."""
    listed = ", ".join(f'"{name}"' for name in names)
    query = f"SELECT {listed} FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)"
    return bag(duckdb.sql(query).to_arrow_table())


def whole(folder: Path) -> None:
    """Every file can be read, and none is hidden but those of the record."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix == ".parquet":
            pq.read_table(path)
        assert not path.name.startswith("."), path
