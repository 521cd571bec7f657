"""What every part of a running query knows besides the job: where things lie, and how much is done at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sash.folders.folder import Folder
from sash.planner.job import Job
from sash.planner.read_plan import from_data, json_object
from sash.planner.write_plan import to_data
from sash.spark.kafka import KafkaStream
from sash.spark.layout import Layout
from sash.spark.sealed import SealedFolder

BATCH_BYTES = 32 << 20  # of input a batch, all streams together
SNAPSHOT_EVERY = 20  # batches, at the latest
RETAIN = 3  # batches before the newest one that can still be answered again


@dataclass(frozen=True)
class Settings:
    """Fixed for one run of a checkpoint; plain data, as all tasks get it."""

    base: str  # relative paths of sources start here
    checkpoint: SealedFolder
    output: Folder
    arenas: Path  # the name of a folder that every machine has for itself (`arenas.py`), or a full path
    frames: frozenset[str] = frozenset()  # streams that come as DataFrames: their options are not for us
    batch_rows: int | None = None
    batch_bytes: int = BATCH_BYTES
    flush: bool = True
    until: int | None = None
    is_bounded: bool = False  # what is there when the query begins is all there will be, where Spark does not say so itself
    snapshot_every: int = SNAPSHOT_EVERY
    retain: int = RETAIN
    epoch: int = 0  # of the driver (`epochs.py`)
    layout: Layout = field(default_factory=Layout)  # of the state
    kafka: tuple[KafkaStream, ...] = ()  # of streams whose partitions are on record in every batch


OPTION = tuple[Job, Settings]


def to_text(job: Job, settings: Settings) -> str:
    """Job and settings as one option of the Spark source."""
    return json.dumps(to_data((job, settings), OPTION))


@lru_cache(maxsize=4)
def from_text(text: str) -> tuple[Job, Settings]:
    """The source reads and packs rows; it calls no code of the user."""
    where = "the option of Spark's source"
    job, settings = from_data(json_object(text.encode(), where), OPTION, where, None)
    return job, settings
