"""What tables of a job on Spark hold: statements and programs change them, and what they follow does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.database.database import Database
from sash.database.following import Follower
from sash.database.tables import TableRows, changed_rows, file_rows, whole_rows
from sash.errors import SashError, SourceWarning, warn
from sash.plan.streams import StreamSpec
from sash.planner.job import Job
from sash.spark.frame_tables import check_static, is_frame, static_rows, table_declaration
from sash.spark.host import SparkHost
from sash.sql.bind.changes import DeleteRows, InsertRows, UpdateRows
from sash.turns import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TablesOnSpark(Database):
    """A database that keeps the rows of tables; what they hold after a restart, the checkpoint tells."""

    def __init__(self, base: Path | str | None, expiry: str, schedule: str, join_schedule: str, indexes: str) -> None:
        super().__init__(base, expiry, schedule, join_schedule, indexes)
        self._host: SparkHost | None = None
        self._frames: dict[str, DataFrame] = {}
        self._tables: dict[str, TableRows] = {}
        self._early: list[tuple[str, pa.RecordBatch]] = []  # changes of tables before the start
        self._set: dict[str, pa.RecordBatch] = {}  # all that tables are to hold, as was said before the start

    @abstractmethod
    def _running(self) -> SparkHost: ...

    @in_turn
    def push(self, name: str, rows: Any) -> None:
        self._check_open()
        spec = self._taking_rows(name)
        if not spec.is_table:
            raise SashError(
                f'on Spark the rows of stream "{spec.name}" come from its source',
                "put them into its files, or connect a streaming DataFrame with stream()",
            )
        self._change_table(spec, lambda table: table.insert(whole_rows(spec, rows)))

    @in_turn
    def delete(self, name: str, rows: Any) -> None:
        self._check_open()
        spec = self._updatable_table(name)
        self._change_table(spec, lambda table: table.delete(whole_rows(spec, rows)))

    @in_turn
    def table(self, name: str, rows: Any) -> None:
        self._check_open()
        if is_frame(rows):
            if self.catalog.find(name) is None:
                check_static(name, rows)
                self.execute(table_declaration(name, rows))
            rows = static_rows(self._updatable_table(name), rows)
        spec = self._updatable_table(name)
        batch = whole_rows(spec, rows)
        if self._host is None:
            self._set[spec.name] = batch
        self._change_table(spec, lambda table: table.become(batch))

    def _table(self, spec: StreamSpec) -> TableRows:
        """What a table holds: its files, then all changes that were asked for."""
        if spec.name not in self._tables:
            if spec.name in self._frames:
                raise SashError(f'table "{spec.name}" comes as a DataFrame', "change it there")
            table = file_rows(spec, self.base)
            for change in self._host.versions.table_changes(spec.name) if self._host is not None else ():
                table.apply(change)
            self._tables[spec.name] = table  # whole, or not at all
        return self._tables[spec.name]

    def _change_table(self, spec: StreamSpec, change: Callable[[TableRows], pa.RecordBatch]) -> None:
        with self._table(spec).changing() as table:
            if self._host is None:
                self._early.append((spec.name, change(table)))
            else:
                self._host.change_table(spec.name, change(table))

    def _change_rows(self, change: InsertRows | UpdateRows | DeleteRows) -> None:
        spec = change.into if isinstance(change, InsertRows) else change.table
        if not spec.is_table:
            raise SashError(f'"{spec.name}" is a stream: on Spark its rows come from its source', "put them into its files")
        self._change_table(spec, lambda table: changed_rows(table, change))

    @in_turn
    def _apply_followed(self, spec: StreamSpec, follower: Follower, fetched: Any) -> None:
        if self.catalog.streams.get(spec.name.lower()) != spec:
            return  # it was dropped meanwhile
        with self._table(spec).changing() as table:
            change = follower.change(table, fetched)
            if change.rows.num_rows:
                self._running().change_table(spec.name, change.rows, change.position)
        if change.dead.num_rows:
            where, row, reason = (change.dead.column(name)[0].as_py() for name in ("file", "row", "reason"))
            told = f'{change.dead.num_rows:,} messages of table "{spec.name}" cannot be read; the first, {where} {row}: {reason}'
            warn(told, SourceWarning)

    def _set_again(self, host: SparkHost) -> None:
        """After a restart, tables hold what the checkpoint says; what they are to hold may have changed meanwhile."""
        for name, batch in self._set.items() if not host.is_finished else ():
            with self._table(self._stream(name)).changing() as table:
                change = table.become(batch)
                if change.num_rows:
                    host.change_table(name, change)

    def _rows_of(self, table: StreamSpec) -> pa.RecordBatch:
        return self._table(table).rows()

    def _rows_of_new_ports(self, before: Job, after: Job) -> dict[str, pa.RecordBatch]:
        """Of the tables that are read by a key by which nobody has read them so far: all their rows."""
        streams = {port.stream for port in after.new_ports(before)}
        return {one.name: self._table(one).rows() for one in after.streams if one.is_table and one.name in streams}
