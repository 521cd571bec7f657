"""The files of the streams, each stream's in one order for good: that of first sight.

    files/<stream>/00000000.json    the first so many files
    files/<stream>/00000256.json    the next; only the last of these changes, so a new file costs the same, however many there are
    files/<stream>/known-00002048   instead of the first 2,048, which have all been read (`known_files.py`)

The list is written down before any offset speaks of it, so a place in it means the same file after a restart. A file
is what it was when first seen: one that changes later would make a second reading differ from the first, and is an
error. Of files that have been read it is kept only that they are known, so a restart does not read the names of all files
that ever came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from sash.errors import SashError
from sash.file_names import file_name
from sash.plan.streams import StreamSpec
from sash.sources.listing import SourceFile, list_files
from sash.spark.file_chain import is_begun_by
from sash.spark.known_files import KNOWN, KnownFiles
from sash.spark.sealed import MissingFile, SealedFolder

CHUNK = 256  # files that are written down together
MANY = 8 * CHUNK  # files that have been read, and are worth it to be forgotten


class SeenFiles:
    """The files of one stream."""

    def __init__(self, folder: SealedFolder, stream: StreamSpec, base: Path, fence: Callable[[], None] = lambda: None) -> None:
        self._folder = folder.child(file_name(stream.name))
        self._stream = stream
        self._base = base
        self._fence = fence  # raises an error when another driver has taken over
        self._known = KnownFiles.newest(self._folder)
        self.files: list[SourceFile] = list(self._read())  # from `first` on
        self._chain = self._known.chain.plus(self.files)
        self._sizes = {file.path: file.size for file in self.files}

    @property
    def first(self) -> int:
        """How many files there were before those that are listed."""
        return self._known.chain.count

    @property
    def chain(self) -> str:
        """What tells whether the list is still the same."""
        return self._chain.to_text()

    def begins_with(self, chain: str) -> bool:
        return is_begun_by(self._known.chain, self.files, chain)

    def look(self) -> None:
        """Add the files that are new, in the order of the source."""
        new = []
        for file in list_files(self._stream, self._base):
            size = self._size(file.path)
            if size is None:
                new.append(file)
            elif size != file.size:
                raise SashError(
                    f'the file {file.path} of stream "{self._stream.name}" has changed since it was first read',
                    "add rows in new files, and move a file into the folder when it is whole",
                )
        self._add(new)

    def forget(self, read: int) -> None:
        """The files before this one have been read for good: of many, only keep that they are known."""
        count = read // CHUNK * CHUNK
        if count - self.first < MANY:
            return
        self._fence()
        gone, kept = self.files[: count - self.first], self.files[count - self.first :]
        self._known = self._known.plus(gone)
        self._known.put(self._folder)
        for name in self._folder.names():
            if name != self._known.name and (name.startswith(KNOWN) or _start(name) < count):
                self._folder.delete(name)
        self.files, self._sizes = kept, {file.path: file.size for file in kept}

    def _size(self, path: str) -> int | None:
        """Of a file that was seen before; None if it was not."""
        size = self._sizes.get(path)
        if size is None and (size := self._known.size(path)) is not None:
            self._sizes[path] = size  # it lies in the folder, and will be met again
        return size

    def _add(self, new: list[SourceFile]) -> None:
        if not new:
            return
        self._fence()
        begin = len(self.files) // CHUNK * CHUNK
        self.files += new
        for start in range(begin, len(self.files), CHUNK):
            values = [(file.path, file.size, file.modified) for file in self.files[start : start + CHUNK]]
            self._folder.put(_name(self.first + start), [json.dumps(values).encode()])
        self._chain = self._chain.plus(new)
        self._sizes |= {file.path: file.size for file in new}

    def _read(self) -> Iterator[SourceFile]:
        names = [name for name in self._folder.names() if not name.startswith(KNOWN) and _start(name) >= self.first]
        for place, name in enumerate(names):
            expected = _name(self.first + place * CHUNK)
            if name != expected:
                raise MissingFile(self._folder.place, expected)
            values = json.loads(bytes(self._folder.demand(name)))
            if len(values) < CHUNK and name != names[-1]:
                raise MissingFile(self._folder.place, f"{name}, as it was last")
            yield from (SourceFile(*value) for value in values)


def _name(start: int) -> str:
    return f"{start:08d}.json"


def _start(name: str) -> int:
    return int(name.removesuffix(".json"))
