"""A digest of a list of files that only grows: whoever remembers it knows whether the list is still the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sash.sources.listing import SourceFile


class FileChain:
    """The digest of a list, and how long it is; when it is asked for again, the list is as long or longer."""

    def __init__(self) -> None:
        self._count = 0
        self._digest = hashlib.sha256()

    def of(self, files: Sequence[SourceFile]) -> str:
        for file in files[self._count :]:
            self._digest.update(f"{len(file.path)} {file.path} {file.size}\n".encode())
        self._count = len(files)
        return f"{self._count}:{self._digest.hexdigest()[:16]}"


def is_begun_by(files: Sequence[SourceFile], chain: str) -> bool:
    """Whether a list begins with the files that a digest was made of."""
    count = int(chain.partition(":")[0])
    return len(files) >= count and FileChain().of(files[:count]) == chain
