"""Arenas: all that a shard remembers, as named arrays in one file.

    file  | rows of "3/left" | table of "3/left" | (free) | rows of "5/groups" | ...
             every array lies in an extent of its own: a power of two of bytes, from a cache line on;
             small ones share a page that is cut into extents of one size, large ones are mapped on their own

The file is anonymous for an engine in this process and a real one for a shard on Spark; nothing else differs. So a snapshot is
a copy of the file, a hand-over between two workers is a map of it, and a fork for a look ahead is a private map, where pages are
copied when they are first written. An array that must grow moves to an extent of twice the size; its old extent is used again.
Until then a large one is given back to the system, between two steps.

A map of a file that has no room on its disk kills the process when it is written to. So a file grows by blocks that are reserved,
and a full disk is an error before anything has changed.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import tempfile
import weakref
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sash.stores.mapping import give_back, grow, map_file

PAGE = mmap.ALLOCATIONGRANULARITY
LINE = 64  # bytes of the smallest extent
LARGE = 1 << 20  # bytes of an extent that is given back while nobody uses it

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Entry:
    """One array: where it lies, and what is in it."""

    offset: int
    extent: int  # bytes, a power of two
    dtype: str
    shape: tuple[int, ...]

    @property
    def used(self) -> int:
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)


class Arena:
    """A file of arrays."""

    def __init__(
        self, descriptor: int, contents: dict[str, Entry] | None = None, *, private: bool = False, place: Path | None = None
    ) -> None:
        self._descriptor = descriptor
        self._place = place  # the folder of a real file
        self._private = private
        self._entries: dict[str, Entry] = contents or {}
        self._arrays: dict[str, Array] = {}
        self._regions: dict[str, memoryview] = {}  # where every array lies: an extent, or a page
        self._pages: dict[int, memoryview] = {}  # those that small arrays share, by offset
        self._whole: memoryview | None = None  # of a fork: one map of all of the file, as each one takes its time
        self._free: dict[int, list[int]] = {}
        self.left: dict[int, int] = {}  # large extents that were freed since the last step, by offset
        self._given_back: set[int] = set()  # offsets of large extents that are free and have no memory, or no blocks
        self._scopes: dict[str, dict[str, None]] = {}  # the names of the arrays in every outermost scope
        for name in self._entries:
            self._scopes.setdefault(name.partition("/")[0], {})[name] = None
        self._used = sum(entry.used for entry in self._entries.values())
        self._end = -(-max((e.offset + e.extent for e in self._entries.values()), default=0) // PAGE) * PAGE
        self._clean_from = os.fstat(descriptor).st_size  # whatever the file is made longer by is zero
        self._find_free()
        self._close = weakref.finalize(self, os.close, descriptor)

    @staticmethod
    def anonymous() -> Arena:
        """An arena that is gone with this process."""
        if hasattr(os, "memfd_create"):
            return Arena(os.memfd_create("sash"))
        with tempfile.TemporaryFile() as file:
            return Arena(os.dup(file.fileno()), place=Path(tempfile.gettempdir()))

    @staticmethod
    def open(path: Path, contents: str = "{}") -> Arena:
        """An arena in a real file; `contents` is what `describe` gave when it was last left."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        entries = {n: Entry(o, e, d, tuple(s)) for n, (o, e, d, s) in json.loads(contents).items()}
        return Arena(descriptor, entries, place=path.parent)

    def describe(self) -> str:
        """The table of contents, to open the file again with."""
        return json.dumps({n: (e.offset, e.extent, e.dtype, e.shape) for n, e in self._entries.items()})

    def fork(self) -> Arena:
        """A copy that sees this arena as it is now and writes only for itself. Use one of the two at a time."""
        entries = {name: Entry(e.offset, e.extent, e.dtype, e.shape) for name, e in self._entries.items()}
        return Arena(os.dup(self._descriptor), entries, private=True)

    def close(self) -> None:
        self._arrays.clear()
        self._regions.clear()
        self._pages.clear()
        self._whole = None
        self._close()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._end

    @property
    def used(self) -> int:
        """Bytes of arrays, at their capacity."""
        return self._used

    def used_by_scope(self) -> Counter[str]:
        """Bytes of the arrays in every outermost scope."""
        return Counter({scope: sum(self._entries[name].used for name in names) for scope, names in self._scopes.items()})

    def scope(self, name: str) -> Scope:
        return Scope(self, name)

    def array(self, name: str, shape: tuple[int, ...], dtype: type[np.generic] = np.int64) -> Array:
        """The array of that name, as it is; or a new one of this shape, all zero."""
        if name not in self._arrays:
            is_clean = name in self._entries
            if not is_clean:
                self._entries[name], is_clean = self._allocate(shape, np.dtype(dtype))
                self._used += self._entries[name].used
                self._scopes.setdefault(name.partition("/")[0], {})[name] = None
            self._map(name)
            if not is_clean:
                self._arrays[name].fill(0)
        return self._arrays[name]

    def has(self, name: str) -> bool:
        return name in self._entries

    def copy(self, other: Arena, scope: str) -> None:
        """The arrays of an outermost scope of another arena, as they are there."""
        for name in other._scopes.get(scope, {}):
            entry = other._entries[name]
            theirs = other.array(name, entry.shape)
            self.array(name, entry.shape, theirs.dtype.type)[...] = theirs

    def resize(self, name: str, length: int) -> Array:
        """The array with another first dimension, its rows kept, new ones zero."""
        old, entry = self._arrays[name], self._entries[name]
        shape = (length, *entry.shape[1:])
        if np.dtype(entry.dtype).itemsize * math.prod(shape) <= entry.extent:
            self._entries[name] = Entry(entry.offset, entry.extent, entry.dtype, shape)
            self._view(name)
            self._arrays[name][len(old) :] = 0
        else:
            self._move(name, shape)
        self._used += self._entries[name].used - entry.used
        return self._arrays[name]

    def shrink(self, name: str, length: int) -> Array:
        """The array with a smaller first dimension, in an extent that is as small."""
        used = self._entries[name].used
        self._move(name, (length, *self._entries[name].shape[1:]))
        self._used += self._entries[name].used - used
        return self._arrays[name]

    def give_back(self) -> None:
        """Between two steps, when nobody looks at an array that has moved: what large extents took is the system's again."""
        if not self.left:
            return
        for offset, extent in self.left.items():
            if not self._private and give_back(self._descriptor, offset, extent):
                self._given_back.add(offset)
        self.left.clear()

    def drop(self, prefix: str) -> None:
        """Forget every array whose name starts so: with a scope, or with a part of its inner ones."""
        scope = prefix.partition("/")[0]
        names = self._scopes.get(scope, {})
        for name in [name for name in names if name.startswith(prefix)]:
            del names[name]
            entry = self._entries.pop(name)
            self._used -= entry.used
            self._arrays.pop(name, None)
            self._regions.pop(name, None)
            self._leave(entry)
        if not names:
            self._scopes.pop(scope, None)

    def _move(self, name: str, shape: tuple[int, ...]) -> None:
        """To another extent, with as many of its rows as there is room for; the other rows are zero."""
        old, entry = self._arrays[name], self._entries[name]
        self._entries[name], is_clean = self._allocate(shape, np.dtype(entry.dtype))
        self._map(name)
        new, kept = self._arrays[name], min(len(old), shape[0])
        new[:kept] = old[:kept]
        if not is_clean:
            new[kept:] = 0
        self._leave(entry)

    def _leave(self, entry: Entry) -> None:
        self._free.setdefault(entry.extent, []).append(entry.offset)
        if entry.extent >= LARGE:
            self.left[entry.offset] = entry.extent

    def _allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Entry, bool]:
        """An extent of its own, and whether it is known to be zero: then its pages need not be touched."""
        extent = 1 << (max(LINE, dtype.itemsize * math.prod(shape)) - 1).bit_length()
        offsets = self._free.setdefault(extent, [])
        is_new = not offsets
        if is_new:
            start, length = self._end, max(extent, PAGE)
            if not self._private:
                grow(self._descriptor, start, length, self._place)
            self._end += length
            offsets.extend(range(start, self._end, extent))
        offset = offsets[-1]
        if offset in self._given_back:
            grow(self._descriptor, offset, extent, self._place)
            self._given_back.remove(offset)
            is_new = True
        offsets.pop()
        self.left.pop(offset, None)
        return Entry(offset, extent, dtype.str, shape), is_new and offset >= self._clean_from and extent >= PAGE

    def _map(self, name: str) -> None:
        entry = self._entries[name]
        if entry.extent >= PAGE:
            self._regions[name] = self._mapped(entry.offset, entry.extent)
        else:
            page = entry.offset - entry.offset % PAGE
            if page not in self._pages:
                self._pages[page] = self._mapped(page, PAGE)
            self._regions[name] = self._pages[page]
        self._view(name)

    def _mapped(self, offset: int, length: int) -> memoryview:
        if not self._private:
            return map_file(self._descriptor, offset, length, private=False)
        if offset + length > self._clean_from:
            # A fork must not make its parent's file longer: what it adds lives in plain memory.
            return memoryview(bytearray(length))
        if self._whole is None:
            self._whole = map_file(self._descriptor, 0, self._clean_from, private=True)
        return self._whole[offset : offset + length]

    def _view(self, name: str) -> None:
        entry = self._entries[name]
        place = entry.offset % PAGE if entry.extent < PAGE else 0
        self._arrays[name] = np.ndarray(entry.shape, np.dtype(entry.dtype), self._regions[name], place)

    def _find_free(self) -> None:
        """Extents between the known arrays were freed before the file was left; use them again."""
        place = 0
        for entry in sorted(self._entries.values(), key=lambda entry: entry.offset):
            self._free_between(place, entry.offset)
            place = entry.offset + entry.extent
        self._free_between(place, self._end)

    def _free_between(self, place: int, end: int) -> None:
        """In pieces as large as can be; no small one lies in two pages."""
        while place < end:
            extent = 1 << (end - place).bit_length() - 1
            if place % PAGE:
                extent = min(extent, place & -place)
            self._free.setdefault(extent, []).append(place)
            place += extent


class Scopes(Protocol):
    """Whatever gives a store its part of an arena."""

    def scope(self, name: str) -> Scope: ...

    def used_by_scope(self) -> Counter[str]: ...


class Scope:
    """The part of an arena that one store owns."""

    def __init__(self, arena: Arena, name: str) -> None:
        self._arena = arena
        self._name = name

    def scope(self, name: str) -> Scope:
        return Scope(self._arena, f"{self._name}/{name}")

    def array(self, name: str, shape: tuple[int, ...] | int, dtype: type[np.generic] = np.int64) -> Array:
        return self._arena.array(f"{self._name}/{name}", (shape,) if isinstance(shape, int) else shape, dtype)

    def has(self, name: str) -> bool:
        """Whether there is such an array already."""
        return self._arena.has(f"{self._name}/{name}")

    def resize(self, name: str, length: int) -> Array:
        return self._arena.resize(f"{self._name}/{name}", length)

    def shrink(self, name: str, length: int) -> Array:
        return self._arena.shrink(f"{self._name}/{name}", length)

    def drop(self) -> None:
        """Forget all arrays in it."""
        self._arena.drop(f"{self._name}/")

    def give_back(self) -> None:
        """Only between two steps."""
        self._arena.give_back()
