"""Folding: control events that nobody can ask for any more become one file, and the changes of a table one net change.

    folded.json             up to which event, and for every table the file with what all of them changed in it
    tables/net-N-….arrow    such a file

What a batch brings is in its offset, in Spark's log, so a restart asks only for events after the oldest batch that may run again;
and for what a table holds, which follows from the net change as well. The newest event is never folded: it keeps the count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sash.runtime.packets import batch_body
from sash.runtime.packing import WEIGHT
from sash.spark.checkpoint import JOB, event_names, events_between, newest_event
from sash.spark.offsets import TABLES, offset_of
from sash.spark.sealed import SealedFolder

CONTROL, FOLDED = "control", "folded.json"
LEAST = 32  # events that are worth it


@dataclass(frozen=True)
class Folded:
    """What became of the first events."""

    seen: int = 0
    tables: Mapping[str, str] = field(default_factory=dict)  # the file of each table that they changed
    followed: Mapping[str, Any] = field(default_factory=dict)  # how far the source of each table was read that follows one

    @staticmethod
    def read(checkpoint: SealedFolder) -> Folded:
        data = checkpoint.read(FOLDED)
        return Folded() if data is None else Folded(**json.loads(bytes(data)))


def fold(checkpoint: SealedFolder, batch: int) -> None:
    """Fold the events of the batches up to this one, if they are many."""
    offset, folded = offset_of(checkpoint, batch), Folded.read(checkpoint)
    last = 0 if offset is None else min(offset.seen, newest_event(checkpoint) - 1)
    if last - folded.seen < LEAST:
        return
    events = events_between(checkpoint, folded.seen, last)
    tables, folder = dict(folded.tables), checkpoint.child(TABLES)
    for name in {name for event in events for name in changed_tables(event)}:
        before = [tables[name]] if name in tables else []
        changes = [read_rows(folder, file) for file in (*before, *(changed_tables(event).get(name) for event in events)) if file]
        body = batch_body(_net(changes))
        tables[name] = f"net-{last:08d}-{hashlib.sha256(body).hexdigest()[:16]}.arrow"
        folder.put(tables[name], [body])
    read = dict(folded.followed)
    for event in events:
        read |= event.get("followed", {})
    checkpoint.put(FOLDED, [json.dumps({"seen": last, "tables": tables, "followed": read}).encode()])
    _forget(checkpoint, events, last, set(folded.tables.values()) - set(tables.values()))


def table_changes(checkpoint: SealedFolder, name: str) -> Iterator[pa.RecordBatch]:
    """The changes of a table that were asked for, in their order; the first ones as one."""
    folded, folder = Folded.read(checkpoint), checkpoint.child(TABLES)
    if name in folded.tables:
        yield read_rows(folder, folded.tables[name])
    for event in events_between(checkpoint, folded.seen, None):
        if name in changed_tables(event):
            yield read_rows(folder, changed_tables(event)[name])


def followed_to(checkpoint: SealedFolder, name: str) -> Any:
    """How far the source of a table was read, when its last change was put down; None if it has none."""
    folded = Folded.read(checkpoint)
    found = folded.followed.get(name)
    for event in events_between(checkpoint, folded.seen, None):
        found = event.get("followed", {}).get(name, found)
    return found


def changed_tables(event: Mapping[str, Any]) -> dict[str, str]:
    """The files of the changes that an event brings; with a job it brings whole tables, for who reads them first."""
    return {} if JOB in event else event.get("tables", {})


def read_rows(folder: SealedFolder, file: str) -> pa.RecordBatch:
    with pa.ipc.open_stream(folder.demand(file)) as reader:
        return reader.read_next_batch()


def _forget(checkpoint: SealedFolder, events: list[dict[str, Any]], last: int, old: set[str]) -> None:
    for event in events:
        old |= set(changed_tables(event).values())
    for file in old:
        checkpoint.child(TABLES).delete(file)
    for name in event_names(checkpoint, last):
        checkpoint.child(CONTROL).delete(name)


def _net(changes: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Changes of a table as one, in which what came and went is not there."""
    whole = pa.Table.from_batches(changes)
    columns = [f"c{place}" for place in range(whole.num_columns - 1)]
    if columns and not any(pa.types.is_nested(kind) for kind in whole.schema.types):
        grouped = whole.rename_columns([*columns, WEIGHT]).group_by(columns, use_threads=False).aggregate([(WEIGHT, "sum")])
        kept = grouped.filter(pa.compute.not_equal(grouped.column(f"{WEIGHT}_sum"), 0))
        whole = kept.select([*columns, f"{WEIGHT}_sum"]).rename_columns(whole.column_names).cast(whole.schema)
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in whole.columns], schema=whole.schema)
