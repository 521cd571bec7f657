"""The live answers of the views, on the driver: the net changes of all batches, added up.

Changes are only kept until there are more of them than rows of the answer, or somebody looks; then they are added up
by row. So a batch costs what it changes, not what the answer holds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.schema import Schema

WEIGHT = "_weight"


class LiveAnswer:
    """The bag of rows that a view holds now."""

    def __init__(self, schema: Schema) -> None:
        names = [f"c{place}" for place in range(len(schema))]  # names of a view may repeat, these do not
        self._schema = schema.arrow
        self._keys = names
        self._counted = pa.schema(
            [*(pa.field(n, f.type) for n, f in zip(names, self._schema, strict=True)), pa.field(WEIGHT, pa.int64())]
        )
        self._bag = self._counted.empty_table()
        self._waiting: list[pa.Table] = []
        self._lock = threading.Lock()

    def add(self, changes: pa.Table) -> None:
        """Net changes: the columns of the view, then the weight."""
        with self._lock:
            self._waiting.append(self._counting(changes))
            if sum(table.num_rows for table in self._waiting) > self._bag.num_rows:
                self._settle()

    def add_changelog(self, changes: pa.Table) -> None:
        """Changes with sign: _op, _ts, then the columns of the view."""
        columns = [*changes.columns[2:], changes.column(0).cast(pa.int64())]
        self.add(pa.Table.from_arrays(columns, schema=self._counted))

    def rows(self, more: Iterable[pa.Table] = ()) -> pa.Table:
        """The answer, every row as often as it is in it, sorted; `more` changes are looked at, not kept."""
        with self._lock:
            self._settle()
            bag = self._added(self._bag, [self._counting(changes) for changes in more])
        bag = bag.sort_by([(name, "ascending") for name in self._keys]) if self._keys else bag
        weights = bag.column(WEIGHT).to_numpy()
        places = np.repeat(np.arange(len(weights)), weights)
        columns = [column.take(pa.array(places)) for column in bag.columns[:-1]]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _settle(self) -> None:
        self._bag, self._waiting = self._added(self._bag, self._waiting), []

    def _counting(self, changes: pa.Table) -> pa.Table:
        return changes.rename_columns(self._counted.names).cast(self._counted)

    def _added(self, bag: pa.Table, changes: list[pa.Table]) -> pa.Table:
        if not changes:
            return bag
        table = pa.concat_tables([bag, *changes])
        sums = table.group_by(self._keys, use_threads=False).aggregate([(WEIGHT, "sum")])
        columns = [sums.column(name) for name in (*self._keys, f"{WEIGHT}_sum")]
        counted = pa.Table.from_arrays(columns, schema=self._counted)
        return counted.filter(pc.not_equal(counted.column(WEIGHT), 0))
