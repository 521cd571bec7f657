"""An object store in memory: a put is whole and seen by all at once; there is no rename.

Every call is one operation of the process that makes it, so that this process may fail, stall or die there.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyarrow import fs

from sash.folders import folder as folders
from sash.folders import locations
from simulation.store import Done, Operation, is_ours

REMEMBERED = 20  # changes that a reader may not have heard of


@dataclass(frozen=True)
class Object:
    """A file of the store, and when it came."""

    data: bytes
    number: int


class Bucket(fs.FileSystemHandler):  # type: ignore[misc]
    """The store; `operation` is called before each operation, `done` after it."""

    base = "sim://run"

    def __init__(self, operation: Operation, done: Done) -> None:
        self.objects: dict[str, Object] = {}
        self._before: list[tuple[str, Object | None]] = []  # what the last changes took away, oldest first
        self.sight: Mapping[str, Object] | None = None  # what the operation at hand sees, where that is not what there is
        self._operation = operation
        self._end = done
        self._number = 0

    def _done(self, kind: str, path: str) -> None:
        self.sight = None
        self._end(kind, path)

    # What the world does to it.

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        files, remote = fs.PyFileSystem(self), locations._remote
        patch.setattr(locations, "_remote", lambda root: (files, root[6:]) if root.startswith("sim://") else remote(root))
        patch.setattr(folders, "object_store", lambda place, name: (self, f"{place.path}/{name}"))

    def files(self, folder: str) -> dict[str, bytes]:
        prefix = f"run/{folder}/"
        return {name: found.data for name, found in self.objects.items() if name.startswith(prefix)}

    def rot(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        if path in self.objects:
            self.place(path, changed(self.objects[path].data))

    def garble(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        if path in self.objects:
            self.sight = {**self.objects, path: Object(changed(self.objects[path].data), self.objects[path].number)}

    def hide(self, path: str, chance: random.Random) -> None:
        below = sorted(name for name in self.objects if name == path or (name.startswith(f"{path}/") and is_ours(name)))
        hidden = chance.choice(below) if below else None
        self.sight = {name: found for name, found in self.objects.items() if name != hidden}

    def go_back(self, chance: random.Random) -> None:
        changes = [change for change in self._before if is_ours(change[0])][-chance.randint(1, REMEMBERED) :]
        found: dict[str, Object | None] = {**self.objects, **dict(reversed(changes))}
        self.sight = {name: one for name, one in found.items() if one is not None}

    def lose_power(self, chance: random.Random) -> None:
        return  # what it was given, it keeps

    def _note(self, path: str) -> None:
        self._before.append((path, self.objects.get(path)))
        del self._before[:-REMEMBERED]

    def put(self, path: str, data: bytes) -> None:
        stored = self._operation("put", path, data)
        if stored is not None:
            self.place(path, stored)
        self._done("put", path)

    def place(self, path: str, data: bytes) -> None:
        """The file is there, by nobody's doing."""
        self._note(path)
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
        found = self._seen.get(path)
        self._done("read", path)
        if found is None:
            raise FileNotFoundError(path)
        return found.data

    @property
    def _seen(self) -> Mapping[str, Object]:
        return self.objects if self.sight is None else self.sight

    def _info(self, path: str) -> fs.FileInfo:
        found = self._seen.get(path)
        if found is not None:
            return fs.FileInfo(path, fs.FileType.File, size=len(found.data), mtime_ns=found.number * 1_000_000_000)
        is_folder = any(name.startswith(f"{path}/") for name in self._seen)
        return fs.FileInfo(path, fs.FileType.Directory if is_folder else fs.FileType.NotFound)

    # What pyarrow asks for.

    def get_type_name(self) -> str:
        return "simulated"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._looked(path) for path in paths]

    def _looked(self, path: str) -> fs.FileInfo:
        self._operation("look", path, b"")
        found = self._info(path)
        self._done("look", path)
        return found

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        self._operation("list", selector.base_dir, b"")
        prefix = selector.base_dir.rstrip("/") + "/"
        inner = {name[len(prefix) :] for name in self._seen if name.startswith(prefix)}
        if not inner and not selector.allow_not_found:
            self._done("list", selector.base_dir)
            raise FileNotFoundError(selector.base_dir)
        names = inner if selector.recursive else {name.split("/")[0] for name in inner}
        found = [self._info(prefix + name) for name in sorted(names)]
        self._done("list", selector.base_dir)
        return found

    def delete_file(self, path: str) -> None:
        if self._operation("delete", path, b"") is None:
            return
        self._note(path)
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
