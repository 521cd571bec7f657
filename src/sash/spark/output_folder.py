"""The folder of an output beside its manifest: what must be there, what may be there, and what has to go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.spark.manifest import WAY_OUT, Kept
from sash.spark.merging import BARRIER
from sash.spark.outputs import EMPTY

_NAME = re.compile(r"batch-(\d{8,})-(shard|to)-(\d+)(-of-\d+)?\.parquet")


@dataclass(frozen=True)
class Leaving:
    """Files that the manifest does not have any more, in the order in which they go."""

    folder: Folder
    files: tuple[str, ...]

    def leave(self) -> None:
        for file in self.files:
            self.folder.delete(file)


@dataclass(frozen=True)
class _Found:
    """A file by its name."""

    first: int
    last: int
    is_merged: bool

    @staticmethod
    def of(name: str) -> _Found | None:
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        first, is_merged = int(found.group(1)), found.group(2) == "to"
        return _Found(first, int(found.group(3)) if is_merged else first, is_merged)


def clear(folder: Folder, fence: Callable[[], None]) -> None:
    """Remove what an earlier job wrote here. Only when the names are known is it asked whether this driver still is the one that
    runs: else they could be those of files that its successor has written since."""
    names = [name for name in folder.names() if name in (EMPTY, BARRIER) or _Found.of(name) is not None]
    fence()
    for name in names:
        folder.delete(name)


def older_files(folder: Folder, kept: Kept, batch: int) -> Iterator[str]:
    """Files of batches before one that are of no part."""
    parts = {part.file for part in kept.parts}
    for name in folder.names():
        found = _Found.of(name)
        if name not in parts and found is not None and found.last < batch:
            yield name


def check_output(folder: Folder, kept: Kept, newest: int) -> Leaving:
    """Every part must be there with its size, and what nobody knows of is an error; what a crash left beside them can go."""
    sizes = folder.sizes()
    for part in kept.parts:
        if part.file not in sizes:
            raise SashError(f"the file {folder.place}/{part.file} is missing", WAY_OUT)
        if sizes[part.file] != part.size:
            raise SashError(
                f"the file {folder.place}/{part.file} is damaged: it has {sizes[part.file]} bytes, not {part.size}", WAY_OUT
            )
    known = {part.file for part in kept.parts} | {EMPTY, BARRIER}
    left = [name for name in sorted(sizes.keys() - known) if not name.startswith("_")]
    return Leaving(folder, (*(name for name in left if _is_left_over(folder, name, kept, newest)), BARRIER))


def _is_left_over(folder: Folder, name: str, kept: Kept, newest: int) -> bool:
    """Whether the manifest has the rows of a file in another one, or does not keep them any more."""
    found = _Found.of(name)
    if found is not None and found.last > newest:
        return False  # of a batch that will be answered again
    if found is None or not _is_elsewhere(found, kept):
        raise SashError(
            f"the file {folder.place}/{name} is not of this job: who reads the folder would take its rows for changes",
            "move it to another folder",
        )
    return True


def _is_elsewhere(found: _Found, kept: Kept) -> bool:
    if found.is_merged:
        return any(part.first <= found.last and found.first <= part.last for part in kept.parts) or found.last <= kept.since
    merged = [part for part in kept.parts if "-to-" in part.file]
    return any(part.first <= found.first <= part.last for part in merged) or found.last <= kept.since
