"""The durable history of one shard, in the checkpoint folder.

    log/N         the packets of batch N
    answers/N     what the shard answered
    snapshots/N   the arena after batch N (`snapshots.py`)
    pages/N-D     what of it had changed since the snapshot before

N is the number of the batch and a digest of what it brings, by Spark's record. So two drivers that meant different
batches by one number never write one file, and only the files of batches that are on record are ever read.

For every batch there is a log or a snapshot, whichever is smaller to write, so the state after any of the last
batches can be made again: the newest snapshot before it, then the log. An answer can be made again too, so one that is
damaged is as good as none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sash.runtime.packets import Packet
from sash.spark.sealed import DamagedFile, SealedFolder
from sash.spark.snapshots import files_of, put_snapshot, restore
from sash.spark.wire import from_bytes, to_bytes


@dataclass(frozen=True)
class History:
    """Log, answers and snapshots of a shard."""

    folder: SealedFolder
    identity: Callable[[int], str] = lambda batch: ""  # of a batch; empty where there is no record of it, or no more

    def answer(self, batch: int) -> list[Packet] | None:
        try:
            return _packets(self._read("answers", batch))
        except DamagedFile:
            return None

    def log(self, batch: int) -> list[Packet] | None:
        return _packets(self._read("log", batch))

    def put_answer(self, batch: int, packets: list[Packet]) -> None:
        self.folder.child("answers").put(self._name(batch), to_bytes(packets), durable=False)

    def put_log(self, batch: int, packets: list[Packet]) -> None:
        self.folder.child("log").put(self._name(batch), to_bytes(packets))

    def put_snapshot(self, batch: int, arena: Path, contents: str, before: int | None = None) -> None:
        """`before` is the batch of the snapshot before, from which most pages may be known."""
        known = None if before is None else self._found("snapshots", before)
        put_snapshot(self.folder, self._name(batch), arena, contents, known)

    def snapshots(self, batch: int) -> list[int]:
        """The batches, up to this one, that have a snapshot; the newest first."""
        numbers = {_number(name) for name in self._names("snapshots") if _number(name) <= batch}
        return [number for number in sorted(numbers, reverse=True) if self._found("snapshots", number)]

    @property
    def has_begun(self) -> bool:
        return bool(self._names("snapshots") or self._names("log"))

    def snapshot(self, batch: int) -> pa.Buffer:
        return self.folder.child("snapshots").demand(self._found("snapshots", batch) or self._name(batch))

    def restore(self, batch: int, snapshot: pa.Buffer, arena: Path) -> str:
        """Fill the file with the snapshot of a batch; the table of contents."""
        return restore(self.folder, self._name(batch), snapshot, arena)

    def forget(self, needed: int) -> None:
        """Delete what nobody can ask for who asks for the batch `needed` or a later one."""
        base = max(self.snapshots(needed - 1), default=None)
        if base is None:
            return
        for kind, first in (("answers", needed), ("log", base + 1), ("snapshots", base)):
            for name in self._names(kind):
                if _number(name) < first:
                    self.folder.child(kind).delete(name)
        self._forget_pages()

    def _forget_pages(self) -> None:
        """Files of pages that no snapshot names; one that is being written may have a number that no snapshot has yet."""
        snapshots = self._names("snapshots")
        pages = [name for name in self._names("pages") if _number(name) < max(map(_number, snapshots))]
        with suppress(DamagedFile):
            read = (self.folder.child("snapshots").read(name) for name in snapshots if pages)
            needed = {file for data in read if data is not None for file in files_of(data)}
            for name in pages:
                if name not in needed:
                    self.folder.child("pages").delete(name)

    def _read(self, kind: str, batch: int) -> pa.Buffer | None:
        name = self._name(batch) if self.identity(batch) else self._found(kind, batch)
        return None if name is None else self.folder.child(kind).read(name)

    def _name(self, batch: int) -> str:
        identity = self.identity(batch)
        return f"{batch:08d}-{identity}" if identity else f"{batch:08d}"

    def _found(self, kind: str, batch: int) -> str | None:
        """The file of a batch; of one that Spark has no record of any more, the only one there is."""
        names = [name for name in self._names(kind) if _number(name) == batch]
        if self.identity(batch):
            return self._name(batch) if self._name(batch) in names else None
        return names[0] if len(names) == 1 else None

    def _names(self, kind: str) -> list[str]:
        return [name for name in self.folder.child(kind).names() if name[:8].isdigit()]


def _number(name: str) -> int:
    return int(name[:8])


def _packets(data: pa.Buffer | None) -> list[Packet] | None:
    return None if data is None else from_bytes(data)

