"""The tables of a session: what they hold, and statements as changes of it.

A change of a table is a batch of rows, each with a weight: +1 for a row that enters, -1 for one that leaves. An UPDATE is both
at one instant. Which instant that is, shards say when they take it in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s
from sash.errors import SashError
from sash.plan.streams import StreamSpec, Updates
from sash.runtime.live import LiveView
from sash.runtime.packing import WEIGHT
from sash.scalar.evaluate import Failures, evaluate
from sash.scalar.nodes import Expression
from sash.sources.batches import batches
from sash.sources.convert import convert
from sash.sources.read import read
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows


class TableRows:
    """The rows of one table now."""

    def __init__(self, spec: StreamSpec) -> None:
        self._spec = spec
        self._live = LiveView(spec.schema)
        self._made: list[pa.RecordBatch] | None = None  # changes that may still be refused

    @contextmanager
    def changing(self) -> Iterator[Self]:
        """Change it here, and put the change down; where that is refused, the table is as it was."""
        made: list[pa.RecordBatch] = []
        self._made = made
        try:
            yield self
        except BaseException:
            for change in made:
                self._live.add(_opposite(change))
            raise
        finally:
            self._made = None

    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_struct_array(self._live.rows().to_struct_array().combine_chunks())

    def apply(self, change: pa.RecordBatch) -> None:
        """A change as it was given before."""
        self._live.add(change)

    def insert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self._changed(batch, np.ones(batch.num_rows, np.int64))

    def delete(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """These rows leave, each once."""
        self._check_updatable()
        change = self._changed(batch, -np.ones(batch.num_rows, np.int64))
        if self._live.least_count < 0:
            self._take_back(change)
            raise SashError(f'table "{self._spec.name}" does not have all of these rows', "delete only rows that it has")
        return change

    def become(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Hold these rows and no others: what it lacks enters, what it has besides leaves."""
        return self.replace(self._more(self.rows(), batch), self._more(batch, self.rows()))

    def replace(self, leaving: pa.RecordBatch, entering: pa.RecordBatch) -> pa.RecordBatch:
        """Some rows leave, and others enter, at one instant."""
        self._check_updatable()
        weights = np.repeat(np.array([-1, 1], np.int64), [leaving.num_rows, entering.num_rows])
        both = pa.concat_batches([leaving, entering])
        change = self._changed(both, weights)
        if self._live.least_count < 0:
            self._take_back(change)
            way_out = "look again: its source is then read as a whole"
            raise SashError(f'table "{self._spec.name}" does not have all of the rows that are to leave it', way_out)
        return change

    def exchange(self, leaving: list[tuple[Any, ...]], entering: list[tuple[Any, ...]]) -> pa.RecordBatch:
        """Some rows, of the values of its columns, leave, and others enter."""
        columns = zip(*leaving, *entering, strict=True) if leaving or entering else [()] * len(self._spec.schema)
        arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, self._spec.schema.types, strict=True)]
        weights = np.repeat(np.array([-1, 1], np.int64), [len(leaving), len(entering)])
        return self._changed(pa.RecordBatch.from_arrays(arrays, schema=self._spec.schema.arrow), weights)

    def _more(self, batch: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that are more often in one batch than in another, as many times."""
        more = TableRows(self._spec)
        more._changed(batch, np.ones(batch.num_rows, np.int64))
        more._changed(other, -np.ones(other.num_rows, np.int64))
        return more.rows()

    def delete_where(self, predicate: Expression | None) -> pa.RecordBatch:
        self._check_updatable()
        gone = self._where(predicate)
        return self._changed(gone, -np.ones(gone.num_rows, np.int64))

    def update(self, assignments: Mapping[int, Expression], predicate: Expression | None) -> pa.RecordBatch:
        self._check_updatable()
        old = self._where(predicate)
        columns = dict(enumerate(old.columns))
        new = [
            evaluate(assignments[place], columns, old.num_rows, Failures()) if place in assignments else column
            for place, column in columns.items()
        ]
        both = pa.concat_batches([old, pa.RecordBatch.from_arrays(new, schema=old.schema)])
        return self._changed(both, np.repeat(np.array([-1, 1], np.int64), old.num_rows))

    def _where(self, predicate: Expression | None) -> pa.RecordBatch:
        """The rows for which a predicate is true."""
        rows = self.rows()
        if predicate is None:
            return rows
        found = evaluate(predicate, dict(enumerate(rows.columns)), rows.num_rows, Failures())
        return rows.filter(pc.fill_null(found, False))

    def _changed(self, batch: pa.RecordBatch, weights: Int64s) -> pa.RecordBatch:
        change = _weighted(batch, weights)
        self._live.add(change)
        if self._made is not None:
            self._made.append(change)
        return change

    def _take_back(self, change: pa.RecordBatch) -> None:
        """The last change is none."""
        self._live.add(_opposite(change))
        if self._made is not None:
            self._made.pop()

    def _check_updatable(self) -> None:
        if self._spec.updates is Updates.NEVER:
            raise SashError(
                f'table "{self._spec.name}" is a file and only grows', "declare it RETROACTIVE or NON RETROACTIVE to change it"
            )


def file_rows(spec: StreamSpec, base: Path) -> TableRows:
    """What the files of a table hold."""
    table = TableRows(spec)
    for batch in batches((spec,), base, None) if spec.path is not None else ():
        for split in batch:
            table.insert(read(spec, split).batch)
    return table


def whole_rows(spec: StreamSpec, rows: object) -> pa.RecordBatch:
    """Rows of a table; there are no dead letters of those that somebody pushes, who can be told."""
    found = convert(spec, rows)
    if found.dead.num_rows:
        raise SashError(
            f'{found.dead.num_rows:,} of these rows are none of table "{spec.name}": {found.dead.column("reason")[0]}',
            "correct them, and push all of them again: none was taken",
        )
    return found.batch


def changed_rows(table: TableRows, change: InsertRows | UpdateRows | DeleteRows) -> pa.RecordBatch:
    """What a statement changes in a table."""
    if isinstance(change, InsertRows):
        return table.insert(convert(change.into, list(change.rows)).batch)
    if isinstance(change, UpdateRows):
        return table.update(dict(change.assignments), change.predicate)
    return table.delete_where(change.predicate)


def _weighted(batch: pa.RecordBatch, weights: Int64s) -> pa.RecordBatch:
    return batch.append_column(WEIGHT, pa.array(weights))


def _opposite(change: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*change.columns[:-1], pc.negate(change.columns[-1])], schema=change.schema)
