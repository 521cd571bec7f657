"""In which order late and unreadable rows of a batch leave a shard.

Rows of files and of programs come one after the other, and are lost in that order. Those of a DataFrame come in tasks, and Spark
may cut a batch into other ones, or bring them in another order, when it is answered again: they leave in the order of the full
row, as one packet. So whoever answers a batch writes the same file.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.runtime.packets import Cargo, Packet
from sash.runtime.packing import DEAD_SCHEMA

LOST = (Cargo.LATE, Cargo.DEAD)
PLACE = ("file", "row", "line")  # of a letter


def by_full_row(packets: Iterable[Packet], streams: Container[str]) -> Iterator[Packet]:
    """Packets of a batch, the lost rows of these streams put in order."""
    found: dict[tuple[Cargo, str], list[Packet]] = {}
    for packet in packets:
        if packet.cargo in LOST and packet.name in streams:
            found.setdefault((packet.cargo, packet.name), []).append(packet)
        else:
            yield packet
    for same in found.values():
        rows = pa.Table.from_batches([packet.batch() for packet in same]).combine_chunks()
        ordered = rows.take(_full_order(rows)).combine_chunks()
        yield from (replace(same[0], order=0, body=batch) for batch in ordered.to_batches())


def _full_order(rows: pa.Table) -> pa.Array:
    """Of rows by all of their columns; what is equal here is equal to the bit. Letters begin with where they come from."""
    keys = {name: _sortable(rows.column(place).combine_chunks()) for place, name in enumerate(map(str, range(rows.num_columns)))}
    first = [str(rows.column_names.index(name)) for name in PLACE] if rows.schema.equals(DEAD_SCHEMA) else []
    return pc.sort_indices(pa.table(keys), [(name, "ascending") for name in dict.fromkeys([*first, *keys])])


def _sortable(column: pa.Array) -> pa.Array:
    """Values that Arrow can put in order, as different as the column's own."""
    if pa.types.is_floating(column.type):
        bits = np.asarray(column.fill_null(0.0).cast(pa.float64())).view(np.int64)
        return pa.array(bits, mask=np.asarray(column.is_null()))
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())
    return column
