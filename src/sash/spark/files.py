"""The files of the streams, each stream's in one order for good: that of first sight.

The list is written down before any offset speaks of it, so a place in it means the same file after a restart. A file
is what it was when first seen: one that changes later would make a second reading differ from the first, and is an
error.
"""

from __future__ import annotations

import json
from pathlib import Path

from sash.errors import SashError
from sash.logical.streams import StreamSpec
from sash.sources.listing import SourceFile, list_files
from sash.spark.folder import Folder


class SeenFiles:
    """The files of one stream."""

    def __init__(self, folder: Folder, stream: StreamSpec, base: Path) -> None:
        self._folder = folder
        self._stream = stream
        self._base = base
        self.files: list[SourceFile] = self._read()

    def look(self) -> None:
        """Add the files that are new, in the order of the source."""
        known = {file.path: file for file in self.files}
        found = list_files(self._stream, self._base)
        for file in found:
            if file.path in known and file.size != known[file.path].size:
                raise SashError(
                    f'the file {file.path} of stream "{self._stream.name}" has changed since it was first read',
                    "add rows in new files, and move a file into the folder when it is whole",
                )
        new = [file for file in found if file.path not in known]
        if new:
            self.files = [*self.files, *new]
            self._write()

    def _read(self) -> list[SourceFile]:
        data = self._folder.read(self._name)
        return [] if data is None else [SourceFile(*values) for values in json.loads(bytes(data))]

    def _write(self) -> None:
        values = [(file.path, file.size, file.modified) for file in self.files]
        self._folder.put(self._name, [json.dumps(values).encode()])

    @property
    def _name(self) -> str:
        return f"{self._stream.name}.json"
