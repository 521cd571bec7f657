"""Answers by recomputing: at every instant, run the whole query over what its inputs hold.

    instants at which an input may change ─▶ what every input holds then ─▶ DuckDB ─▶ a bag of rows
    the changelog is the difference between one bag and the next

Nothing here is incremental and nothing is shared with the engine: an error would have to be made twice to stay unseen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any, Protocol

import pyarrow as pa

from sash.plan.windows import WindowShape
from sash.schema import BEGINNING, END, Schema
from sash.testing.duckdb_sql import aggregates as oracle_aggregates
from sash.testing.duckdb_sql import time_windows as oracle_time_windows
from sash.testing.duckdb_sql.time import CALL, AskedTime
from sash.testing.tables import Change, in_order
from sash.testing.values import DAY, Row, fit, instant, moment, order
from sash.testing.windows import Arrival, held, instants

# DuckDB as near to Spark as settings bring it: an expression that fails is NULL, timestamps have no zone. One thread,
# since the tables are small. Which of these exist depends on the version.
SETTINGS = {
    "threads": "1",
    "TimeZone": "UTC",
    "ieee_floating_point_ops": "false",
    "error_on_division_by_zero": "false",
    "default_null_order": "NULLS_LAST",  # what the text is written for; Spark's order is in the text
}


class Relation(Protocol):
    """What a query reads: a bag of rows for every instant."""

    def instants(self) -> set[int]: ...

    def signature(self, now: int) -> Hashable: ...  # equal signatures, equal rows

    def table(self, now: int) -> pa.Table: ...


class Constant:
    """A table that was always there."""

    def __init__(self, rows: Sequence[Row], schema: Schema) -> None:
        self._table = arrow(rows, schema)

    def instants(self) -> set[int]:
        return {BEGINNING}

    def signature(self, now: int) -> Hashable:
        return None

    def table(self, now: int) -> pa.Table:
        return self._table


class Windowed:
    """A stream seen through a window."""

    def __init__(self, arrivals: Sequence[Arrival], schema: Schema, shape: WindowShape) -> None:
        self._arrivals = arrivals
        self._shape = shape
        self._all = arrow([arrival.row for arrival in arrivals], schema)

    def instants(self) -> set[int]:
        return instants(self._shape, self._arrivals)

    def signature(self, now: int) -> Hashable:
        return tuple(held(self._shape, self._arrivals, now))

    def table(self, now: int) -> pa.Table:
        return self._all.take(pa.array(held(self._shape, self._arrivals, now), pa.int64()))


class Recomputed:
    """A query, answered afresh at every instant from its beginning. It is a relation itself: views may read views."""

    def __init__(
        self, duck: Duck, text: str, inputs: Sequence[Relation], schema: Schema, begin: int, end: int = BEGINNING,
        time: AskedTime | None = None,
    ) -> None:  # fmt: skip
        self.schema = schema
        self.begin, self._end = begin, end
        self._duck = duck
        self._text = text
        self._inputs = inputs
        self._time = time
        self._bags: dict[Hashable, Counter[Row]] = {}

    def instants(self) -> set[int]:
        """Those of the inputs; a query that asks for the time may change near every time in a row, too, or with every tick."""
        found = {self.begin}.union(*(each.instants() for each in self._inputs))
        asked = self._time
        if asked is None:
            return found
        tables = [each.table(now) for now in found for each in self._inputs]
        times = {time for table in tables for time in (*_times(table), *_counts(table, asked.counts))}
        ticks = range(self.begin - self.begin % asked.tick, self._end + 1, asked.tick) if self.begin > BEGINNING else ()
        moved = {sign * length for length in (0, *asked.lengths) for sign in (1, -1)}
        near = {time + extra for time in times for extra in (0, 1, DAY, *asked.counts)}
        found |= {time + length for time in near.union(ticks) for length in moved}
        return {now for now in found if self.begin <= now < END}

    def signature(self, now: int) -> Hashable:
        asked = None if self._time is None else now
        return None if now < self.begin else (asked, *(each.signature(now) for each in self._inputs))

    def bag(self, now: int) -> Counter[Row]:
        """The answer at an instant. The same inputs are asked for once only."""
        signature = self.signature(now)
        if signature is None:
            return Counter()
        if signature not in self._bags:
            text = self._text.replace(CALL, f"TIMESTAMP '{moment(now)}'") if self._time is not None else self._text
            found = self._duck.run(text, [each.table(now) for each in self._inputs])
            self._bags[signature] = Counter(_fitted(row, self.schema) for row in found)
        return self._bags[signature]

    def table(self, now: int) -> pa.Table:
        return arrow(list(self.bag(now).elements()), self.schema)

    def changelog(self, end: int) -> list[Change]:
        """Every change of the answer up to and including `end`."""
        before: Counter[Row] = Counter()
        changes: list[Change] = []
        for now in sorted(now for now in self.instants() if now <= end):
            after = self.bag(now)
            changes += [Change(-1, now, row) for row in (before - after).elements()]
            changes += [Change(1, now, row) for row in (after - before).elements()]
            before = after
        return in_order(changes)

    def stream(self, kind: str, end: int) -> list[Arrival]:
        """ISTREAM: the rows that enter; DSTREAM: those that leave; RSTREAM: all rows whenever some enter or leave.

        Rows of one instant come in the order of their full row.
        """
        changes = self.changelog(end)
        if kind == "RSTREAM":
            found = [(now, row) for now in {change.ts for change in changes} for row in self.bag(now).elements()]
        else:
            op = 1 if kind == "ISTREAM" else -1
            found = [(change.ts, change.row) for change in changes if change.op == op]
        return [Arrival(ts, row) for ts, row in sorted(found, key=lambda each: (each[0], order(each[1])))]


class Duck:
    """A connection to DuckDB that runs queries over the tables input_0, input_1, …, which no other connection sees."""

    def __init__(self) -> None:
        self._connection = _database(os.getpid()).cursor()
        for name, value in _settings(os.getpid()):
            self._connection.execute(f"SET {name} = '{value}'")

    def run(self, text: str, tables: Iterable[pa.Table]) -> list[tuple[Any, ...]]:
        for place, table in enumerate(tables):
            self._connection.register(f"input_{place}", table)
        return list(self._connection.execute(text).fetchall())


@cache
def _database(process: int) -> Any:
    """One for all oracles of a process: to make one takes longer than most queries. A process that was forked has its own."""
    import duckdb  # an extra of this package, so only where it is used

    database = duckdb.connect()
    for macro in (*oracle_aggregates.MACROS, *oracle_time_windows.MACROS):
        database.execute(macro)
    return database


@cache
def _settings(process: int) -> tuple[tuple[str, str], ...]:
    """Those that this version has. They are a connection's own."""
    known = {name for (name,) in _database(process).execute("SELECT name FROM duckdb_settings()").fetchall()}
    return tuple((name, value) for name, value in SETTINGS.items() if name in known)


def _times(table: pa.Table) -> set[int]:
    """Every time in a table, a DATE as its first instant."""
    columns = [column for column in table.columns if pa.types.is_temporal(column.type)]
    return {instant(str(value)) for column in columns for value in column.to_pylist() if value is not None}


def _counts(table: pa.Table, units: Sequence[int]) -> set[int]:
    """Every number in a table as a count of units, and the next one."""
    columns = [column for column in table.columns if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)]
    values = {int(value) for column in columns for value in column.to_pylist() if value is not None}
    return {(value + more) * unit for value in values for more in (-1, 0, 1) for unit in units}


def _fitted(row: Sequence[object], schema: Schema) -> Row:
    return tuple(fit(value, type_) for value, type_ in zip(row, schema.types, strict=True))


def arrow(rows: Sequence[Row], schema: Schema) -> pa.Table:
    """Rows as an Arrow table."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(column, type_.arrow) for column, type_ in zip(columns, schema.types, strict=True)]
    return pa.table(arrays, schema=schema.arrow)
