"""What the streams of a running job are like: rates and numbers of values, from samples, and what its operators have counted.

Of the first rows of a stream all are looked at, up to some hundred of a batch; of later ones, one in sixteen. They wait until
there are a thousand, or many bytes, or somebody asks: a look costs the same for few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from sash.plan.statistics import Counted, Statistics
from sash.plan.streams import StreamSpec
from sash.planner.explain import Counts
from sash.runtime.metrics import OperatorMetrics
from sash.runtime.sketch import Sketch
from sash.schema import SECOND

FIRST_ROWS = 4096
OF_A_BATCH, AT_ONCE = 256, 1024
LARGE = 1 << 16  # bytes of rows that do not wait
LONG = 1 << 14  # rows of a batch that is not kept for a few of them
ONE_IN = 16
ENOUGH = 1000  # rows by which a filter is judged


class StreamObserver:
    """Looks at the rows of one stream."""

    def __init__(self, spec: StreamSpec, since: int | None = None) -> None:
        self.spec = spec
        self.since = since  # rows after this instant were looked at; None: all
        self.rows = 0
        self._sampled = 0
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._has_texts = any(type_.is_interned for type_ in spec.schema.types)  # and arrays: a few may be large
        self._sketches = [Sketch() for _ in spec.schema.names]

    def observe(self, batch: pa.RecordBatch) -> None:
        if self.counts(batch.num_rows):
            self.look_at(batch)

    def counts(self, rows: int) -> bool:
        """So many rows came; whether they are to be looked at. Where none could be read there is nothing to wait with."""
        self.rows += rows
        return rows > 0 and (self._sampled < FIRST_ROWS or self._sampled * ONE_IN < self.rows)

    def look_at(self, batch: pa.RecordBatch) -> None:
        sample = batch.slice(0, OF_A_BATCH)
        self._sampled += sample.num_rows
        self._waiting.append(sample)
        self._waiting_rows += sample.num_rows
        if self._waiting_rows >= AT_ONCE or batch.num_rows >= LONG or (self._has_texts and sample.nbytes >= LARGE):
            self._look()

    def _look(self) -> None:
        if self._waiting:
            samples, self._waiting, self._waiting_rows = pa.Table.from_batches(self._waiting), [], 0
            for sketch, column in zip(self._sketches, samples.columns, strict=False):
                sketch.add(column.combine_chunks())

    def packed(self) -> dict[str, Any]:
        """For a packet: what another one may add to what it has seen."""
        self._look()
        return {"rows": self.rows, "sampled": self._sampled, "sketches": [sketch.packed() for sketch in self._sketches]}

    def merge(self, packed: Mapping[str, Any]) -> None:
        self.rows += packed["rows"]
        self._sampled += packed["sampled"]
        for sketch, other in zip(self._sketches, packed["sketches"], strict=True):
            sketch.merge(Sketch.unpacked(other))

    def values(self) -> dict[tuple[str, str], float]:
        self._look()
        names = self.spec.schema.names
        return {(self.spec.name, name): sketch.values for name, sketch in zip(names, self._sketches, strict=True)}


def observed(
    observers: Iterable[StreamObserver], seconds: Mapping[str, float], operators: Iterable[OperatorMetrics],
    early: Mapping[str, float], elapsed: float,
) -> Statistics:
    """`seconds` are how long the rows of every stream have come so far, `elapsed` is how long those of any have; `early` are the
    shares of rows that left negations early."""
    streams = [one for one in observers if one.rows]
    distinct: dict[tuple[str, str], float] = {}
    for one in streams:
        distinct |= one.values()
    rates = {one.spec.name: one.rows / seconds[one.spec.name] for one in streams if seconds.get(one.spec.name)}
    tables = {one.spec.name: float(one.rows) for one in streams if one.spec.is_table}
    counted = {one.id: Counted(one.out.positive / elapsed, premature=early.get(one.id)) for one in operators} if elapsed else {}
    return Statistics(rates, tables, distinct, counted)


def counted(operators: Iterable[OperatorMetrics], early: Mapping[str, float], elapsed: float) -> dict[str, Counts]:
    """What every operator has done, for every second of the streams' time."""
    if not elapsed:
        return {}
    return {
        one.id: Counts(one.out.positive / elapsed, float(one.state_rows), one.seconds * SECOND / elapsed, early.get(one.id))
        for one in operators
    }


def shares_let_through(operators: Iterable[OperatorMetrics]) -> dict[str, float]:
    """Of the rows that filters were given, how many they let through; of those that have seen enough."""
    filters = (one for one in operators if one.name == "Filter" and one.arcs[0].positive >= ENOUGH)
    return {one.id: one.out.positive / one.arcs[0].positive for one in filters}
