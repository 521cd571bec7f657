"""Offsets: what one batch brings, as JSON in Spark's offset log.

An offset holds the place that every stream has reached, for the next batch to go on from, and, for its own batch,
the splits to read, the first arrival time, and the control events. So a batch is made again from its offset alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from sash.folders.folder import Folder
from sash.plan.streams import Stamp, StreamSpec
from sash.planner.job import Job
from sash.sources.splits import Place, Split
from sash.spark.sealed import DamagedFile, MissingFile, SealedFolder

TASK_ROWS = 100_000  # small splits are read together, up to so many rows
TASK_SPLITS = 16
SMALL_ROWS = 10_000  # a split of so few rows is not worth a task of its own
TABLES = "tables"  # the folder of changes of tables


@dataclass(frozen=True)
class Offset:
    """The state of the input after a batch, and what the batch brings."""

    batch: int = 0
    places: dict[str, Place] = field(default_factory=dict)
    splits: tuple[Split, ...] = ()  # of all streams, each stream's in source order
    arrival: int = 0  # given to the first row of every stream that is stamped on arrival
    free: int = 0  # the least arrival time that is not given away
    seen: int = 0  # control events so far
    events: tuple[dict[str, Any], ...] = ()
    is_end: bool = False
    until: int | None = None  # the limit that the shards know of
    job: int = 0  # the version of the job that runs in the batch
    listed: dict[str, str] = field(default_factory=dict)  # which files of every stream are known (`file_chain.py`)

    def to_json(self) -> dict[str, Any]:
        plain = {member.name: getattr(self, member.name) for member in fields(self)}
        places = {name: place.to_json() for name, place in self.places.items()}
        splits = [split.to_json() for split in self.splits]
        return plain | {"places": places, "splits": splits, "events": list(self.events)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Offset:
        places = {name: Place.from_json(place) for name, place in data["places"].items()}
        splits = tuple(Split.from_json(split) for split in data["splits"])
        return Offset(**data | {"places": places, "splits": splits, "events": tuple(data["events"])})


def spark_folder(checkpoint: SealedFolder) -> Folder:
    """Spark's own checkpoint: its offsets and commits."""
    return checkpoint.plain.child("spark")


def offset_of(checkpoint: SealedFolder, batch: int) -> Offset | None:
    """Our offset in Spark's log; it is that of the first source."""
    folder = spark_folder(checkpoint).child("offsets")
    data = folder.read(str(batch))
    try:
        for line in bytes(data).decode().splitlines() if data is not None else ():
            found = json.loads(line) if line.startswith("{") else {}
            if "places" in found and "seen" in found:
                return Offset.from_json(found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(folder.place, str(batch), f"it is no offset ({error})") from error
    return None


def newest_offset(checkpoint: SealedFolder) -> Offset:
    """That of the last batch that has begun."""
    names = spark_folder(checkpoint).child("offsets").names()
    return offset_of(checkpoint, max((int(name) for name in names if name.isdigit()), default=-1)) or Offset()


def check_log(checkpoint: SealedFolder, committed: int) -> None:
    """Spark does not bring its log to the disk, so a loss of power may take offsets and leave the commit after them. A query that
    went on from there would read rows twice."""
    offsets = spark_folder(checkpoint).child("offsets")
    if committed >= 0 and str(committed) not in offsets.names():
        raise MissingFile(offsets.place, str(committed))


def identity_of(checkpoint: SealedFolder, batch: int) -> str:
    """What tells a batch from another of the same number: a digest of all that it brings. Empty if it is not on record."""
    data = spark_folder(checkpoint).child("offsets").read(str(batch))
    return "" if data is None else hashlib.sha256(data).hexdigest()[:16]


@dataclass(frozen=True)
class PlacedSplit:
    """A split, its place among those of its stream in the batch, and the arrival time of its first row."""

    split: Split
    order: int
    arrival: int | None


@dataclass(frozen=True)
class Share:
    """What one task reads; one task of a batch also brings the control events."""

    splits: tuple[PlacedSplit, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    job: int = 0  # its version


def shares(job: Job, offset: Offset) -> list[Share]:
    """A batch cut into tasks."""
    groups: list[list[PlacedSplit]] = [[]]
    rows = 0
    for placed in _placed(job, offset):
        is_full = rows + placed.split.rows > TASK_ROWS and placed.split.rows > SMALL_ROWS
        if groups[-1] and (is_full or len(groups[-1]) == TASK_SPLITS):
            groups.append([])
            rows = 0
        groups[-1].append(placed)
        rows += placed.split.rows
    first = Share(tuple(groups[0]), _control(offset), offset.job)
    return [first, *(Share(tuple(group), job=offset.job) for group in groups[1:])]


def _control(offset: Offset) -> tuple[dict[str, Any], ...]:
    """The events of a batch; an empty one wakes every shard."""
    end = ({"end": 1},) if offset.is_end else ()
    return ({}, *offset.events, *end)


def is_stamped(stream: StreamSpec) -> bool:
    """Whether rows of the stream are given the time of their arrival."""
    return stream.stamp is not Stamp.EXTERNAL and not stream.is_table


def _placed(job: Job, offset: Offset) -> Iterator[PlacedSplit]:
    orders: dict[str, int] = {}
    rows: dict[str, int] = {}
    for split in offset.splits:
        stream = job.stream(split.stream)
        order, before = orders.get(split.stream, 0), rows.get(split.stream, 0)
        yield PlacedSplit(split, order, offset.arrival + before if is_stamped(stream) else None)
        orders[split.stream] = order + 1
        rows[split.stream] = before + split.rows
