"""Snapshots of arenas: what has changed since the snapshot before, page by page.

    snapshots/N   a line of JSON, then of every page of the arena its digest, and in which file it lies
    pages/N-D     pages that changed up to batch N: a line of JSON, their numbers, and what is in them, compressed; D is a
                  digest of all of them, so no two files of one name differ
    small arenas  are one file, snapshots/N: a line of JSON, then the arena, compressed

A snapshot names the files that its pages lie in, and needs no other snapshot. When as much in these files is out of date as
is not, or there are many of them, all pages are written anew. Pages of zeros lie nowhere.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.deltas import Int64s
from sash.spark.sealed import DamagedFile, SealedFolder

CODEC = "lz4"
PAGE = 16 << 10
TOGETHER = 512  # pages that are compressed at once
PIECE = PAGE * TOGETHER
SMALL = 4 << 20  # bytes of an arena that is written as a whole
MOST_FILES = 16
DIGEST = 16  # bytes
NOWHERE = -1  # the file of a page of zeros


@dataclass(frozen=True)
class Pages:
    """Where the pages of an arena lie."""

    contents: str  # of the arena
    size: int
    files: tuple[str, ...]
    sizes: tuple[int, ...]  # of the files, in pages
    digests: Int64s  # of every page two numbers
    places: npt.NDArray[np.int32]  # of every page the number of its file

    @property
    def is_wasteful(self) -> bool:
        """Whether it is time to write all of them anew."""
        return len(self.files) >= MOST_FILES or sum(self.sizes) > 2 * int(np.count_nonzero(self.places != NOWHERE))

    def parts(self) -> Iterator[bytes]:
        told = {"contents": self.contents, "size": self.size, "files": self.files, "pages": self.sizes}
        yield json.dumps(told).encode() + b"\n"
        yield self.digests.tobytes()
        yield self.places.tobytes()

    @staticmethod
    def read(header: dict[str, Any], body: pa.Buffer) -> Pages:
        count, sizes = -(-header["size"] // PAGE), tuple(header["pages"])
        if body.size != count * (DIGEST + 4) or len(sizes) != len(header["files"]):
            raise ValueError(f"it has a table of {body.size} bytes for {count} pages")
        digests = np.frombuffer(body, np.int64, 2 * count).reshape(-1, 2)
        places = np.frombuffer(body, np.int32, count, count * DIGEST)
        return Pages(str(header["contents"]), int(header["size"]), tuple(header["files"]), sizes, digests, places)


def put_snapshot(folder: SealedFolder, name: str, arena: Path, contents: str, before: str | None) -> None:
    """Put down an arena under a name; `before` is the snapshot that was put down last, if there is one."""
    size = os.path.getsize(arena) if arena.exists() else 0
    if size < SMALL:
        folder.child("snapshots").put(name, _packed(arena, size, contents))
        return
    with open(arena, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
        digests = _digests(view)
        pages = _known(folder, before, digests, contents, size)
        own = np.flatnonzero(pages.places == len(pages.files)).astype(np.int64)
        if len(own):
            file_name = f"{name}-{hashlib.sha256(own.tobytes() + digests[own].tobytes()).hexdigest()[:16]}"
            folder.child("pages").put(file_name, _written(view, own))
            pages = Pages(contents, size, (*pages.files, file_name), (*pages.sizes, len(own)), digests, pages.places)
    folder.child("snapshots").put(name, pages.parts())


def read_header(snapshot: pa.Buffer) -> tuple[dict[str, Any], pa.Buffer]:
    """What a snapshot, or a file of pages, says of itself, and the rest of it."""
    place, begin = 0, 1 << 16
    while not place:
        found = bytes(memoryview(snapshot)[:begin]).find(b"\n")
        if found < 0 and begin >= snapshot.size:
            raise ValueError("it has no header")
        place, begin = found + 1, begin * 16
    return json.loads(bytes(memoryview(snapshot)[: place - 1])), snapshot.slice(place)


def files_of(snapshot: pa.Buffer) -> tuple[str, ...]:
    """The files that its pages lie in."""
    return tuple(read_header(snapshot)[0].get("files", ()))


def restore(folder: SealedFolder, name: str, snapshot: pa.Buffer, arena: Path) -> str:
    """Fill the file with the arena of a snapshot; its table of contents."""
    try:
        header, body = read_header(snapshot)
        if "files" not in header:
            return _unpack(header, body, arena)
        pages = Pages.read(header, body)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise DamagedFile(folder.child("snapshots").place, name, str(error)) from error
    with open(arena, "wb") as target:
        os.truncate(target.fileno(), pages.size)
        for number, file in enumerate(pages.files):
            stored = folder.child("pages").demand(file)
            try:
                _fill(target.fileno(), stored, np.flatnonzero(pages.places == number), pages.size)
            except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
                raise DamagedFile(folder.child("pages").place, file, str(error)) from error
    return pages.contents


def _known(folder: SealedFolder, before: str | None, digests: Int64s, contents: str, size: int) -> Pages:
    """Which pages lie in files that are there; those that do not are in one that comes behind them."""
    nowhere = (digests == _digests(memoryview(bytes(PAGE)))).all(axis=1)
    everything = Pages(contents, size, (), (), digests, np.where(nowhere, NOWHERE, 0).astype(np.int32))
    found = None if before is None else _read(folder, before)
    if found is None or found.is_wasteful or not set(found.files) <= set(folder.child("pages").names()):
        return everything
    places = np.full(len(digests), len(found.files), np.int32)
    both = min(len(digests), len(found.digests))
    is_same = (digests[:both] == found.digests[:both]).all(axis=1)
    places[:both][is_same] = found.places[:both][is_same]
    places[nowhere] = NOWHERE
    kept = [number for number in range(len(found.files)) if (places == number).any()]
    renumbered = np.full(len(found.files) + 1, len(kept), np.int32)
    renumbered[kept] = np.arange(len(kept))
    places = np.where(places == NOWHERE, np.int32(NOWHERE), renumbered[places])
    files, sizes = tuple(found.files[number] for number in kept), tuple(found.sizes[number] for number in kept)
    return Pages(contents, size, files, sizes, digests, places)


def _read(folder: SealedFolder, name: str) -> Pages | None:
    """The pages of a snapshot; None if it is not there, damaged, or in one piece."""
    try:
        data = folder.child("snapshots").read(name)
        header, body = ({}, None) if data is None else read_header(data)
        return Pages.read(header, body) if body is not None and "files" in header else None
    except (DamagedFile, ValueError, KeyError, TypeError):
        return None


def _digests(data: memoryview) -> Int64s:
    found = b"".join(hashlib.sha256(data[start : start + PAGE]).digest()[:DIGEST] for start in range(0, len(data), PAGE))
    return np.frombuffer(found, np.int64).reshape(-1, 2)


def _written(data: memoryview, numbers: Int64s) -> Iterator[bytes]:
    """A file of some pages."""
    codec = pa.Codec(CODEC)
    yield json.dumps({"pages": len(numbers)}).encode() + b"\n"
    yield numbers.tobytes()
    for start in range(0, len(numbers), TOGETHER):
        piece = b"".join(data[number * PAGE : (number + 1) * PAGE] for number in numbers[start : start + TOGETHER].tolist())
        yield from _compressed(codec, piece)


def _fill(target: int, stored: pa.Buffer, wanted: Int64s, size: int) -> None:
    """Write the wanted pages of a file to their places in an arena."""
    header, body = read_header(stored)
    count = int(header["pages"])
    numbers = np.frombuffer(body, np.int64, count)
    is_wanted = np.isin(numbers, wanted, assume_unique=True)
    if np.count_nonzero(is_wanted) != len(wanted):
        raise ValueError(f"it lacks {len(wanted) - np.count_nonzero(is_wanted)} pages")
    for piece, (_, data) in enumerate(_pieces(body.slice(8 * count))):
        place, view = piece * TOGETHER, memoryview(data)
        chosen = np.flatnonzero(is_wanted[place : place + TOGETHER])
        for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1) if len(chosen) else ():
            _write_runs(target, view, run, numbers[place : place + TOGETHER], size)


def _write_runs(target: int, data: memoryview, run: Int64s, numbers: Int64s, size: int) -> None:
    """Pages that lie beside each other in a piece; in the arena they may lie in several places."""
    for part in np.split(run, np.flatnonzero(np.diff(numbers[run]) != 1) + 1):
        at = int(numbers[part[0]]) * PAGE
        left = data[int(part[0]) * PAGE : (int(part[-1]) + 1) * PAGE][: size - at]
        while left:
            done = os.pwrite(target, left, at)
            left, at = left[done:], at + done


def _packed(arena: Path, size: int, contents: str) -> Iterator[bytes]:
    codec = pa.Codec(CODEC)
    yield json.dumps({"contents": contents, "size": size}).encode() + b"\n"
    if not size:
        return
    with open(arena, "rb") as file:
        while piece := file.read(PIECE):
            yield from _compressed(codec, piece)


def _compressed(codec: pa.Codec, piece: bytes) -> Iterator[bytes]:
    packed = codec.compress(piece, asbytes=True)
    yield len(piece).to_bytes(8, "little") + len(packed).to_bytes(8, "little")
    yield packed


def _pieces(body: pa.Buffer) -> Iterator[tuple[int, pa.Buffer]]:
    """What was compressed, and how long it is."""
    codec, place, view = pa.Codec(CODEC), 0, memoryview(body)
    while place < len(view):
        size = int.from_bytes(view[place : place + 8], "little")
        packed = int.from_bytes(view[place + 8 : place + 16], "little")
        yield size, codec.decompress(body.slice(place + 16, packed), size)
        place += 16 + packed


def _unpack(header: dict[str, Any], body: pa.Buffer, arena: Path) -> str:
    with open(arena, "wb") as file:
        written = sum(file.write(piece) for _, piece in _pieces(body))
    if written != header["size"]:
        raise ValueError(f"it holds {written} bytes of state, and speaks of {header['size']}")
    return str(header["contents"])
