"""A table of a database that holds the answer of a view, or all its changes, each batch written once.

    one transaction    the position is the one that the batch comes after, and this run still has the table
                       rows go, change and come
                       the position is put down, in `sash_sinks`, a table beside it

Whatever fails, none of it has happened. Whether a transaction was committed whose end nobody heard, the position says.

    sash_sinks    target   schema.table, one line for every table that a sink writes
                  run      who writes it: a checkpoint, or a process
                  epoch    which driver of the run; an older one writes no more
                  position the last batch that is in the table, put down in the transaction that wrote it
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from sash.sinks.netting import NetRows, net_rows
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.owner import Owner
from sash.sinks.sink import SinkMoved, SinkRefused, Taken, dropped_changes

RECORD = "sash_sinks"

Record = tuple[str, int, int | None]  # run, epoch and position


class OpenTable(Protocol):
    """The table and the record beside it, over a connection."""

    def transaction(self) -> AbstractContextManager[object]:
        """What is done in it is done as a whole."""

    def prepare(self) -> bool:
        """Let both tables be there; whether the table is new. An error if it is another one."""

    def make_stage(self) -> None:
        """Where rows wait to be merged, for all transactions of the connection."""

    def locked_record(self) -> Record | None:
        """What is known of the table, which nobody else changes before this transaction ends."""

    def has_rows(self) -> bool: ...

    def claim(self, owner: Owner, position: int | None) -> None:
        """Put down whose it is; without a position it is written anew."""

    def put_position(self, taken: Taken, rows: int) -> None: ...

    def free(self, run: str | None) -> None:
        """It is nobody's, if it is this run's."""

    def clear(self) -> None: ...

    def append(self, rows: pa.Table) -> None:
        """Rows of all columns of the table."""

    def merge(self, net: NetRows) -> None:
        """Rows that go, rows that change, rows that come: as many as there must be, or an error."""

    def close(self) -> None: ...


class TableSink(ABC):
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int) -> None:
        self._spec = spec
        self._owner = Owner(run, epoch, "table", lambda: f"table {self._text}")
        self._table: OpenTable | None = None

    @property
    @abstractmethod
    def _text(self) -> str:
        """The table, as messages call it."""

    @abstractmethod
    def _open(self) -> OpenTable:
        """A connection of one's own."""

    @abstractmethod
    def _sendable(self, changes: pa.Table) -> pa.Table:
        """Changes with columns of types that can be compared, and that the table takes."""

    @abstractmethod
    def _telling(self) -> AbstractContextManager[None]:
        """What the database says, as an error of ours, which names the place."""

    def check(self) -> None:
        """What would be refused later is refused at once: nobody is there, or the table has other columns, or rows of others."""
        with self._telling():
            table = self._open()
            try:
                with table.transaction():
                    table.prepare()
                    if self._owner.run is not None:
                        self._position(table)
            finally:
                table.close()

    def begin(self) -> int | None:
        self._owner.may_begin()
        self.close()
        with self._telling():
            table = self._table = self._open()
            with table.transaction():
                is_new = table.prepare()
                found = self._position(table)
                position = None if is_new else found  # somebody has dropped the table: it is written anew
                table.claim(self._owner, position)
                table.make_stage()
            self._owner.has_begun()
            return position

    def write(self, taken: Taken) -> int:
        assert self._table is not None
        with self._telling(), self._table.transaction():
            self._check_position(self._table, taken)
            written = self._write_rows(self._table, taken)
            self._table.put_position(taken, written)
        return written

    def release(self) -> None:
        with self._telling():
            table = self._open()
            try:
                with table.transaction():
                    table.free(self._owner.run)
            finally:
                table.close()

    def close(self) -> None:
        table, self._table = self._table, None
        if table is not None:
            table.close()

    def _position(self, table: OpenTable) -> int | None:
        """How far this run is in the table; None if it begins, which it must be allowed to."""
        found = table.locked_record()
        has_rows = table.has_rows()
        if found is not None and self._owner.is_mine(found[0], found[1]):
            return found[2]
        is_ours = found is not None and self._spec.mode is Mode.UPSERT
        policy = self._spec.existing or (Existing.REPLACE if is_ours else Existing.REFUSE)
        if has_rows and policy is Existing.REFUSE:
            whose = "that another run has written" if found is not None else "that no sink has written"
            append = " or existing = 'append'" if self._spec.mode is Mode.CHANGES else ""
            raise SinkRefused(
                f"table {self._text} has rows {whose}",
                f"empty it, name another table, or say what becomes of them: existing = 'replace'{append}",
            )
        return None

    def _check_position(self, table: OpenTable, taken: Taken) -> None:
        found = table.locked_record()
        if found is None:
            raise self._owner.replaced()
        self._owner.must_be_mine(found[0], found[1])
        if found[2] != taken.after:
            raise SinkMoved(found[2])

    def _write_rows(self, table: OpenTable, taken: Taken) -> int:
        changes = self._sendable(taken.changes)
        if self._spec.mode is Mode.CHANGES:
            return self._append(table, taken, changes)
        net = net_rows(changes.column(0), changes.select(changes.column_names[2:]), self._spec.key)
        if taken.after is not None and not taken.is_answer:
            if net.count:
                table.merge(net)
            return net.count
        if len(net.updated) or len(net.deleted):
            raise SinkRefused(
                f'rows leave view "{self._spec.view}" that never came',
                "drop the sink and create it again to write the whole answer",
            )
        table.clear()
        table.append(net.inserted)
        return net.count

    def _append(self, table: OpenTable, taken: Taken, changes: pa.Table) -> int:
        if taken.is_answer and taken.after is not None:
            raise dropped_changes(self._spec.view, "drop the sink and create it with existing = 'replace' to begin anew")
        if taken.after is None and self._spec.existing is not Existing.APPEND:
            table.clear()
        table.append(changes)
        return len(changes)


def not_as_written(table: str, wanted: int, found: int) -> SinkRefused:
    """Rows that are to change or go are not there."""
    return SinkRefused(
        f"table {table} does not hold what was written to it: of {wanted:,} rows that change or go {found:,} were found",
        "let nobody else write to it; drop the sink and create it again to write the whole answer anew",
    )


def other_columns(table: str, found: str, wanted: str) -> SinkRefused:
    return SinkRefused(
        f"table {table} has other columns: {found}; the sink writes: {wanted}",
        "name another table, which is made if it is missing",
    )
