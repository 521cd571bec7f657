"""A disk that forgets at a loss of power what it was not told to keep, below `sash.folders.folder`.

What processes see is a real folder, in memory. Beside it the disk remembers what would be left of it: of a file the bytes that
were there at its last fsync, of a folder the names that it had at its own. All else may or may not have reached the disk, each
name for itself, in any order; a file whose bytes were not brought there may be empty, cut off, or full of zeros.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from sash.folders import folder as folders
from sash.folders import locations
from simulation.store import Done, Operation, is_ours


@dataclass(eq=False)
class File:
    """A file, whatever its names are."""

    kept: bytes | None = None  # what is on the disk for certain


@dataclass(eq=False)
class Names:
    """A folder: what it holds now, and what it held when it was last brought to the disk."""

    now: dict[str, File | Names] = field(default_factory=dict)
    kept: dict[str, File | Names] = field(default_factory=dict)


class Disk:
    """The store; `operation` is called before each operation, `done` after it."""

    def __init__(self, folder: Path, operation: Operation, done: Done) -> None:
        self._folder = folder / "disk"
        self.base = f"{self._folder}/run"
        Path(self.base).mkdir(parents=True)
        run = {"run": Names()}
        self._root = Names(dict(run), dict(run))
        self._operation, self._end = operation, done
        self._open: dict[int, tuple[str, File | Names]] = {}  # by descriptors
        self._changed: Callable[[bytes], bytes] | None = None  # what the read at hand does to the bytes
        self._number = 0
        self._files = fs.LocalFileSystem()

    # What the world does to it.

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        system = DiskFiles(self)
        names = ("FileSelector", "FileType", "FileSystem")
        patch.setattr(folders, "fs", SimpleNamespace(LocalFileSystem=DiskFiles, **{name: getattr(fs, name) for name in names}))
        patch.setattr(folders, "locate", lambda place: locations.Location(system, place) if self._is_mine(place) else locations.locate(place))
        patch.setattr(folders, "os", DiskSystem(self))
        patch.setattr(folders, "open", self.open_file, raising=False)
        partial = itertools.count()
        patch.setattr(folders, "uuid", SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=f"{next(partial):032x}")))

    def place(self, path: str, data: bytes) -> None:
        """Others bring their files to the disk; the later one is the newer."""
        whole = self._folder / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(data)
        self._number += 1
        os.utime(whole, (self._number, self._number))

    def files(self, folder: str) -> dict[str, bytes]:
        place = Path(self.base, folder)
        return {path.name: path.read_bytes() for path in sorted(place.glob("[!.]*")) if path.is_file()}

    def rot(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        whole = self._folder / path
        if whole.exists():
            whole.write_bytes(changed(whole.read_bytes()))
            found = self._names_of(str(whole)).get(whole.name)
            if isinstance(found, File):
                found.kept = whole.read_bytes()

    def garble(self, path: str, changed: Callable[[bytes], bytes]) -> None:
        self._changed = changed

    def hide(self, path: str, chance: random.Random) -> None:
        return  # disks do not do that

    def go_back(self, chance: random.Random) -> None:
        return

    def lose_power(self, chance: random.Random) -> None:
        self._open.clear()
        self._root = self._left(Path(self.base).parent, self._root, chance)

    # What processes do with it.

    @contextmanager
    def _doing(self, kind: str, path: str, data: bytes = b"") -> Iterator[bytes | None]:
        inner = path[len(str(self._folder)) + 1 :]
        stored = self._operation(kind, inner, data)
        try:
            yield stored
        finally:
            self._end(kind, inner)

    def open_file(self, path: str, mode: str, buffering: int = -1) -> Any:
        """A new file."""
        with self._doing("make", path):
            file = open(path, mode, buffering=buffering)  # noqa: SIM115 (who asked for it closes it)
            made = self._names_of(path)[Path(path).name] = File()
            self._open[file.fileno()] = path, made
        return file

    def write(self, descriptor: int, data: memoryview) -> int:
        with self._doing("write", self._open[descriptor][0], bytes(data)) as stored:
            if stored:
                os.write(descriptor, stored)
        return len(data)

    def open_folder(self, path: str, flags: int) -> int:
        descriptor = os.open(path, flags)
        self._open[descriptor] = path, self._folder_at(path)
        return descriptor

    def fsync(self, descriptor: int) -> None:
        path, found = self._open[descriptor]
        with self._doing("sync", path):
            if isinstance(found, File):
                found.kept = Path(path).read_bytes()
            else:
                found.kept = dict(found.now)

    def make_folder(self, path: str, exist_ok: bool) -> None:
        with self._doing("make", path):
            os.makedirs(path, exist_ok=exist_ok)
            self._folder_at(path)

    def replace(self, source: str, target: str) -> None:
        with self._doing("rename", target):
            os.replace(source, target)
            names = self._names_of(source)
            names[Path(target).name] = names.pop(Path(source).name)

    def link(self, source: str, target: str) -> None:
        with self._doing("link", target):
            os.link(source, target)
            names = self._names_of(source)
            names[Path(target).name] = names[Path(source).name]

    def remove(self, path: str) -> None:
        with self._doing("delete", path):
            os.unlink(path)
            self._names_of(path).pop(Path(path).name, None)

    def read(self, path: str) -> pa.NativeFile:
        with self._doing("read", path):
            changed, self._changed = self._changed, None
            data = Path(path).read_bytes()
        return pa.BufferReader(data if changed is None else changed(data))

    def look(self, asked: fs.FileSelector | str) -> Any:
        if isinstance(asked, str):
            with self._doing("look", asked):
                return self._files.get_file_info(asked)
        with self._doing("list", asked.base_dir):
            return sorted(self._files.get_file_info(asked), key=lambda info: str(info.path))

    # What is left.

    def _left(self, place: Path, names: Names, chance: random.Random) -> Names:
        """A folder after a loss of power."""
        left = Names()
        is_kept = not is_ours(f"{place}/")
        for name in sorted(names.now.keys() | names.kept.keys()):
            now, kept = names.now.get(name), names.kept.get(name)
            found = now if now is kept or is_kept or chance.random() < 0.5 else kept
            if found is None:
                _remove(place / name)
            elif isinstance(found, Names):
                left.now[name] = self._left(place / name, found, chance)
            else:
                data = (place / name).read_bytes() if found is now else found.kept or b""
                _remove(place / name)
                place.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data if is_kept else _torn(data, found.kept, chance))
                left.now[name] = File((place / name).read_bytes())
        left.kept = dict(left.now)
        return left

    def _names_of(self, path: str) -> dict[str, File | Names]:
        """Those in the folder of a file."""
        return self._folder_at(os.path.dirname(path)).now

    def _folder_at(self, path: str) -> Names:
        found = self._root
        for part in Path(path).relative_to(self._folder).parts:
            below = found.now.setdefault(part, Names())
            assert isinstance(below, Names)
            found = below
        return found

    def _is_mine(self, place: str) -> bool:
        return place.startswith(f"{self._folder}/")


class DiskFiles:
    """The disk as a file system of pyarrow's."""

    def __init__(self, disk: Disk) -> None:
        self.get_file_info, self.open_input_file, self.delete_file = disk.look, disk.read, disk.remove


class DiskSystem:
    """The disk as the module `os`."""

    path, close, O_RDONLY = os.path, staticmethod(os.close), os.O_RDONLY

    def __init__(self, disk: Disk) -> None:
        self.open, self.write, self.fsync, self.makedirs = disk.open_folder, disk.write, disk.fsync, disk.make_folder
        self.replace, self.link, self.unlink = disk.replace, disk.link, disk.remove


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _torn(data: bytes, kept: bytes | None, chance: random.Random) -> bytes:
    """What is found of a file: all of it, if that was brought to the disk."""
    if kept == data:
        return data
    return chance.choice((data, kept or b"", data[: chance.randrange(len(data) + 1)], bytes(len(data))))
