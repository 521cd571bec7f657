"""What every part of a running query knows besides the job: where things lie, and how much is done at once."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from pyspark import cloudpickle

from sash.physical.job import Job
from sash.spark.folder import Folder

BATCH_BYTES = 32 << 20  # of input a batch, all streams together
SNAPSHOT_EVERY = 20  # batches, at the latest
RETAIN = 3  # batches before the newest one that can still be answered again


@dataclass(frozen=True)
class Settings:
    """Fixed for one run of a checkpoint; picklable, as all tasks get it."""

    base: str  # relative paths of sources start here
    checkpoint: Folder
    output: Folder
    arenas: Path  # on every host, its own
    frames: frozenset[str] = frozenset()  # streams that come as DataFrames: their options are not for us
    batch_rows: int | None = None
    batch_bytes: int = BATCH_BYTES
    flush: bool = True
    until: int | None = None
    snapshot_every: int = SNAPSHOT_EVERY
    retain: int = RETAIN


def to_text(job: Job, settings: Settings) -> str:
    """Job and settings as one option of the Spark source."""
    return base64.b64encode(cloudpickle.dumps((job, settings))).decode()


def from_text(text: str) -> tuple[Job, Settings]:
    job, settings = cloudpickle.loads(base64.b64decode(text))
    return job, settings
