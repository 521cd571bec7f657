"""The versions of a job whose views come and go.

    jobs/N   the job, what was said to make it, and the fingerprint of the whole, as plain data (`planner/write_plan.py`)

A version is written before the control event that speaks of it, and never changes; so whoever meets the event, today or after a
restart, runs the same job from there on. Code of the user is named in it; who reads it says what is registered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sash.errors import SashError
from sash.planner.choose import Choice
from sash.planner.job import Job
from sash.planner.read_plan import Code, from_data, json_object, unreadable
from sash.planner.write_plan import to_data, user_code
from sash.spark.sealed import MissingFile, SealedFolder

PLANS = tuple[Job, Mapping[str, Choice]]
PARTS = {"sql": str, "fingerprint": dict, "tables": dict, "plans": dict}  # of a file
KEPT = 16  # versions that are not read again


@dataclass(frozen=True)
class JobVersion:
    """A job, the statement that made it of the one before, and what a session must say to begin with it."""

    job: Job
    sql: str
    fingerprint: dict[str, Any]
    choices: Mapping[str, Choice] = field(default_factory=dict)  # of views that were planned anew
    tables: Mapping[str, str] = field(default_factory=dict)  # the files of rows that the event brings along


def put_job(checkpoint: SealedFolder, number: int, version: JobVersion) -> None:
    plans = to_data((version.job, dict(version.choices)), PLANS)
    said = {"sql": version.sql, "fingerprint": version.fingerprint, "tables": dict(version.tables)}
    text = json.dumps(said | {"plans": plans})
    if not checkpoint.child("jobs").create(_name(number), [text.encode()]) and number:
        raise SashError(f"another run has changed the views of the checkpoint {checkpoint.place} just now", "connect again")


def read_job(checkpoint: SealedFolder, number: int, code: Code | None) -> JobVersion:
    """A version, with the code that its plans call; None where nobody is going to call it."""
    if not code:
        return _read_plain(checkpoint, number, code is None)
    called = {name: one.implementation for name, one in code.items()}
    found = _read_calling.get((checkpoint, number))
    if found is None or not _are_same(found[0], called):
        if len(_read_calling) >= KEPT:
            _read_calling.clear()
        found = _read_calling[checkpoint, number] = (called, _read(checkpoint, number, code))
    return found[1]


def read_sql(checkpoint: SealedFolder, number: int) -> str:
    """What was said to make a version."""
    return str(_record(checkpoint, number)["sql"])


def read_fingerprint(checkpoint: SealedFolder, number: int) -> dict[str, Any]:
    return dict(_record(checkpoint, number)["fingerprint"])


_read_calling: dict[tuple[SealedFolder, int], tuple[dict[str, Any], JobVersion]] = {}  # and what they may call


@lru_cache(maxsize=KEPT)
def _read_plain(checkpoint: SealedFolder, number: int, is_only_read: bool) -> JobVersion:
    return _read(checkpoint, number, None if is_only_read else {})


def _are_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Code is the same only if it is the very same: it may have changed under its name."""
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def _read(checkpoint: SealedFolder, number: int, code: Code | None) -> JobVersion:
    record = _record(checkpoint, number)
    job, chosen = from_data(record["plans"], PLANS, _where(checkpoint, number), code)
    return JobVersion(job, record["sql"], record["fingerprint"], chosen, record["tables"])


@lru_cache(maxsize=KEPT)
def _record(checkpoint: SealedFolder, number: int) -> dict[str, Any]:
    where, data = _where(checkpoint, number), checkpoint.child("jobs").demand(_name(number))
    found = json_object(bytes(data), where)
    if found.keys() != PARTS.keys() or any(not isinstance(found[name], kind) for name, kind in PARTS.items()):
        raise unreadable(where, "it is no version of a job")
    return found


def job_file(checkpoint: SealedFolder, number: int) -> tuple[str, str]:
    """Folder and name of the file of a version."""
    return checkpoint.child("jobs").place, _name(number)


def _where(checkpoint: SealedFolder, number: int) -> str:
    return f"the file {'/'.join(job_file(checkpoint, number))}"


def forget_jobs() -> None:
    """Read versions anew from now on: another host begins, and the files may be others."""
    _record.cache_clear()
    _read_plain.cache_clear()
    _read_calling.clear()


def newest_job(checkpoint: SealedFolder) -> int:
    """0 while nothing has changed. Versions have their numbers, so one that is lost leaves a hole."""
    folder = checkpoint.child("jobs")
    numbers = {int(name) for name in folder.names() if name.isdigit()}
    for number in range(len(numbers)):
        if number not in numbers:
            raise MissingFile(folder.place, _name(number))
    return max(numbers, default=0)


def job_at(checkpoint: SealedFolder, number: int, first: Job, code: Code | None) -> Job:
    """The job of a version, on as many shards as the first one has, which is the caller's own."""
    return read_job(checkpoint, number, code).job.on(first.shards) if number else first


def needs_another_query(before: Job, job: Job, frames: Collection[str], unsent: Collection[str]) -> bool:
    """Levels, what is packed of DataFrames, and code of the user are part of Spark's query, and some code may not have been sent;
    all else goes with the control events."""
    if job.levels > before.levels or any(port.stream in frames for port in job.new_ports(before)):
        return True
    return bool(unsent) and any(one.name.lower() in unsent for one in user_code(job, Job))


def _name(number: int) -> str:
    return f"{number:08d}"
