"""Outputs: what leaves a shard for good, as Parquet files named by batch and shard.

    <output>/<view>.changes.parquet/batch-00000012-shard-003.parquet     _op, _ts, columns
    <output>/<stream>.late.parquet/…                                     rows that came too late
    <output>/<stream>.dead.parquet/…                                     lines that could not be read, with the reason

A batch that is answered again replaces its files by equal ones, so a plain reader of a folder sees each change once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from sash.physical.job import Job, View
from sash.runtime.packets import OUTSIDE, Cargo, Packet, changes_schema
from sash.spark.folder import Folder

ENDINGS = {Cargo.CHANGES: "changes", Cargo.LATE: "late", Cargo.DEAD: "dead"}
EMPTY = "batch-none.parquet"  # no rows: gives the folder its schema before the first change


@dataclass(frozen=True)
class Written:
    """What was written, in rows, and the packets that were not for a file."""

    rows: dict[Cargo, int]
    rest: list[Packet]

    def facts(self) -> dict[str, int | None]:
        return {ending: self.rows[cargo] for cargo, ending in ENDINGS.items()}


def write_outputs(
    output: Folder, batch: int, shard: int, packets: Iterable[Packet], twins: Mapping[str, Sequence[str]] | None = None
) -> Written:
    """Write the packets for files, one file for every view or stream that has some; a view's also for its twins."""
    groups: dict[tuple[Cargo, str], list[pa.RecordBatch]] = {}
    rest = []
    for packet in packets:
        if packet.level == OUTSIDE and packet.cargo in ENDINGS:
            groups.setdefault((packet.cargo, packet.name), []).append(packet.batch())
        else:
            rest.append(packet)
    rows = dict.fromkeys(ENDINGS, 0)
    for (cargo, name), batches in groups.items():
        table = pa.Table.from_batches(batches)
        rows[cargo] += table.num_rows
        for twin in (twins or {}).get(name, (name,)) if cargo is Cargo.CHANGES else (name,):
            if table.num_rows:
                _put(folder_of(output, twin, cargo), f"batch-{batch:08d}-shard-{shard:03d}.parquet", table)
    return Written(rows, rest)


def folder_of(output: Folder, name: str, cargo: Cargo) -> Folder:
    return output.child(f"{name}.{ENDINGS[cargo]}.parquet")


def prepare_outputs(output: Folder, job: Job) -> None:
    """Begin anew: nothing of an earlier run stays, and folders of changes can be read before the first change."""
    for view in job.views:
        prepare_view(output, view)
    for stream in job.streams:
        for cargo in (Cargo.LATE, Cargo.DEAD):
            _clear(folder_of(output, stream.name, cargo))


def prepare_view(output: Folder, view: View) -> None:
    folder = folder_of(output, view.name, Cargo.CHANGES)
    _clear(folder)
    _put(folder, EMPTY, changes_schema(view.schema).empty_table())


def begin_changes(output: Folder, view: View, batch: int) -> None:
    """The changes of a view begin with a batch; what is there of earlier ones was another's of the same name."""
    folder = folder_of(output, view.name, Cargo.CHANGES)
    for name in folder.names():
        if name != EMPTY and name.startswith("batch-") and _batch_of(name) < batch:
            folder.delete(name)
    _put(folder, EMPTY, changes_schema(view.schema).empty_table())


def copy_changes(output: Folder, view: View, other: View, before: int) -> None:
    """Give another view, of the same spec, the changes of all batches before one."""
    mine, theirs = (folder_of(output, which.name, Cargo.CHANGES) for which in (view, other))
    for name in mine.names():
        data = mine.read(name) if name != EMPTY and _batch_of(name) < before else None
        if data is not None:
            theirs.put(name, [data])


def _clear(folder: Folder) -> None:
    for name in folder.names():
        if name.startswith("batch-"):
            folder.delete(name)


def read_changes(output: Folder, view: View, before: int | None = None) -> pa.Table:
    """The changes of all batches, or of those before one."""
    folder = folder_of(output, view.name, Cargo.CHANGES)
    names = [name for name in folder.names() if name != EMPTY and (before is None or _batch_of(name) < before)]
    tables = [changes_schema(view.schema).empty_table()]
    for name in names:
        tables.append(pq.read_table(pa.BufferReader(folder.read(name))))
    return pa.concat_tables(tables)


def write_answer(output: Folder, view: View, answer: pa.Table) -> None:
    """The answer of a view as one file."""
    _put(output, f"{view.name}.parquet", answer)


def _batch_of(name: str) -> int:
    return int(name.split("-")[1])


def _put(folder: Folder, name: str, table: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    folder.put(name, [sink.getvalue()])
