"""What some changes come to, row by row of a key: rows that are new, rows that become others, rows that go.

    -1 ann 3                        ann becomes (ann, 5)
    +1 ann 4                        bob is new
    -1 ann 4      come to           cid goes
    +1 ann 5
    +1 bob 1
    -1 cid 2

A key of which two rows would be there is an error: it was no key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import choices
from sash.sinks.sink import SinkRefused

PLUS, MINUS = 1, 2  # a sum of 3 is a row that becomes another


@dataclass(frozen=True)
class NetRows:
    """Tables with the columns of the changes, without _op and _ts."""

    inserted: pa.Table
    updated: pa.Table
    deleted: pa.Table
    replaced: pa.Table  # what the updated ones were before, row by row

    @property
    def count(self) -> int:
        return sum(one.num_rows for one in (self.inserted, self.updated, self.deleted))


def net_rows(ops: pa.ChunkedArray, columns: pa.Table, key: Sequence[int]) -> NetRows:
    """`columns` are of types that Arrow can group by; their names do not matter."""
    names = [f"c{place}" for place in range(columns.num_columns)]
    plain = pa.table([*columns.columns, pc.cast(ops, pa.int64())], names=[*names, "op"])
    net = plain.group_by(names, use_threads=False).aggregate([("op", "sum")])
    rows, weights = net.select(names), np.asarray(net.column("op_sum"))
    plus, minus = rows.filter(pa.array(weights > 0)), rows.filter(pa.array(weights < 0))
    if (np.abs(weights) > 1).any():
        raise _not_unique(rows.filter(pa.array(np.abs(weights) > 1)), columns.column_names, key)
    if not len(plus) and not len(minus):
        nothing = plus.rename_columns(columns.column_names)
        return NetRows(nothing, nothing, nothing, nothing)
    by_key = _by_key(plus, minus, key)
    found = ("kind_sum", "kind_count", "place_max", "place_min")
    kinds, counts, places, least = (np.asarray(by_key.column(name)) for name in found)
    doubled = (counts > 2) | ((counts == 2) & (kinds != PLUS + MINUS))
    if doubled.any():
        where = places[doubled]
        examples = pa.concat_tables([plus.take(where[where >= 0]), minus.take(-1 - where[where < 0])])
        raise _not_unique(examples, columns.column_names, key)
    is_other = kinds == PLUS + MINUS
    gone = minus.take(-1 - places[kinds == MINUS])
    parts = (plus.take(places[kinds == PLUS]), plus.take(places[is_other]), gone, minus.take(-1 - least[is_other]))
    return NetRows(*(table.rename_columns(columns.column_names) for table in parts))


def _by_key(plus: pa.Table, minus: pa.Table, key: Sequence[int]) -> pa.Table:
    """For every key which kinds of rows there are, how many, and where: from 0 on in `plus`, from -1 down in `minus`."""
    names = [f"c{place}" for place in key]
    sides = []
    for kind, table, places in ((PLUS, plus, np.arange(len(plus))), (MINUS, minus, -1 - np.arange(len(minus)))):
        columns = [_comparable(table.column(name)) for name in names]
        sides.append(pa.table([*columns, pa.array(np.full(len(table), kind)), pa.array(places)], names=[*names, "kind", "place"]))
    both = pa.concat_tables(sides)
    wanted = [("kind", "sum"), ("kind", "count"), ("place", "max"), ("place", "min")]
    return both.group_by(names, use_threads=False).aggregate(wanted)


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """As databases compare: -0.0 is 0.0."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _not_unique(rows: pa.Table, names: Sequence[str], key: Sequence[int]) -> SinkRefused:
    first = [f"{names[place]} = {rows.column(place)[0].as_py()!r}" for place in key]
    if not key:
        return not_a_key("there is more than one row", ())
    return not_a_key(f"there are two rows with {' and '.join(first)}", [names[place] for place in key])


def not_a_key(what: str, names: Sequence[str]) -> SinkRefused:
    return SinkRefused(
        f"{choices(names)} is no key: {what}",
        "drop the sink and create it with columns in which all rows differ, key = 'a, b', or with mode = 'changes'",
    )
