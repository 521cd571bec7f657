"""Epochs: a checkpoint has one driver at a time, wherever it runs.

    epochs/N.json   claimed by the driver that is told that it wrote the file; who it is, for people

A driver claims the next epoch when it begins, and all that works for it knows the number. Whoever finds a greater one
has been replaced: it stops, and writes nothing more. A driver or a task that slept between its look and its write
does no harm either: its files are named by what its batch brought (`store.py`), so nobody takes them for others.
"""

from __future__ import annotations

import json
import os
import socket
import time
from uuid import uuid4

from sash.errors import SashError
from sash.folders.folder import NotKept
from sash.spark.sealed import DamagedFile, SealedFolder

NONE = 0  # the epoch of who has not begun: a session that only looks
KEPT = 16  # epochs on record
EPOCHS = "epochs"


class Replaced(SashError):
    """Another driver has taken over."""


def claim_epoch(checkpoint: SealedFolder, seen: int) -> int:
    """The number of a new epoch, which is this driver's alone; `seen` is the one that lasted when it opened the checkpoint."""
    folder = checkpoint.child(EPOCHS)
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    who = {"host": socket.gethostname(), "process": os.getpid(), "time": when, "number": uuid4().hex}
    number = seen + 1
    check_unclaimed(checkpoint, seen)
    if not folder.create(_name(number), [json.dumps(who).encode()]):
        raise _claimed(checkpoint)
    there = _numbers(checkpoint)
    if max(there, default=NONE) < number:  # the one before would go on beside this one, and never know
        raise NotKept(folder.place, _name(number))
    for old in there:
        if old <= number - KEPT:
            folder.delete(_name(old))
    return number


def check_unclaimed(checkpoint: SealedFolder, seen: int) -> None:
    """Whether the epoch that lasted when a driver opened the checkpoint still lasts; an error if not."""
    if newest_epoch(checkpoint) > seen:
        raise _claimed(checkpoint)


def _claimed(checkpoint: SealedFolder) -> Replaced:
    return Replaced(
        f"another run{_who(checkpoint, newest_epoch(checkpoint))} has begun to use the checkpoint {checkpoint.place}"
        " since this one connected",
        "connect again when it has ended, or give another folder",
    )


def newest_epoch(checkpoint: SealedFolder) -> int:
    return max(_numbers(checkpoint), default=NONE)


def check_epoch(checkpoint: SealedFolder, mine: int) -> None:
    """Whether this driver's epoch still lasts; an error if not."""
    newest = newest_epoch(checkpoint)
    if mine != NONE and newest > mine:
        raise Replaced(
            f"another run{_who(checkpoint, newest)} has taken over the checkpoint {checkpoint.place}; this one has ended",
            "let one run at a time use a checkpoint, or give another folder",
        )


def _who(checkpoint: SealedFolder, number: int) -> str:
    try:
        data = checkpoint.child(EPOCHS).read(_name(number))
    except DamagedFile:
        data = None
    if data is None:
        return ""
    who = json.loads(bytes(data))
    return f" (process {who['process']} on {who['host']}, {who['time']})"


def _numbers(checkpoint: SealedFolder) -> list[int]:
    names = (name.removesuffix(".json") for name in checkpoint.child(EPOCHS).names())
    return [int(name) for name in names if name.isdigit()]


def _name(number: int) -> str:
    return f"{number:08d}.json"
