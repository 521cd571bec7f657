"""Folders of durable files, on a disk or in an object store, through one narrow door.

A file appears as a whole or not at all: on a disk it is written beside its place and renamed, in an object store a
put is whole by itself. Nothing here needs a rename where the store has none.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyarrow import fs

from sash.sources.listing import locate

Bytes: TypeAlias = bytes | memoryview | pa.Buffer


@dataclass(frozen=True)
class Folder:
    """A folder, by its path or URI; it need not exist before something is put into it."""

    place: str

    @staticmethod
    def of(place: str | Path) -> Folder:
        text = str(place)
        return Folder(text.rstrip("/") if "://" in text else os.path.abspath(text))

    def child(self, *names: str) -> Folder:
        return Folder("/".join((self.place, *names)))

    @property
    def _where(self) -> tuple[fs.FileSystem, str]:
        location = locate(self.place)
        return location.filesystem, location.path

    @property
    def is_local(self) -> bool:
        return isinstance(self._where[0], fs.LocalFileSystem)

    def names(self) -> list[str]:
        """The names of the finished files and folders, sorted; none when the folder is not there."""
        system, path = self._where
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found if not info.base_name.startswith("."))

    def has(self, name: str) -> bool:
        system, path = self._where
        return bool(system.get_file_info(f"{path}/{name}").type != fs.FileType.NotFound)

    def read(self, name: str) -> pa.Buffer | None:
        """The contents, or None when there is no such file."""
        system, path = self._where
        try:
            with system.open_input_file(f"{path}/{name}") as file:
                return file.read_buffer()
        except FileNotFoundError:
            return None

    def put(self, name: str, parts: Iterable[Bytes]) -> None:
        """Write a file as a whole, over what was there."""
        system, path = self._where
        final = f"{path}/{name}"
        if not self.is_local:
            _write(system, final, parts)
            return
        os.makedirs(path, exist_ok=True)
        partial = f"{path}/.{name}.{uuid.uuid4().hex}"
        try:
            _write(system, partial, parts)
            os.replace(partial, final)
        finally:
            if os.path.exists(partial):
                os.unlink(partial)

    def delete(self, name: str) -> None:
        system, path = self._where
        try:
            system.delete_file(f"{path}/{name}")
        except FileNotFoundError:
            return


def _write(system: fs.FileSystem, path: str, parts: Iterable[Bytes]) -> None:
    with system.open_output_stream(path) as stream:
        for part in parts:
            stream.write(part)
