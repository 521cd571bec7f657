"""What a sink in files puts down beside them, in _sash/record: whose the folder is, and how far it is written.

    position    what is in the files for certain
    next        what was begun after that: which files get which contents, and how much they held before

A batch is in the folder when all files of `next` have these contents. If some have not, those that have are cut back, and the
batch is written again. So one small file is written before those of a batch, and none after them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.sinks.files.formats import Format
from sash.sinks.sink import SinkRefused

HOME, RECORD, LOCK = "_sash", "record", "lock"


@dataclass(frozen=True)
class Change:
    """A file that is written."""

    digest: str  # of what it holds then
    before: int  # how much it held, as its format counts


@dataclass(frozen=True)
class Next:
    """A batch on its way."""

    position: int
    files: Mapping[str, Change] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    run: str
    epoch: int
    sink: str
    layout: str  # format, mode and columns of the files
    position: int | None = None
    next: Next | None = None

    @property
    def reached(self) -> int | None:
        """How far the folder is written, if what was begun is finished."""
        return self.position if self.next is None else self.next.position

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def read(cls, folder: Folder) -> Record | None:
        data = folder.child(HOME).read(RECORD)
        if data is None:
            return None
        try:
            known = json.loads(bytes(data))
            begun = known.pop("next")
            files = {} if begun is None else {name: Change(**change) for name, change in begun["files"].items()}
            return cls(**known, next=None if begun is None else Next(begun["position"], files))
        except (ValueError, TypeError, KeyError) as error:
            raise SashError(f"{folder.place}/{HOME}/{RECORD} is damaged: {error}", "empty the folder, or name another") from None

    def put(self, folder: Folder) -> None:
        folder.child(HOME).put(RECORD, [self.to_bytes()])


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def read_file(folder: Folder, name: str) -> bytes | None:
    place, file = at(folder, name)
    data = place.read(file)
    return None if data is None else bytes(data)


def at(folder: Folder, name: str) -> tuple[Folder, str]:
    """Where a file is that a path below the folder names."""
    *above, file = name.split("/")
    return folder.child(*above) if above else folder, file


def settled(folder: Folder, record: Record, kind: Format) -> Record:
    """What the folder holds, after what was begun and not finished is undone."""
    if record.next is None:
        return record
    found = {name: read_file(folder, name) for name in record.next.files}
    done = {name: data for name, data in found.items() if data is not None and digest(data) == record.next.files[name].digest}
    if len(done) == len(found):
        return record
    for name in found.keys() - done.keys():
        if kind.size(found[name]) != record.next.files[name].before:
            raise SinkRefused(
                f"the file {folder.place}/{name} is not what was written to it",
                "let nobody else write to the folder; empty it, and create the sink again",
            )
    for name, data in done.items():
        place, file = at(folder, name)
        before = record.next.files[name].before
        if before:
            place.put(file, [kind.cut(data, before)])
        else:
            place.delete(file)
    return replace(record, next=None)
