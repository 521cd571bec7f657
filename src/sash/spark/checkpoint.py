"""The checkpoint folder of a job: whose it is, what has been asked of it, and whether it is finished.

    job.json         whose checkpoint this is: another job, or another number of shards, is refused
    jobs/N           its versions, as views come and go
    tables/          changes of tables, and the rows of tables that were read later
    complete/        from when on later views are complete
    files/           the files of every stream in the order in which they were first seen
    control/N.json   time advances, changes of tables and of the job, in the order in which they were asked for
    finished.json    the end of the input is on record: nothing can be added
    spark/           Spark's own checkpoint: offsets and commits
    shards/L/S/      see store.py
"""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from dataclasses import dataclass
from typing import Any

from sash.errors import SashError
from sash.physical.job import Job
from sash.spark.folder import Folder
from sash.spark.jobs import newest_job, read_job

FORMAT = 4  # of what lies in a checkpoint: greater when state of one version means something else to the next
_ASKING = threading.Lock()  # the user asks, and so does who watches silent streams
ANOTHER = "give another --checkpoint folder, or run the job that this one belongs to"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder; `find_checkpoint` makes sure that it is the job's own."""

    folder: Folder
    number: str  # a random name, which the arenas of all hosts carry

    @property
    def is_finished(self) -> bool:
        return self.folder.has("finished.json")

    def finish(self) -> None:
        self.folder.put("finished.json", [b"{}"])

    def ask(self, event: dict[str, Any]) -> None:
        """Put down a control event. The source takes it up in its next batch."""
        control = self.folder.child("control")
        with _ASKING:
            control.put(f"{len(control.names()) + 1:08d}.json", [json.dumps(event).encode()])


def events_after(folder: Folder, seen: int) -> list[dict[str, Any]]:
    """The control events that were put down after the first `seen`."""
    control = folder.child("control")
    found = (control.read(name) for name in control.names()[seen:])
    return [json.loads(bytes(data)) for data in found if data is not None]


def find_checkpoint(folder: Folder, job: Job) -> Checkpoint | None:
    """The checkpoint of this job, None if there is none yet; an error if it belongs to another."""
    found = folder.read("job.json")
    if found is not None:
        theirs = json.loads(bytes(found))
        newest, mine = newest_job(folder), fingerprint(job)
        if not newest or read_job(folder, newest).fingerprint != mine:
            _compare(folder, theirs, mine)
        return Checkpoint(folder, theirs["number"])
    if folder.names():
        raise SashError(f"the folder {folder.place} is not empty, and not a checkpoint", "give a new folder")
    return None


def make_checkpoint(folder: Folder, job: Job) -> Checkpoint:
    number = uuid.uuid4().hex
    folder.put("job.json", [json.dumps(fingerprint(job) | {"number": number}, indent=1).encode()])
    return Checkpoint(folder, number)


def fingerprint(job: Job) -> dict[str, Any]:
    """What must be equal for a checkpoint to be gone on with."""
    return {
        "format": FORMAT,
        "shards": job.shards,
        "levels": job.levels,
        "streams": {stream.name: _hash(stream) for stream in job.streams},
        "views": {view.name: _hash(view) for view in job.views},
        "ports": _hash(job.ports),
    }


def _compare(folder: Folder, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    if theirs.get("format") != FORMAT:
        raise SashError(f"the checkpoint {folder.place} was made by another version of Sash", ANOTHER)
    for kind in ("streams", "views"):
        for name in sorted(set(theirs[kind]) | set(mine[kind])):
            if theirs[kind].get(name) != mine[kind].get(name):
                how = "is not in it" if name not in theirs[kind] else "has changed" if name in mine[kind] else "is gone"
                raise SashError(f'the checkpoint {folder.place} is of another job: {kind[:-1]} "{name}" {how}', ANOTHER)
    if theirs["shards"] != mine["shards"]:
        raise SashError(
            f"the checkpoint {folder.place} has {theirs['shards']} shards, the job {mine['shards']}",
            f"run with --shards {theirs['shards']}, or give another --checkpoint folder",
        )
    if theirs != mine | {"number": theirs["number"]}:
        raise SashError(f"the checkpoint {folder.place} was made with another plan of the same job", ANOTHER)


def _hash(value: object) -> str:
    # Specs and plans are frozen dataclasses of plain values, so equal ones print alike.
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
