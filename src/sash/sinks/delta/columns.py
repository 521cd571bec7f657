"""Columns of a Delta table, and rows on their way there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import SashError, choices
from sash.scalar.arrays import combined
from sash.schema import Schema
from sash.sinks.json_objects import fragments
from sash.sinks.netting import NetRows, net_rows

FORBIDDEN = " ,;{}()\n\t=\"`"  # in names of columns: as the format says, and the quotes of its SQL


def check_names(schema: Schema) -> None:
    for name in schema.names:
        found = sorted(set(name) & set(FORBIDDEN))
        if found:
            raise SashError(
                f'a Delta table has no column "{name}": its names are without {choices(map(repr, found))}',
                f"give it another one in the view: … AS {''.join('_' if sign in FORBIDDEN else sign for sign in name)}",
            )


def net_changes(changes: pa.Table, schema: Schema, key: tuple[int, ...]) -> NetRows:
    """What changes come to. Arrow does not group by arrays: they are numbers on the way, one for each that differs."""
    columns = changes.select(changes.column_names[2:])
    lists = {place: column for place, column in enumerate(columns.columns) if pa.types.is_list(column.type)}
    if not lists:
        return net_rows(changes.column(0), columns, key)
    texts = fragments(schema, columns)
    first: dict[int, np.ndarray] = {}
    for place in lists:
        codes = combined(texts.column(place)).dictionary_encode().indices
        _, first[place] = np.unique(np.asarray(pc.drop_null(codes)), return_index=True)
        first[place] = np.flatnonzero(np.asarray(codes.is_valid()))[first[place]]
        columns = columns.set_column(place, columns.column_names[place], codes)
    net = net_rows(changes.column(0), columns, key)

    def decoded(rows: pa.Table) -> pa.Table:
        for place, column in lists.items():
            examples = combined(column).take(pa.array(first[place]))
            rows = rows.set_column(place, rows.column_names[place], examples.take(combined(rows.column(place))))
        return rows

    return NetRows(*map(decoded, (net.inserted, net.updated, net.deleted, net.replaced)))
