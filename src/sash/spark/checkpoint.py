"""The checkpoint folder of a job: whose it is, what has been asked of it, and whether it is finished.

    job.json         whose checkpoint this is: another job is refused
    jobs/N           its versions, as views come and go
    tables/          changes of tables, and the rows of tables that were read later
    manifest/        see manifest.py
    files/           the files of every stream in the order in which they were first seen
    control/N.json   time advances, changes of tables and of the job, by their numbers, from 1 on
    asked.json       how many of these there are, at least
    folded.json      what became of those that nobody can ask for any more (`folding.py`)
    epochs/N.json    the drivers that ran it, one after the other
    finished.json    the end of the input is on record: nothing can be added
    spark/           Spark's own checkpoint: offsets and commits
    layout.json      over how many shards the state is spread, and in which folder it lies (`layout.py`)
    shards/L/S/      see store.py

All but Spark's own are sealed (`sealed.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import uuid
from dataclasses import dataclass, replace
from typing import Any

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.planner.job import Job
from sash.planner.read_plan import json_object, unreadable
from sash.sources.registry.place import reaching
from sash.spark.jobs import forget_jobs, newest_job, read_fingerprint
from sash.spark.sealed import DamagedFile, MissingFile, SealedFolder

FORMAT = 6  # of what lies in a checkpoint: greater when state of one version means something else to the next
ASKED = "asked.json"
JOB = "job"  # of the event that changes the job: its version
_ASKING = threading.Lock()  # the user asks, and so does who watches silent streams
SHAPE = {"shards": int, "levels": int, "streams": dict, "views": dict, "ports": str, "number": str, "early": int}  # of job.json
ANOTHER = "give another --checkpoint folder, or run the job that this one belongs to"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder; `find_checkpoint` makes sure that it is the job's own."""

    folder: SealedFolder
    number: str  # a random name, which all that belongs to it carries
    early: int = 0  # events that were to be asked for when it was made, before anything else

    @property
    def is_finished(self) -> bool:
        return self.folder.has("finished.json")

    def finish(self) -> None:
        self.folder.put("finished.json", [b"{}"])

    def ask(self, event: dict[str, Any]) -> None:
        """Put down a control event. The source takes it up in its next batch."""
        body = json.dumps(event).encode()
        with _ASKING:
            number, control = newest_event(self.folder) + 1, self.folder.child("control")
            while not control.create(_event_name(number), [body]):
                number += 1  # somebody else asks too
            self._asked(number)

    def ask_as(self, number: int, event: dict[str, Any]) -> None:
        """Put down one of the events that come before anything else, unless another driver of the same job has done so."""
        with _ASKING:
            self.folder.child("control").create(_event_name(number), [json.dumps(event).encode()])
            self._asked(number)

    def _asked(self, number: int) -> None:
        control = self.folder.child("control")
        if not control.has(_event_name(number)):
            raise MissingFile(control.place, _event_name(number))  # else somebody would wait for ever, or be forgotten
        self.folder.put(ASKED, [json.dumps(max(number, newest_event(self.folder))).encode()], durable=False)


def events_after(folder: SealedFolder, seen: int) -> list[dict[str, Any]]:
    """The control events that were put down after the first `seen`; one that is lost is an error, as it has a number."""
    return events_between(folder, seen, None)


def events_between(folder: SealedFolder, seen: int, last: int | None) -> list[dict[str, Any]]:
    control = folder.child("control")
    end = max(_event_numbers(folder), default=0) if last is None else last
    return [json.loads(bytes(control.demand(_event_name(number)))) for number in range(seen + 1, end + 1)]


def event_names(folder: SealedFolder, last: int) -> list[str]:
    """The files of the events up to one."""
    return [_event_name(number) for number in _event_numbers(folder) if number <= last]


def check_events(folder: SealedFolder, seen: int) -> None:
    """No event at the end is lost: neither one of those that have been seen, nor one that was asked for since."""
    newest, known = max(_event_numbers(folder), default=0), max(seen, newest_event(folder))
    if newest < known:
        raise MissingFile(folder.child("control").place, _event_name(known))


def newest_event(folder: SealedFolder) -> int:
    """The number of the last event that was asked for."""
    try:
        asked = folder.read(ASKED)
    except DamagedFile:
        asked = None  # it only stands by, should the last event itself be lost
    return max(_event_numbers(folder), default=0) if asked is None else max(int(bytes(asked)), *_event_numbers(folder), 0)


def _event_numbers(folder: SealedFolder) -> list[int]:
    names = (name.removesuffix(".json") for name in folder.child("control").names())
    return [int(name) for name in names if name.isdigit()]


def _event_name(number: int) -> str:
    return f"{number:08d}.json"


def find_checkpoint(folder: SealedFolder, job: Job) -> Checkpoint | None:
    """The checkpoint of this job, None if there is none yet; an error if it belongs to another."""
    forget_jobs()
    if folder.has("job.json"):
        theirs = _belonging(folder)
        folder = replace(folder, number=theirs["number"])
        newest, mine = newest_job(folder), fingerprint(job)
        if not newest or read_fingerprint(folder, newest) != mine:
            _compare(folder, theirs, mine)
        return Checkpoint(folder, theirs["number"], theirs["early"])
    if folder.names():
        raise SashError(f"the folder {folder.place} is not empty, and not a checkpoint", "give a new folder")
    return None


def shards_of(folder: SealedFolder) -> int | None:
    """How many shards the job of a checkpoint has; None if there is none yet."""
    return int(_belonging(folder)["shards"]) if folder.has("job.json") else None


def _belonging(folder: SealedFolder) -> dict[str, Any]:
    """Whose checkpoint it is."""
    where, data = f"the file {folder.place}/job.json", folder.plain.read("job.json")
    if data is not None and bytes(memoryview(data)[:1]) == b"{":  # as formats before 5 were written; no seal, no format 5
        return _checked(folder, json_object(bytes(data), where) | {"sealed": False})
    return _checked(folder, json_object(bytes(folder.demand("job.json")), where))


def make_checkpoint(folder: SealedFolder, job: Job, early: int = 0) -> Checkpoint:
    """A new one; so many events are asked for before anything else."""
    number = uuid.uuid4().hex
    whose = fingerprint(job) | {"number": number, "early": early}
    if not folder.create("job.json", [json.dumps(whose, indent=1).encode()]):
        raise SashError(f"another run has just begun the checkpoint {folder.place}", ANOTHER)
    return Checkpoint(replace(folder, number=number), number, early)


def fingerprint(job: Job) -> dict[str, Any]:
    """What must be equal for a checkpoint to be gone on with."""
    return {
        "format": FORMAT,
        "shards": job.shards,
        "levels": job.levels,
        "streams": {stream.name: _hash(reaching(stream, None)) for stream in job.streams},
        "views": {view.name: _hash(view) for view in job.views},
        "ports": _hash(job.ports),
    }


def _checked(folder: Folder, theirs: dict[str, Any]) -> dict[str, Any]:
    """The contents of job.json. Nothing else of a checkpoint is looked at before its format is known."""
    if theirs.get("format") != FORMAT:
        raise SashError(
            f"the checkpoint {folder.place} was made by another version of Sash"
            f" (its format is {theirs.get('format')!r}, that of this one {FORMAT})",
            ANOTHER,
        )
    is_whole = all(isinstance(theirs.get(name), kind) for name, kind in SHAPE.items())
    if not is_whole or theirs.keys() != {"format", *SHAPE} or not re.fullmatch("[0-9a-f]{32}", theirs["number"]):
        raise unreadable(f"the file {folder.place}/job.json", "it is no job's")
    return theirs


def _compare(folder: Folder, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    for kind in ("streams", "views"):
        for name in sorted(set(theirs[kind]) | set(mine[kind])):
            if theirs[kind].get(name) != mine[kind].get(name):
                how = "is not in it" if name not in theirs[kind] else "has changed" if name in mine[kind] else "is gone"
                raise SashError(f'the checkpoint {folder.place} is of another job: {kind[:-1]} "{name}" {how}', ANOTHER)
    if theirs["shards"] != mine["shards"]:
        raise SashError(
            f"the checkpoint {folder.place} has {theirs['shards']} shards, the job {mine['shards']}",
            f"run with --shards {theirs['shards']}, or leave it out, or give another --checkpoint folder",
        )
    if theirs != mine | {"number": theirs["number"], "early": theirs["early"]}:
        raise SashError(f"the checkpoint {folder.place} was made with another plan of the same job", ANOTHER)


def _hash(value: object) -> str:
    # Specs and plans are frozen dataclasses of plain values, so equal ones print alike.
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
