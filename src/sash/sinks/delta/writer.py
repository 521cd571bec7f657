"""A Delta table that holds the answer of a view, or all its changes, each batch written once.

    one version of the table    rows go, change and come (MERGE by the key), or changes are appended
                                the position of the batch, as a transaction of an application
                                whose it is, as properties: sash.run, sash.epoch

The log of the table is the record. A version is committed only right after the one that this run has looked at, so whoever else
writes at the same time, one of both fails and looks again: what was checked before a commit is true of it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake import Schema as DeltaSchema
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.folders.locations import absolute, locate, split_options
from sash.folders.object_stores import storage_options
from sash.schema import INT, TIMESTAMP, Field, Schema
from sash.sinks.delta.columns import check_names, net_changes
from sash.sinks.files.partitions import check_values, partition_columns
from sash.sinks.netting import NetRows, not_a_key
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.owner import NOBODY, Owner
from sash.sinks.sink import SinkMoved, SinkRefused, Taken, dropped_changes
from sash.sources.delta import open_table

RUN, EPOCH, SINK, WRITER, WRONG = "sash.run", "sash.epoch", "sash.sink", "sash.writer", "sash.wrong"  # properties of the table
INSERT, UPDATE, DELETE = 1, 2, 3
COMPACTED = 100  # versions, after which small files become large ones
LARGE = 32 << 20  # bytes


class DeltaSink:
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int, base: Path) -> None:
        written = spec.option("path")
        if not written:
            raise SashError("a sink in Delta needs the folder of a table", "add path = 'folder', or path = 's3://bucket/folder'")
        check_names(spec.schema)
        self._spec = spec
        self._place = absolute(written, base)
        self._owner = Owner(run, epoch, "table", self.__str__)
        self._partitions = [spec.schema.names[place] for place in partition_columns(spec.option("partition_by"), spec.schema)]
        first = (Field("_op", INT), Field("_ts", TIMESTAMP)) if self._is_changes else ()
        self._columns = Schema((*first, *spec.schema.fields))
        self._table: DeltaTable | None = None
        self._writer = ""  # by which name positions are kept in the log: another one for everybody who begins anew
        self._skipped: dict[int | None, int] = {}  # from the position in the log to one after which nothing had changed
        self._versions = 0  # since small files were merged

    def __str__(self) -> str:
        return f"Delta table {split_options(self._place)[0]}"

    @property
    def _is_changes(self) -> bool:
        return self._spec.mode is Mode.CHANGES

    def check(self) -> None:
        """What would be refused later is refused at once: the folder cannot be used, or has a table of others."""
        with self._telling():
            table = self._found()
            if table is not None:
                self._check_columns(table)
                if self._owner.run is not None:
                    self._is_mine(table)

    def begin(self) -> int | None:
        self._owner.may_begin()
        self.close()
        with self._telling():
            table = self._found()
            if table is None:
                self._writer = uuid.uuid4().hex
                table = self._created()
            else:
                self._check_columns(table)
                self._claim(table)
            self._table = table
            self._owner.has_begun()
            return self._position(table)

    def write(self, taken: Taken) -> int:
        assert self._table is not None
        with self._telling():
            self._table.update_incremental()
            self._check_mine(self._table)
            found = self._position(self._table)
            reached = self._skipped.get(found, found)
            if reached != taken.after:
                raise SinkMoved(reached)
            check_values(taken.changes, self._partitions, ("",))  # which is NULL, as the format has it
            written = self._append(self._table, taken) if self._is_changes else self._update(self._table, taken)
            if written is None:
                self._skipped = {found: taken.position}
                return 0
            self._skipped = {}
            self._compact(self._table)
            return written

    def release(self) -> None:
        with self._telling():
            table = self._found()
            if table is not None and table.metadata().configuration.get(RUN) == self._owner.run:
                self._say(table, {RUN: NOBODY, WRONG: ""})

    def close(self) -> None:
        self._table, self._skipped = None, {}

    # --- The table ------------------------------------------------------------------------------------------------------

    def _found(self) -> DeltaTable | None:
        """None: there is nothing. A folder with other files is refused, as a mistyped path must not become a table."""
        try:
            return open_table(self._place)
        except TableNotFoundError:
            others = list(Folder.of(self._place).names())
            if others:
                way_out = "name a folder that is empty, or the folder of a Delta table"
                raise SinkRefused(f'{self} has files and is no Delta table: "{others[0]}"', way_out) from None
            return None

    def _created(self) -> DeltaTable:
        uri = split_options(self._place)[0]
        if "://" not in uri:
            Path(uri).mkdir(parents=True, exist_ok=True)
        return DeltaTable.create(
            uri, self._columns.arrow, partition_by=self._partitions or None, configuration=self._mine(),
            storage_options=storage_options(locate(self._place)), raise_if_key_not_exists=False,
        )  # fmt: skip

    def _mine(self) -> dict[str, str]:
        run, epoch = self._owner.run or NOBODY, str(self._owner.epoch)
        return {RUN: run, EPOCH: epoch, SINK: self._spec.name, WRITER: self._writer, WRONG: ""}

    def _check_columns(self, table: DeltaTable) -> None:
        wanted, found = DeltaSchema.from_arrow(self._columns.arrow), table.schema()
        ours, theirs = ([(one.name, one.type) for one in schema.fields] for schema in (wanted, found))
        if ours != theirs or table.metadata().partition_columns != self._partitions:
            raise SinkRefused(
                f"{self} has other columns: {_listed(found, table.metadata().partition_columns)}; the sink writes:"
                f" {_listed(wanted, self._partitions)}",
                "name another folder, where a table is made",
            )

    def _claim(self, table: DeltaTable) -> None:
        """Let the table be of this run. What an older driver is about to commit then fails."""
        known = table.metadata().configuration
        if not self._is_mine(table):
            self._writer = uuid.uuid4().hex
        else:
            self._writer = known[WRITER]
            if known.get(WRONG):
                raise SinkRefused(known[WRONG], "drop the sink and create it again to write the whole answer anew")
        if any(known.get(name, "") != value for name, value in self._mine().items()):
            self._say(table, self._mine())

    def _say(self, table: DeltaTable, properties: dict[str, str]) -> None:
        """The one thing for which the library holds the interpreter up: done when a run begins or ends, not for a batch."""
        table.alter.set_table_properties(properties, raise_if_not_exists=False, commit_properties=_next_version())

    def _is_mine(self, table: DeltaTable) -> bool:
        """Whether this run has begun to write the table; if not, it must be allowed to."""
        known = table.metadata().configuration
        run = known.get(RUN)
        if run is not None and self._owner.is_mine(run, int(known[EPOCH])):
            return True
        is_ours = run is not None and not self._is_changes
        policy = self._spec.existing or (Existing.REPLACE if is_ours else Existing.REFUSE)
        if policy is Existing.REFUSE and table.file_uris():
            whose = "that no sink has written" if run is None else "that another run has written"
            append = " or existing = 'append'" if self._is_changes else ""
            raise SinkRefused(
                f"{self} has rows {whose}", f"name another folder, or say what becomes of them: existing = 'replace'{append}"
            )
        return False

    def _check_mine(self, table: DeltaTable) -> None:
        known = table.metadata().configuration
        self._owner.must_be_mine(known.get(RUN, NOBODY), int(known.get(EPOCH, 0)))

    def _position(self, table: DeltaTable) -> int | None:
        return table.transaction_version(self._writer)

    # --- Rows -----------------------------------------------------------------------------------------------------------

    def _append(self, table: DeltaTable, taken: Taken) -> int:
        if taken.is_answer and taken.after is not None:
            raise dropped_changes(self._spec.view, "drop the sink and create it with existing = 'replace' to begin anew")
        is_anew = taken.after is None and self._spec.existing is not Existing.APPEND
        self._write(table, taken, taken.changes, is_anew=is_anew)
        return len(taken.changes)

    def _update(self, table: DeltaTable, taken: Taken) -> int | None:
        """None: nothing has changed, and no version is made."""
        net = net_changes(taken.changes, self._spec.schema, self._spec.key)
        if taken.after is None or taken.is_answer:
            if len(net.updated) or len(net.deleted):
                raise SinkRefused(
                    f'rows leave view "{self._spec.view}" that never came',
                    "drop the sink and create it again to write the whole answer",
                )
            self._write(table, taken, net.inserted, is_anew=True)
        elif net.count:
            self._merge(table, taken, net)
        else:
            return None
        return net.count

    def _write(self, table: DeltaTable, taken: Taken, rows: pa.Table, *, is_anew: bool) -> None:
        write_deltalake(
            table, rows.cast(self._columns.arrow), mode="overwrite" if is_anew else "append",
            partition_by=self._partitions or None, commit_properties=self._committing(taken),
        )  # fmt: skip

    def _merge(self, table: DeltaTable, taken: Taken, net: NetRows) -> None:
        op = "_op"
        while op in self._columns.names:
            op = f"_{op}"
        parts = [(INSERT, net.inserted), (UPDATE, net.updated), (DELETE, net.deleted)]
        staged = [
            rows.cast(self._columns.arrow).append_column(op, pa.array(np.full(len(rows), number, np.int64)))
            for number, rows in parts
        ]
        same = [f"(t.{_quoted(name)} IS NOT DISTINCT FROM s.{_quoted(name)})" for name in self._spec.key_names]
        merge = table.merge(
            pa.concat_tables(staged), " AND ".join(same) or "true", source_alias="s", target_alias="t",
            commit_properties=self._committing(taken),
        )  # fmt: skip
        done = (
            merge.when_matched_update_all(f"s.{_quoted(op)} = {UPDATE}", except_cols=[op])
            .when_matched_delete(f"s.{_quoted(op)} = {DELETE}")
            .when_not_matched_insert_all(f"s.{_quoted(op)} = {INSERT}", except_cols=[op])
            .execute()
        )
        self._check_merged(table, net, done)

    def _check_merged(self, table: DeltaTable, net: NetRows, done: dict[str, int]) -> None:
        """As many rows as there must be. Delta says how many only when it is done: so the table itself says that it is wrong."""
        if done["num_target_rows_inserted"] != len(net.inserted):
            refusal = not_a_key("a new row has the key of one that stays", self._spec.key_names)
        elif (done["num_target_rows_updated"], done["num_target_rows_deleted"]) != (len(net.updated), len(net.deleted)):
            found = done["num_target_rows_updated"] + done["num_target_rows_deleted"]
            refusal = SinkRefused(
                f"{self} does not hold what was written to it: of {len(net.updated) + len(net.deleted):,} rows that change or go"
                f" {found:,} were found",
                "let nobody else write to it; drop the sink and create it again to write the whole answer anew",
            )
        else:
            return
        self._say(table, {WRONG: refusal.message})
        raise refusal

    def _committing(self, taken: Taken) -> CommitProperties:
        return _next_version([Transaction(self._writer, taken.position)])

    def _compact(self, table: DeltaTable) -> None:
        """Now and then; if somebody else has just written, it is done another time."""
        self._versions += 1
        if self._versions >= COMPACTED:
            self._versions = 0
            with contextlib.suppress(CommitFailedError):
                table.optimize.compact(target_size=LARGE, commit_properties=_next_version())

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What Delta says, as an error of ours, which names the place."""
        try:
            yield
        except CommitFailedError as error:
            raise SashError(f"{self}: another version was written at the same time: {error}") from None
        except (DeltaError, OSError, ValueError) as error:
            raise SashError(f"{self}: {str(error).strip().splitlines()[0]}") from None


def _next_version(transactions: list[Transaction] | None = None) -> CommitProperties:
    """The version right after the one that was looked at, or none."""
    return CommitProperties(app_transactions=transactions, max_commit_retries=0)


def _quoted(name: str) -> str:
    return f"`{name}`"  # which has none inside


def _listed(schema: DeltaSchema, partitions: list[str]) -> str:
    columns = ", ".join(f"{one.name} {one.type}" for one in pa.schema(schema.to_arrow()))
    return f"{columns} by ({', '.join(partitions)})" if partitions else columns
