"""The durable history of one shard, in the checkpoint folder.

    log/N         the packets of batch N
    answers/N     what the shard answered
    snapshots/N   the arena after batch N: a line of JSON, then the file, compressed

For every batch there is a log or a snapshot, whichever is smaller to write, so the state after any of the last
batches can be made again: the newest snapshot before it, then the log.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sash.runtime.packets import Packet
from sash.spark.folder import Folder
from sash.spark.wire import from_bytes, to_bytes

CODEC = "lz4"
PIECE = 8 << 20  # bytes of an arena that are compressed at once


@dataclass(frozen=True)
class History:
    """Log, answers and snapshots of a shard."""

    folder: Folder

    def answer(self, batch: int) -> list[Packet] | None:
        return _packets(self.folder.child("answers").read(_name(batch)))

    def log(self, batch: int) -> list[Packet] | None:
        return _packets(self.folder.child("log").read(_name(batch)))

    def put_answer(self, batch: int, packets: list[Packet]) -> None:
        self.folder.child("answers").put(_name(batch), to_bytes(packets))

    def put_log(self, batch: int, packets: list[Packet]) -> None:
        self.folder.child("log").put(_name(batch), to_bytes(packets))

    def put_snapshot(self, batch: int, arena: Path, contents: str) -> None:
        self.folder.child("snapshots").put(_name(batch), _pack(arena, contents))

    def newest_snapshot(self, batch: int) -> int | None:
        """The newest snapshot of this batch or an earlier one."""
        return max((number for number in self._numbers("snapshots") if number <= batch), default=None)

    @property
    def has_begun(self) -> bool:
        return bool(self._numbers("snapshots") or self._numbers("log"))

    def restore(self, batch: int, arena: Path) -> str:
        """Fill the file with the snapshot of a batch; the table of contents."""
        data = self.folder.child("snapshots").read(_name(batch))
        assert data is not None
        return _unpack(data, arena)

    def forget(self, needed: int) -> None:
        """Delete what nobody can ask for who asks for the batch `needed` or a later one."""
        base = self.newest_snapshot(needed - 1)
        if base is None:
            return
        for kind, first in (("answers", needed), ("log", base + 1), ("snapshots", base)):
            for number in self._numbers(kind):
                if number < first:
                    self.folder.child(kind).delete(_name(number))

    def _numbers(self, kind: str) -> list[int]:
        return [int(name) for name in self.folder.child(kind).names()]


def _name(batch: int) -> str:
    return f"{batch:08d}"


def _packets(data: pa.Buffer | None) -> list[Packet] | None:
    return None if data is None else from_bytes(data)


def _pack(arena: Path, contents: str) -> Iterator[pa.Buffer | bytes]:
    codec = pa.Codec(CODEC)
    size = os.path.getsize(arena) if arena.exists() else 0
    yield json.dumps({"contents": contents, "size": size}).encode() + b"\n"
    if not size:
        return
    with open(arena, "rb") as file:
        while piece := file.read(PIECE):
            packed = codec.compress(piece, asbytes=True)
            yield len(piece).to_bytes(8, "little") + len(packed).to_bytes(8, "little") + packed


def _unpack(data: pa.Buffer, arena: Path) -> str:
    codec = pa.Codec(CODEC)
    view = memoryview(data)
    place = bytes(view[: 64 << 20]).index(b"\n") + 1
    header = json.loads(bytes(view[:place]))
    with open(arena, "wb") as file:
        while place < len(view):
            size = int.from_bytes(view[place : place + 8], "little")
            packed = int.from_bytes(view[place + 8 : place + 16], "little")
            file.write(codec.decompress(view[place + 16 : place + 16 + packed], size))
            place += 16 + packed
    return str(header["contents"])
