"""Below which timestamp the rows of a batch are late.

    one partition      the clock when the split came
    batch as a unit    the clock before the batch
    partitions         the clock of the row's own partition where its piece begins: that before the batch, or what the pieces at
                       earlier positions bring, whichever task has read them. What is late inside a piece, the task has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from sash.deltas import Int64s
from sash.errors import SashError
from sash.runtime.partition_clocks import PartitionClocks
from sash.runtime.partitions import PARTITION, label, partition_codes
from sash.schema import BEGINNING


@dataclass(frozen=True)
class Piece:
    """Rows of one partition that came in one packet: from which position to which, the least and the greatest ts."""

    order: int
    partition: str
    first: int
    last: int
    least: int
    greatest: int


@dataclass(frozen=True)
class Limits:
    """What is late in a batch."""

    below: int  # where there are no partitions
    of_pieces: Mapping[tuple[int, str], int] = field(default_factory=dict)  # by the order of the packet, and partition

    def of(self, order: int, rows: pa.RecordBatch) -> int | Int64s:
        """For the rows of a packet: one limit for all, or one for each."""
        if PARTITION not in rows.schema.names:
            return self.below
        names = rows.column(PARTITION).dictionary.to_pylist()
        return np.array([self.of_pieces.get((order, name), BEGINNING) for name in names], np.int64)[partition_codes(rows)]


def pieces(splits: Iterable[tuple[int, Mapping[str, Any]]]) -> list[Piece]:
    """Of a batch, from the facts of its packets by order: partition after partition, by position."""
    found = [Piece(order, name, *four) for order, facts in splits for name, four in facts.get("partitions", {}).items()]
    found.sort(key=attrgetter("partition", "first", "last", "order"))
    return found


def judge(stream: str, found: Iterable[Piece], clocks: PartitionClocks, delay: int) -> dict[tuple[int, str], int]:
    """The limit of every piece; the clocks, which know all partitions by now, move on."""
    limits: dict[tuple[int, str], int] = {}
    before: Piece | None = None
    for piece in found:
        if before is not None and before.partition == piece.partition and piece.first < before.last:
            raise SashError(
                f'partition {label(piece.partition)} of stream "{stream}" was read in pieces that overlap: from position'
                f" {before.first} to {before.last}, and from {piece.first} to {piece.last}",
                "name all columns that tell a partition, of Kafka topic and partition, and the one that numbers its rows",
            )
        limits[piece.order, piece.partition] = clocks.clock(piece.partition, delay)
        clocks.observe(piece.partition, piece.greatest)
        before = piece
    return limits
