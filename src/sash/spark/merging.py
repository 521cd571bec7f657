"""Merging: the small files of many batches become few large ones.

    level 0     a file for every batch and shard
    level 1     a file for so many of them
    level 2     a file for so many of those, and so on, until files are large

So there are some files of every level, and their number grows with the logarithm of the batches until only bytes count. Which
files are merged is a function of the manifest; doing it is `tidying.py`'s part.

While the files of an output are exchanged, a file that is no Parquet file lies beside them: whoever reads the folder as a whole
in these moments, or after a crash in them, gets an error and never some changes twice or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa

from sash.folders.folder import Folder
from sash.runtime.history_limit import History
from sash.spark.manifest import Kept, Part
from sash.spark.output_files import encoded, merged_file, put_part, read_batches

FEW = 8  # files of a level that are merged into one of the next
FEW_BATCHES = 32  # files of single batches that are merged at once
LARGE = 128 << 20  # bytes: no file is made larger than this
SHARE = 8  # a merged file is at most one so-manieth of a bounded history, so that it can leave with little that must stay
DONE = 99  # the level of files that stay as they are

BARRIER = "merging-now-try-again.parquet"
NO_PARQUET = b"The files of this folder are being exchanged. Read it again in a moment; after a crash, start the job again.\n"


@dataclass(frozen=True)
class Merge:
    """Files that become one; a single one is large enough to stay."""

    parts: tuple[Part, ...]
    level: int

    def part(self, mark: str = "") -> Part:
        """The file that is made, before its bytes are known."""
        first, last = self.parts[0].first, self.parts[-1].last
        instants = [instant for part in self.parts for instant in (part.least, part.greatest) if instant is not None]
        rows, least, greatest = sum(part.rows for part in self.parts), min(instants, default=None), max(instants, default=None)
        return Part(merged_file(first, last, mark), first, last, rows, 0, 0, least, greatest, self.level)


def due(kept: Kept, last: int, history: History, *, is_end: bool = False) -> list[Merge]:
    """What is to be merged of an output, of batches up to `last`; when it is done, ask again. At the end, whatever can be."""

    def kind(part: Part) -> int:
        return DONE if part.last > last or part.level == DONE else 0 if is_end else part.level

    for level, found in [(level, list(parts)) for level, parts in groupby(kept.parts, key=kind)]:
        if level < DONE and len(found) >= (2 if is_end else FEW if level else FEW_BATCHES):
            return list(_groups(found, max(part.level for part in found) + 1, history))
    return []


def _groups(parts: Sequence[Part], level: int, history: History) -> Iterator[Merge]:
    group: list[Part] = []
    for part in parts:
        if group and not _fits([*group, part], history):
            yield Merge(tuple(group), level if len(group) > 1 else DONE)
            group = []
        group.append(part)
    if len(group) > 1 or not _fits(group, history):
        yield Merge(tuple(group), level if len(group) > 1 else DONE)


def _fits(parts: Sequence[Part], history: History) -> bool:
    """Whether one file of all of them would not be too large, and none of them is large enough."""
    large = LARGE if history.bytes is None else min(LARGE, history.bytes // SHARE)
    if sum(part.size for part in parts) > large or any(part.size > large // FEW for part in parts):
        return False
    instants = [instant for part in parts for instant in (part.least, part.greatest) if instant is not None]
    return history.microseconds is None or not instants or max(instants) - min(instants) <= history.microseconds // SHARE


def merged(folder: Folder, merge: Merge) -> pa.Buffer:
    """The merged file, still to be put beside those that it is made of."""
    first, last = merge.parts[0].first, merge.parts[-1].last
    return encoded(read_batches(folder, merge.parts, first - 1, last))


def exchanged(kept: Kept, merge: Merge, part: Part) -> Kept:
    """One part in place of many."""
    place = kept.parts.index(merge.parts[0])
    return replace(kept, parts=(*kept.parts[:place], part, *kept.parts[place + len(merge.parts) :]))


def copied(folder: Folder, parts: Sequence[Part], target: Folder, mark: str) -> tuple[Part, ...]:
    """Another folder gets the rows of these files, in files of its own names."""
    groups: list[list[Part]] = []
    for part in parts:
        if not groups or sum(one.size for one in groups[-1]) + part.size > LARGE:
            groups.append([])
        groups[-1].append(part)
    merges = (Merge(tuple(group), 1) for group in groups)
    return tuple(put_part(target, merge.part(mark), merged(folder, merge)) for merge in merges)
