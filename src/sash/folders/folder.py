"""Folders of durable files, on a disk or in an object store, through one narrow door.

A file appears as a whole or not at all: on a disk it is written beside its place, brought to the disk and renamed, in
an object store a put is whole by itself (`object_stores.py`). Nothing here needs a rename where the store has none. What
a put has returned from survives a loss of power, unless the caller can do without.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import pyarrow as pa
from pyarrow import fs

from sash.errors import SashError
from sash.folders.locations import Location, check_place, locate, split_options
from sash.folders.object_stores import object_store

PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}")  # the name of a file that is being written
OLD = 3600  # seconds after which nobody is writing it any more
LARGE = 1 << 20  # bytes of a file whose memory comes from the system

_lasting: set[str] = set()  # folders that this process knows to be on the disk

Bytes: TypeAlias = bytes | memoryview | pa.Buffer
F = TypeVar("F", bound="Folder")
P = ParamSpec("P")
Result = TypeVar("Result")


@contextmanager
def reached(*places: object) -> Iterator[None]:
    """What a disk or an object store says when it cannot be used, as one clear error."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if not isinstance(error, OSError) and type(error) is not pa.ArrowException:
            raise  # of the contents of a file; what a store says that Arrow knows no word for is of no special kind
        named = " or ".join(str(place) for place in places if place is not None) or "the temporary folder"
        hint = "see that it is there, and may be written; in an object store also the region, the network and the credentials"
        raise SashError(f"{named} cannot be used: {error}", hint) from error


def _in_reach(method: Callable[Concatenate[F, P], Result]) -> Callable[Concatenate[F, P], Result]:
    """What a folder does, with one clear error where it cannot."""

    @wraps(method)
    def asked(folder: F, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        with reached(folder.place):
            return method(folder, *args, **kwargs)

    return asked


class NotKept(SashError):
    """The store said that it had written a file, and has not."""

    def __init__(self, place: str, name: str) -> None:
        super().__init__(f"the store did not keep the file {place}/{name}", "see to the store, and start again")


@dataclass(frozen=True)
class Folder:
    """A folder, by its path or URI; it need not exist before something is put into it."""

    place: str
    options: str = ""  # of a URI: how the store is reached

    @classmethod
    def of(cls, place: str | Path) -> Self:
        text = str(place)
        check_place(text)
        if "://" not in text:
            return cls(os.path.abspath(text))
        uri, options = split_options(text)
        return cls(uri.rstrip("/"), options)

    def child(self, *names: str) -> Self:
        for name in names:
            if ".." in name.split("/"):
                raise _no_name(name)
        return replace(self, place="/".join((self.place, *names)))

    @property
    def _where(self) -> tuple[fs.FileSystem, str]:
        location = self._location
        return location.filesystem, location.path

    def _at(self, name: str) -> tuple[fs.FileSystem, str]:
        """A file in it."""
        _check_name(name)
        system, path = self._where
        return system, f"{path}/{name}"

    @property
    def _location(self) -> Location:
        return locate(self.place + self.options)

    @property
    def is_local(self) -> bool:
        return isinstance(self._where[0], fs.LocalFileSystem)

    @property
    def local_path(self) -> Path | None:
        """Where it is on this machine; None in an object store."""
        return Path(self._where[1]) if self.is_local else None

    @_in_reach
    def names(self) -> list[str]:
        """The names of the finished files and folders, sorted; none when the folder is not there."""
        system, path = self._where
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found if not info.base_name.startswith("."))

    @_in_reach
    def sizes(self) -> dict[str, int]:
        """The finished files and their sizes in bytes."""
        system, path = self._where
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        files = (info for info in found if info.type == fs.FileType.File)
        return {info.base_name: info.size for info in files if not info.base_name.startswith(".")}

    @_in_reach
    def size(self, name: str) -> int | None:
        """Of a file, None when it is not there."""
        system, path = self._at(name)
        size: int | None = system.get_file_info(path).size
        return size

    @_in_reach
    def has(self, name: str) -> bool:
        system, path = self._at(name)
        return bool(system.get_file_info(path).type != fs.FileType.NotFound)

    @_in_reach
    def read(self, name: str) -> pa.Buffer | None:
        """The contents, or None when there is no such file."""
        system, path = self._at(name)
        try:
            with system.open_input_file(path) as file:
                return _contents(file)
        except FileNotFoundError:
            return None

    @_in_reach
    def put(self, name: str, parts: Iterable[Bytes], *, durable: bool = True) -> None:
        """Write a file as a whole, over what was there; one that can be made again need not be durable."""
        _check_name(name)
        system, path = self._where
        if not isinstance(system, fs.LocalFileSystem):
            store, place = object_store(self._location, name)
            store.put(place, b"".join(parts))
            return
        partial = _written_beside(path, name, parts, durable=durable)
        try:
            os.replace(partial, f"{path}/{name}")
        except OSError:
            with suppress(OSError):
                os.unlink(partial)
            raise
        if durable:
            _bring_to_disk(path)

    @_in_reach
    def create(self, name: str, parts: Iterable[Bytes]) -> bool:
        """Write a file as a whole if there is none of that name; whether it was written. No two are both told that they did."""
        _check_name(name)
        system, path = self._where
        if not isinstance(system, fs.LocalFileSystem):
            store, place = object_store(self._location, name)
            return store.create(place, b"".join(parts))
        partial = _written_beside(path, name, parts, durable=True)
        try:
            os.link(partial, f"{path}/{name}")
        except FileExistsError:
            return False
        finally:
            os.unlink(partial)
        _bring_to_disk(path)
        return True

    @_in_reach
    def delete(self, name: str) -> None:
        system, path = self._at(name)
        try:
            system.delete_file(path)
        except FileNotFoundError:
            return


    @_in_reach
    def remove(self) -> None:
        """With all that is in it, if it is there."""
        system, path = self._where
        with suppress(FileNotFoundError):
            system.delete_dir(path)


def _contents(file: pa.NativeFile) -> pa.Buffer:
    """All that a file holds. Memory for a large one comes from the system, and goes back to it: Arrow's own pool takes longer to
    touch a first gigabyte than it takes to read it, and a state of that size is made again by a process that is new."""
    size = file.size()
    if size < LARGE:
        return file.read_buffer()
    buffer = pa.allocate_buffer(size, memory_pool=pa.system_memory_pool())
    view, done = memoryview(buffer), 0
    while done < size and (read := file.readinto(view[done:])):
        done += read
    return buffer.slice(0, done)


def _check_name(name: str) -> None:
    """A name may come from a file that somebody else has written, and must not lead out of the folder."""
    if "/" in name or name in ("", ".", ".."):
        raise _no_name(name)


def _no_name(name: str) -> SashError:
    return SashError(f"{name!r} is no name of a file in a folder", "the file that speaks of it was not written by Sash")


def remove_partial_files(folder: Folder) -> None:
    """What processes that were killed in the middle of a write have left, here and below."""
    path = folder.local_path
    for partial in path.rglob(".*") if path is not None else ():
        with suppress(OSError):
            if PARTIAL.fullmatch(partial.name) and time.time() - partial.lstat().st_mtime > OLD:
                partial.unlink()


def _written_beside(path: str, name: str, parts: Iterable[Bytes], *, durable: bool) -> str:
    """The path of a new file with these contents, which has no name that anybody looks for."""
    _make(path)
    partial = f"{path}/.{name}.{uuid.uuid4().hex}"
    try:
        with open(partial, "xb", buffering=0) as file:
            for part in parts:
                _write_all(file.fileno(), memoryview(part).cast("B"))
            if durable:
                os.fsync(file.fileno())
    except BaseException:
        if os.path.exists(partial):
            os.unlink(partial)
        raise
    return partial


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _make(path: str) -> None:
    """A folder, and those that it is in; their names reach the disk too, also if another made it and died before that."""
    if path in _lasting and os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if not os.path.isdir(path):
        _make(above)
        os.makedirs(path, exist_ok=True)
    with suppress(PermissionError):  # of a folder that is not ours, and was there before
        _bring_to_disk(above)
    _lasting.add(path)


def _bring_to_disk(path: str) -> None:
    """The names in a folder, as they are now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
