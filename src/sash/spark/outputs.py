"""Outputs: what leaves a shard for good, as Parquet files named by batch and shard.

    <output>/<view>.changes.parquet/batch-00000012-shard-003.parquet     _op, _ts, columns
    <output>/<stream>.late.parquet/…                                     rows that came too late
    <output>/<stream>.dead.parquet/…                                     lines that could not be read, with the reason

A batch that is answered again replaces its files by equal ones. With its answer a shard tells which files it wrote; the driver
puts that down in the manifest (`ledger.py`), and merges small files later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from sash.file_names import file_name
from sash.folders.folder import Folder, NotKept
from sash.planner.job import View
from sash.runtime.packets import OUTSIDE, Cargo, Packet, changes_schema, told_body
from sash.spark.manifest import Part
from sash.spark.output_files import put_rows, shard_file

ENDINGS = {Cargo.CHANGES: "changes", Cargo.LATE: "late", Cargo.DEAD: "dead"}
EMPTY = "batch-none.parquet"  # no rows: gives the folder its schema before the first change
WRITTEN = "written"  # the name of what a shard tells of its files

Parts = Mapping[str, Sequence[Part]]  # by the names of their folders


@dataclass(frozen=True)
class Written:
    """What was written, in rows and in files, and the packets that were not for a file."""

    rows: dict[Cargo, int]
    rest: list[Packet]
    files: dict[str, list[Part]] = field(default_factory=dict)

    def facts(self) -> dict[str, int | None]:
        return {ending: self.rows[cargo] for cargo, ending in ENDINGS.items()}

    def told(self, shard: int) -> list[Packet]:
        """The files, for the driver."""
        if not self.files:
            return []
        body = told_body({name: [part.to_json() for part in parts] for name, parts in self.files.items()})
        return [Packet(OUTSIDE, shard, Cargo.FACTS, WRITTEN, -1, shard, body)]


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
    written = Written(dict.fromkeys(ENDINGS, 0), rest)
    for (cargo, name), batches in groups.items():
        table = pa.Table.from_batches(batches)
        written.rows[cargo] += table.num_rows
        for twin in (twins or {}).get(name, (name,)) if cargo is Cargo.CHANGES else (name,):
            if table.num_rows:
                place = output_name(twin, cargo)
                part = put_rows(output.child(place), shard_file(batch, shard), batch, table)
                written.files.setdefault(place, []).append(part)
    return written


def told_files(told: Iterable[Packet]) -> Parts:
    """The files that the shards say they wrote in a batch."""
    found: dict[str, list[Part]] = {}
    for packet in told:
        if packet.cargo is Cargo.FACTS and packet.name == WRITTEN:
            for name, parts in packet.told().items():
                found.setdefault(name, []).extend(map(Part.from_json, parts))
    return found


def are_there(output: Folder, told: Iterable[Packet]) -> bool:
    """Whether the files of an answer are where they were written."""
    return all(output.child(name).size(part.file) == part.size for name, parts in told_files(told).items() for part in parts)


def output_name(name: str, cargo: Cargo) -> str:
    """The folder of an output, which is its name in the manifest."""
    return f"{file_name(name)}.{ENDINGS[cargo]}.parquet"


def is_changes(output: str) -> bool:
    return output.endswith(f".{ENDINGS[Cargo.CHANGES]}.parquet")


def put_empty(output: Folder, view: View) -> None:
    """Let the changes of a view be read before the first one."""
    sink = pa.BufferOutputStream()
    pq.write_table(changes_schema(view.schema).empty_table(), sink)
    data, folder = sink.getvalue(), output.child(output_name(view.name, Cargo.CHANGES))
    there = folder.read(EMPTY)
    if there is not None and there.equals(data):
        return
    folder.put(EMPTY, [data])
    if folder.size(EMPTY) != data.size:  # the manifest does not know of it, and plain readers would stumble over it
        raise NotKept(folder.place, EMPTY)


def write_answer(output: Folder, view: View, answer: pa.Table) -> None:
    """The answer of a view as one file."""
    sink = pa.BufferOutputStream()
    pq.write_table(answer, sink)
    output.put(f"{file_name(view.name)}.parquet", [sink.getvalue()])
