"""Partitions of a source: every row of a partitioned stream comes with the name of its partition and its position there.

A name is text, made of the values of the columns that tell the partition, in such a way that names sort as the values do: a
number as its digits, from the least 64-bit number on; a text as itself. Kafka's topic and partition are two columns, one name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s
from sash.scalar.arrays import combined

PARTITION, POSITION = "_partition", "_position"  # the last columns of placed rows: names as a dictionary, whole numbers

BETWEEN, ESCAPED, ESCAPE = "\0\1", "\0\2", "\0"  # between two parts of a name: below whatever may follow in a longer part
NUMBER, TEXT = "#", "'"
LEAST_NUMBER, DIGITS = -(1 << 63), 20


def named(columns: Sequence[pa.Array]) -> pa.DictionaryArray:
    """The partition of every row; the values of the dictionary are sorted, and NULL is where a column is NULL."""
    codes, values = _codes(columns[0])
    known = [(value,) for value in values]
    for column in columns[1:]:
        more, others = _codes(column)
        both, codes = np.unique(np.where((codes < 0) | (more < 0), -1, codes * len(others) + more), return_inverse=True)
        if len(both) and both[0] < 0:
            both, codes = both[1:], codes - 1
        known = [(*known[code // len(others)], others[code % len(others)]) for code in both.tolist()]
    names = [partition_name(parts) for parts in known]
    order = sorted(range(len(names)), key=names.__getitem__)
    ranks = np.empty(len(names) + 1, np.int32)
    ranks[order] = np.arange(len(names))
    indices = pa.array(ranks[codes], pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array([names[place] for place in order], pa.string()))


def label(name: str) -> str:
    """A partition for people: `3`, or `orders/3`."""
    return "/".join(_label(part) for part in name.split(BETWEEN))


def _codes(column: pa.Array) -> tuple[Int64s, list[object]]:
    """A number for every value, -1 for NULL; and the values."""
    encoded = combined(pc.dictionary_encode(combined(column)))
    return np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1)), encoded.dictionary.to_pylist()


def partition_name(parts: Sequence[object]) -> str:
    """Of the values of the columns that tell a partition."""
    return BETWEEN.join(_part(part) for part in parts)


def _part(value: object) -> str:
    if isinstance(value, int):
        return f"{NUMBER}{value - LEAST_NUMBER:0{DIGITS}d}"
    return TEXT + str(value).replace(ESCAPE, ESCAPED)


def _label(part: str) -> str:
    if part.startswith(NUMBER):
        return str(int(part[1:]) + LEAST_NUMBER)
    return part[1:].replace(ESCAPED, ESCAPE)


def in_place(rows: pa.RecordBatch) -> Int64s | None:
    """The order of (partition, position); None if the rows lie in it already."""
    codes, positions = partition_codes(rows), np.asarray(rows.column(POSITION))
    step, is_next = np.diff(codes), np.diff(positions) >= 0
    if bool(((step > 0) | ((step == 0) & is_next)).all()):
        return None
    return np.lexsort((positions, codes))


def facts_of(rows: pa.RecordBatch, ts: Int64s) -> dict[str, list[int]]:
    """Of every partition among rows that lie in the order of (partition, position): the first and the last position, the least
    and the greatest ts."""
    if not rows.num_rows:
        return {}
    codes, positions = partition_codes(rows), np.asarray(rows.column(POSITION))
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1])
    ends = np.append(starts[1:], rows.num_rows) - 1
    names = rows.column(PARTITION).dictionary.take(pa.array(codes[starts])).to_pylist()
    numbers = (positions[starts], positions[ends], np.minimum.reduceat(ts, starts), np.maximum.reduceat(ts, starts))
    return {name: list(four) for name, *four in zip(names, *(column.tolist() for column in numbers), strict=True)}


def partition_codes(rows: pa.RecordBatch) -> npt.NDArray[np.int32]:
    """Where the partition of every row is in the dictionary of names."""
    return np.asarray(rows.column(PARTITION).indices)
