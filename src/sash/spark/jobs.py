"""The versions of a job whose views come and go.

    jobs/N   the job, what was said to make it, and the fingerprint of the whole

A version is written before the control event that speaks of it, and never changes; so whoever meets the event, today or after a
restart, runs the same job from there on.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle

from sash.physical.choose import Choice
from sash.physical.job import Job
from sash.spark.folder import Folder


@dataclass(frozen=True)
class JobVersion:
    """A job, the statement that made it of the one before, and what a session must say to begin with it."""

    job: Job
    sql: str
    fingerprint: dict[str, Any]
    choices: Mapping[str, Choice] = field(default_factory=dict)  # of views that were planned anew


def put_job(checkpoint: Folder, number: int, version: JobVersion) -> None:
    job = base64.b64encode(cloudpickle.dumps((version.job, dict(version.choices)))).decode()
    text = json.dumps({"job": job, "sql": version.sql, "fingerprint": version.fingerprint})
    checkpoint.child("jobs").put(_name(number), [text.encode()])


@lru_cache(maxsize=16)
def read_job(checkpoint: Folder, number: int) -> JobVersion:
    data = checkpoint.child("jobs").read(_name(number))
    assert data is not None, f"version {number} of the job is not on record"
    found = json.loads(bytes(data))
    job, chosen = cloudpickle.loads(base64.b64decode(found["job"]))
    return JobVersion(job, found["sql"], found["fingerprint"], chosen)


def newest_job(checkpoint: Folder) -> int:
    """0 while nothing has changed."""
    return max((int(name) for name in checkpoint.child("jobs").names()), default=0)


def job_at(checkpoint: Folder, number: int, first: Job) -> Job:
    """The job of a version; the first one is the caller's own."""
    return read_job(checkpoint, number).job if number else first


def needs_another_query(before: Job, job: Job, frames: Collection[str]) -> bool:
    """Levels, and what is packed of DataFrames, are part of Spark's query; all else goes with the control events."""
    return job.levels > before.levels or any(port.stream in frames for port in job.new_ports(before))


def _name(number: int) -> str:
    return f"{number:08d}"
