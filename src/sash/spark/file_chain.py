"""A digest of a list of files that only grows: whoever remembers it knows whether the list is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sash.sources.listing import SourceFile

SHOWN = 32  # digits of a digest on record; those of 16 were made otherwise


@dataclass(frozen=True)
class FileChain:
    """How many files there are, and the digest of the last one and of the chain before it."""

    count: int = 0
    digest: bytes = b""

    def plus(self, files: Sequence[SourceFile]) -> FileChain:
        digest = self.digest
        for file in files:
            digest = hashlib.sha256(digest + _entry(file)).digest()
        return FileChain(self.count + len(files), digest)

    def to_text(self) -> str:
        return f"{self.count}:{self.digest.hex()[:SHOWN]}"


def is_begun_by(known: FileChain, files: Sequence[SourceFile], chain: str) -> bool:
    """Whether a list begins with the files that a chain was made of; all that is known of its first files is their own chain."""
    count, _, digest = chain.partition(":")
    begun = files[: int(count) - known.count] if int(count) >= known.count else ()
    if known.count + len(begun) != int(count):
        return False
    if len(digest) < SHOWN:  # as it was when lists were kept whole
        return known.count == 0 and hashlib.sha256(b"".join(map(_entry, begun))).hexdigest().startswith(digest)
    return known.plus(begun).to_text() == chain


def _entry(file: SourceFile) -> bytes:
    return f"{len(file.path)} {file.path} {file.size}\n".encode()
