"""Which shard a row goes to: the hash of its key columns, the same wherever it is computed.

It is a function of values, not of codes, since packers and shards have interners of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.kernels.routing import mix_column, shards_of
from sash.kernels.strings import hash_strings
from sash.planner.job import Port
from sash.scalar.array_bytes import to_bytes
from sash.stores.interner import string_buffers
from sash.stores.lanes import NAN_BITS

Int64s = npt.NDArray[np.int64]
NULL = 0x5A5A5A5A


def shard_of(batch: pa.RecordBatch, key: tuple[int, ...], shards: int) -> npt.NDArray[np.int32]:
    """The shard of every row. Keys of a join have equal types on both sides, so equal keys meet."""
    states = np.zeros(batch.num_rows, np.int64)
    for column in key:
        mix_column(states, _numbers(batch.column(column)))
    out = np.empty(batch.num_rows, np.int32)
    shards_of(states, shards, out)
    return out


def _numbers(array: pa.Array) -> Int64s:
    if pa.types.is_string(array.type) or pa.types.is_list(array.type):
        numbers = np.empty(len(array), np.int64)
        hash_strings(*string_buffers(to_bytes(array) if pa.types.is_list(array.type) else array), numbers)
    elif pa.types.is_decimal(array.type):
        words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)
        numbers = words[:, 0] ^ (words[:, 1] * 31)
    elif pa.types.is_floating(array.type):
        values = np.asarray(array.fill_null(0.0)) + 0.0
        numbers = np.where(np.isnan(values), NAN_BITS, values.view(np.int64))
    elif pa.types.is_boolean(array.type):
        numbers = np.asarray(array.fill_null(False)).astype(np.int64)
    else:
        width = pa.int32() if array.type.bit_width == 32 else pa.int64()
        numbers = np.asarray(array.view(width).fill_null(0)).astype(np.int64)
    if array.null_count:
        numbers = np.where(np.asarray(array.is_null()), NULL, numbers)
    return numbers


def split_by_shard(batch: pa.RecordBatch, port: Port, shards: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of every shard that has some, in their order."""
    if port.is_single or shards == 1:
        yield 0, batch
        return
    numbers = shard_of(batch, port.key, shards)
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(shards + 1))
    together = batch.take(pa.array(order))
    for shard in range(shards):
        if bounds[shard] < bounds[shard + 1]:
            yield shard, together.slice(bounds[shard], bounds[shard + 1] - bounds[shard])
