"""An object store in memory: a put is whole and seen by all at once; there is no rename.

Every call is one operation of the process that makes it, so that this process may fail, stall or die there.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

Operation = Callable[[str, str, bytes], bytes | None]  # kind, path, contents: what is to be stored, None for nothing


@dataclass(frozen=True)
class Object:
    """A file of the store, and when it came."""

    data: bytes
    number: int


class Bucket(fs.FileSystemHandler):  # type: ignore[misc]
    """The store; `operation` is called before each operation, `done` after it."""

    def __init__(self, operation: Operation, done: Callable[[str, str], None]) -> None:
        self.objects: dict[str, Object] = {}
        self._operation = operation
        self._done = done
        self._number = 0

    def put(self, path: str, data: bytes) -> None:
        stored = self._operation("put", path, data)
        if stored is not None:
            self.place(path, stored)
        self._done("put", path)

    def place(self, path: str, data: bytes) -> None:
        """The file is there, by nobody's doing."""
        self._number += 1
        self.objects[path] = Object(data, self._number)

    def create(self, path: str, data: bytes) -> bool:
        """Put it if there is nothing of this name; whether that was so."""
        stored = self._operation("create", path, data)
        is_new = path not in self.objects
        if is_new and stored is not None:
            self.place(path, stored)
        self._done("create", path)
        return is_new

    def _read(self, path: str) -> bytes:
        self._operation("read", path, b"")
        found = self.objects.get(path)
        self._done("read", path)
        if found is None:
            raise FileNotFoundError(path)
        return found.data

    def _info(self, path: str) -> fs.FileInfo:
        found = self.objects.get(path)
        if found is not None:
            return fs.FileInfo(path, fs.FileType.File, size=len(found.data), mtime_ns=found.number * 1_000_000_000)
        is_folder = any(name.startswith(f"{path}/") for name in self.objects)
        return fs.FileInfo(path, fs.FileType.Directory if is_folder else fs.FileType.NotFound)

    # What pyarrow asks for.

    def get_type_name(self) -> str:
        return "simulated"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        for path in paths:
            self._operation("look", path, b"")
            self._done("look", path)
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        self._operation("list", selector.base_dir, b"")
        prefix = selector.base_dir.rstrip("/") + "/"
        inner = {name[len(prefix) :] for name in self.objects if name.startswith(prefix)}
        if not inner and not selector.allow_not_found:
            raise FileNotFoundError(selector.base_dir)
        names = inner if selector.recursive else {name.split("/")[0] for name in inner}
        found = [self._info(prefix + name) for name in sorted(names)]
        self._done("list", selector.base_dir)
        return found

    def delete_file(self, path: str) -> None:
        if self._operation("delete", path, b"") is None:
            return
        was_there = self.objects.pop(path, None) is not None
        self._done("delete", path)
        if not was_there:
            raise FileNotFoundError(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._read(path))

    open_input_stream = open_input_file

    def open_output_stream(self, path: str, metadata: object = None) -> pa.NativeFile:
        return pa.PythonFile(_Upload(self, path), mode="w")

    def create_dir(self, path: str, recursive: bool) -> None:
        return

    def _refuse(self, *_: object) -> None:
        raise NotImplementedError("an object store cannot do that")

    copy_file = move = open_append_stream = _refuse
    delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse


class _Upload(io.BytesIO):
    """A file that is being written; it is there when it is closed."""

    def __init__(self, bucket: Bucket, path: str) -> None:
        super().__init__()
        self._bucket, self._path = bucket, path

    def close(self) -> None:
        if not self.closed:
            data = self.getvalue()
            super().close()
            self._bucket.put(self._path, data)
