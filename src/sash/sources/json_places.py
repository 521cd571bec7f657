"""Where the values of columns lie in JSON objects: under the column's own name, or deeper, where a path leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from sash.plan.json_paths import parse_path
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined

Keys = tuple[str, ...]
Nested = dict[str, "pa.DataType | Nested"]


@dataclass(frozen=True)
class NoObject:
    """What stands where an object would have to be for a path to lead on."""

    value: object

    def __str__(self) -> str:
        return f"{self.value!r} in the middle of its path"


@lru_cache(maxsize=256)
def keys_of(spec: StreamSpec) -> tuple[Keys, ...]:
    """Of every column, the keys that lead to it."""
    paths = dict(spec.paths)
    return tuple(parse_path(paths[name]) if name in paths else (name,) for name in spec.schema.names)


def arrow_schema(places: Sequence[tuple[Keys, pa.DataType]]) -> pa.Schema | None:
    """The schema of objects that have values of these types in these places; None where two of them do not go together."""
    whole: Nested = {}
    for keys, type_ in places:
        inner = whole
        for key in keys[:-1]:
            below = inner.setdefault(key, {})
            if not isinstance(below, dict):
                return None
            inner = below
        if inner.setdefault(keys[-1], type_) != type_:
            return None
    return pa.schema([(key, _type(below)) for key, below in whole.items()])


def _type(nested: pa.DataType | Nested) -> pa.DataType:
    return pa.struct([(key, _type(below)) for key, below in nested.items()]) if isinstance(nested, dict) else nested


def column_at(table: pa.Table, keys: Keys) -> pa.Array:
    """The values in a place; NULL where there is no object on the way."""
    found = combined(table.column(keys[0]))
    return found if len(keys) == 1 else pc.struct_field(found, list(keys[1:]))


def value_at(row: Mapping[str, object], keys: Keys) -> object:
    """The value in a place; None where there is no object on the way."""
    found: object = row
    for key in keys:
        if found is None:
            return None
        if not isinstance(found, Mapping):
            return NoObject(found)
        found = found.get(key)
    return found
