"""Files of a stream that have been read: their number, the chain of their names, and digests by which they are known again.

    known-00002048   the digest of the chain; then for every file 8 bytes of the digest of its path, by which they are in
                     order, and 8 of its size

That a file is known must never be forgotten, or it would be read a second time when it is seen again: a folder that cannot be
listed for a while looks as if it were empty. Sixteen bytes a file, read at once, are milliseconds for a million files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sash.sources.listing import SourceFile
from sash.spark.file_chain import FileChain
from sash.spark.sealed import SealedFolder

KNOWN = "known-"
DIGEST = 32  # bytes of that of the chain
PAIR = np.dtype([("path", "<u8"), ("size", "<i8")])


@dataclass(frozen=True)
class KnownFiles:
    """The first files of a stream."""

    chain: FileChain = field(default_factory=FileChain)
    pairs: np.ndarray = field(default_factory=lambda: np.zeros(0, PAIR))

    @staticmethod
    def newest(folder: SealedFolder) -> KnownFiles:
        """Those on record; none before there are many."""
        name = max((name for name in folder.names() if name.startswith(KNOWN)), default=None)
        if name is None:
            return KnownFiles()
        data = memoryview(folder.demand(name))
        pairs = np.frombuffer(data[DIGEST:], PAIR)
        return KnownFiles(FileChain(int(name.removeprefix(KNOWN)), bytes(data[:DIGEST])), pairs)

    @property
    def name(self) -> str:
        return f"{KNOWN}{self.chain.count:08d}"

    def put(self, folder: SealedFolder) -> None:
        folder.put(self.name, [self.chain.digest, self.pairs.tobytes()])

    def plus(self, files: Sequence[SourceFile]) -> KnownFiles:
        added = np.array([(_digest(file.path), file.size) for file in files], PAIR)
        return KnownFiles(self.chain.plus(files), np.sort(np.concatenate([self.pairs, added]), order="path"))

    def size(self, path: str) -> int | None:
        """Of a file; None if it is not among them."""
        wanted = np.uint64(_digest(path))
        place = int(np.searchsorted(self.pairs["path"], wanted))
        is_found = place < len(self.pairs) and self.pairs["path"][place] == wanted
        return int(self.pairs["size"][place]) if is_found else None


def _digest(path: str) -> int:
    return int.from_bytes(hashlib.blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest(), "little")
