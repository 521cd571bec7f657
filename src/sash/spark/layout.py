"""Layouts: over how many shards the state of a checkpoint is spread, and where it lies.

    job.json       the number of shards that its plans were made for, which never changes
    layout.json    the number that it has now, and the generation of the state; none as long as it is the same
    shards/L/S/    the state of generation 0, see store.py
    shards-G/L/S/  that of generation G

A generation is written next to the one before, and counts from when the layout says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from sash.planner.job import Job
from sash.planner.read_plan import json_object, unreadable
from sash.spark.sealed import SealedFolder

FILE = "layout.json"
SHAPE = {"generation", "shards"}


@dataclass(frozen=True)
class Layout:
    """So many shards; 0: as many as the job says."""

    generation: int = 0
    shards: int = 0

    def of(self, job: Job) -> Job:
        """A job as it runs."""
        return job.on(self.shards) if self.shards else job

    def folder(self, checkpoint: SealedFolder) -> SealedFolder:
        """Of the state of all shards."""
        return checkpoint.child(f"shards-{self.generation}" if self.generation else "shards")


def read_layout(checkpoint: SealedFolder) -> Layout:
    data = checkpoint.read(FILE)
    if data is None:
        return Layout()
    where = f"the file {checkpoint.place}/{FILE}"
    found = json_object(bytes(data), where)
    if found.keys() != SHAPE or any(type(number) is not int or number < 1 for number in found.values()):
        raise unreadable(where, "it is no layout")
    return Layout(**found)


def put_layout(checkpoint: SealedFolder, layout: Layout) -> None:
    checkpoint.put(FILE, [json.dumps({"generation": layout.generation, "shards": layout.shards}).encode()])
