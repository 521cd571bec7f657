"""The files of the streams, each stream's in one order for good: that of first sight.

    files/<stream>/00000000.json    the first so many files
    files/<stream>/00000256.json    the next; only the last of these changes, so a new file costs the same, however many there are

The list is written down before any offset speaks of it, so a place in it means the same file after a restart. A file
is what it was when first seen: one that changes later would make a second reading differ from the first, and is an
error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from sash.errors import SashError
from sash.file_names import file_name
from sash.plan.streams import StreamSpec
from sash.sources.listing import SourceFile, list_files
from sash.spark.sealed import MissingFile, SealedFolder

CHUNK = 256  # files that are written down together


class SeenFiles:
    """The files of one stream."""

    def __init__(self, folder: SealedFolder, stream: StreamSpec, base: Path, fence: Callable[[], None] = lambda: None) -> None:
        self._folder = folder.child(file_name(stream.name))
        self._stream = stream
        self._base = base
        self._fence = fence  # raises an error when another driver has taken over
        self.files: list[SourceFile] = list(self._read())
        self._sizes = {file.path: file.size for file in self.files}

    def look(self) -> None:
        """Add the files that are new, in the order of the source."""
        found = list_files(self._stream, self._base)
        for file in found:
            if self._sizes.get(file.path, file.size) != file.size:
                raise SashError(
                    f'the file {file.path} of stream "{self._stream.name}" has changed since it was first read',
                    "add rows in new files, and move a file into the folder when it is whole",
                )
        self._add([file for file in found if file.path not in self._sizes])

    def _add(self, new: list[SourceFile]) -> None:
        if not new:
            return
        self._fence()
        first = len(self.files) // CHUNK * CHUNK
        files = [*self.files, *new]
        for start in range(first, len(files), CHUNK):
            values = [(file.path, file.size, file.modified) for file in files[start : start + CHUNK]]
            self._folder.put(_name(start), [json.dumps(values).encode()])
        self.files = files
        self._sizes |= {file.path: file.size for file in new}

    def _read(self) -> Iterator[SourceFile]:
        names = self._folder.names()
        for place, name in enumerate(names):
            if name != _name(place * CHUNK):
                raise MissingFile(self._folder.place, _name(place * CHUNK))
            values = json.loads(bytes(self._folder.demand(name)))
            if len(values) < CHUNK and name != names[-1]:
                raise MissingFile(self._folder.place, f"{name}, as it was last")
            yield from (SourceFile(*value) for value in values)


def _name(start: int) -> str:
    return f"{start:08d}.json"
