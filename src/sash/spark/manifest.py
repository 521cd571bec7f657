"""The manifest: which files hold which batches of which output, and which answers are on record.

    manifest/base-N-of-E.json   everything up to batch N, as the driver of epoch E (`epochs.py`) knows it
    manifest/batch-N.json       what batch N added; one for every batch after the newest base, whether it added something or not
    manifest/answers/           the answers of views after some batch, which a restart and late readers begin with

Who wants to know what an output holds reads the newest base and the batches after it. A base that is on record makes all before
it superfluous, so neither the number of these files nor their size grows with the batches: files of the outputs are merged
(`merging.py`), and what a bounded history has no room for leaves the manifest before it leaves the folder.

A driver puts down a base of its own before it removes anything. From then on nobody looks at a base of the driver before it,
which may have slept and not know yet that it was replaced. What two drivers say of a batch is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sash.errors import SashError
from sash.schema import BEGINNING
from sash.spark.arenas import BEFORE_ALL
from sash.spark.sealed import SealedFolder

PLACE = "manifest"  # in the checkpoint
ANSWERS = "answers"
_BASE, _BATCH = re.compile(r"base-(\d{8,})-of-(\d{8,})\.json"), re.compile(r"batch-(\d{8,})\.json")
TRIES = 20  # to read while somebody writes: every one of them means that another base was put down meanwhile
WAY_OUT = "bring it back from a copy, or start again with a new checkpoint and a new output folder"


@dataclass(frozen=True)
class Part:
    """A file of an output, and the batches whose rows it holds."""

    file: str
    first: int
    last: int
    rows: int
    size: int  # in bytes
    checksum: int
    least: int | None = None  # instants of its changes
    greatest: int | None = None
    level: int = 0  # how often its rows were merged

    @staticmethod
    def from_json(values: list[Any]) -> Part:
        return Part(*values)

    def to_json(self) -> list[Any]:
        return list(asdict(self).values())


@dataclass(frozen=True)
class Kept:
    """What is kept of one output: the changes of all batches after `since`, in the order of batches, then of shards."""

    parts: tuple[Part, ...] = ()
    since: int = BEFORE_ALL
    answers: tuple[Part, ...] = ()  # of a view, oldest first; none for `since` means that it held nothing then
    greatest: int | None = None  # the latest instant of all changes, kept or not
    changed: int = 0  # how many changes there have been since the newest answer
    complete: int | None = BEGINNING  # from when on a view is right for all rows that ever came; None: never
    ended: int | None = None  # the batch in which the view went

    @property
    def complete_from(self) -> int | None:
        """The instant from which on every change is kept; None where none has come since the history began.

        An instant is final in one batch, so all that is dropped was before the first that is kept. A merged file may begin with
        batches that are dropped: what its least instant is, of the others, nobody knows.
        """
        if self.since == BEFORE_ALL:
            return BEGINNING
        answer = self.answer(self.since)
        if answer is not None and answer.greatest is not None:
            return answer.greatest + 1
        least = [part.least for part in self.parts if part.first > self.since and part.least is not None]
        return min(least) if least else None if self.greatest is None else self.greatest + 1

    def answer(self, batch: int) -> Part | None:
        """The newest answer on record of this batch or an earlier one."""
        return max((answer for answer in self.answers if answer.last <= batch), key=lambda one: one.last, default=None)

    def between(self, after: int, last: int) -> list[Part]:
        """The files that hold changes of these batches."""
        return [part for part in self.parts if part.last > after and part.first <= last]

    def before(self, batch: int) -> Kept:
        """As it was before a batch that is about to be answered again."""
        return replace(self, parts=tuple(part for part in self.parts if part.last < batch))

    def plus(self, parts: Iterable[Part]) -> Kept:
        added = sorted(parts, key=lambda part: part.file)
        instants = [instant for instant in (self.greatest, *(part.greatest for part in added)) if instant is not None]
        rows = sum(part.rows for part in added)
        return replace(self, parts=(*self.parts, *added), greatest=max(instants, default=None), changed=self.changed + rows)

    @staticmethod
    def from_json(values: dict[str, Any]) -> Kept:
        lists = {name: tuple(map(Part.from_json, values[name])) for name in ("parts", "answers")}
        return Kept(**values | lists)

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {name: [part.to_json() for part in getattr(self, name)] for name in ("parts", "answers")}


@dataclass(frozen=True)
class Manifest:
    """All outputs after a batch, by the names of their folders."""

    batch: int = BEFORE_ALL
    outputs: Mapping[str, Kept] = field(default_factory=dict)

    def kept(self, output: str) -> Kept:
        return self.outputs.get(output, Kept())

    def with_batch(self, batch: int, added: Mapping[str, Iterable[Part]]) -> Manifest:
        """One more batch; the newest one may be answered again."""
        if batch <= self.batch:
            before = {output: kept.before(batch) for output, kept in self.outputs.items()}
            return Manifest(batch - 1, before).with_batch(batch, added)
        changed = {output: self.kept(output).plus(parts) for output, parts in added.items()}
        return Manifest(batch, {**self.outputs, **changed})

    def with_output(self, output: str, kept: Kept) -> Manifest:
        return replace(self, outputs={**self.outputs, output: kept})


@dataclass(frozen=True, order=True)
class _Base:
    """A file with everything up to a batch. Those of a later epoch count more, whatever their batches."""

    epoch: int
    batch: int

    @property
    def name(self) -> str:
        return f"base-{self.batch + 1:08d}-of-{self.epoch:08d}.json"  # from 0 on: the first base is that before all batches


@dataclass(frozen=True)
class _Files:
    """What lies in the folder of a manifest, by the names."""

    bases: list[_Base]
    batches: list[int]

    @staticmethod
    def of(names: Iterable[str]) -> _Files:
        bases, batches = [], []
        for name in names:
            if found := _BASE.fullmatch(name):
                bases.append(_Base(int(found.group(2)), int(found.group(1)) - 1))
            elif found := _BATCH.fullmatch(name):
                batches.append(int(found.group(1)) - 1)
        return _Files(sorted(bases), sorted(batches))

    def before(self, base: _Base) -> list[str]:
        """What a base makes superfluous."""
        bases = [one.name for one in self.bases if one < base]
        return [*bases, *(_batch_name(batch) for batch in self.batches if batch <= base.batch)]


@dataclass(frozen=True)
class ManifestFolder:
    """Where a manifest is on record."""

    folder: SealedFolder

    @staticmethod
    def of(checkpoint: SealedFolder) -> ManifestFolder:
        return ManifestFolder(checkpoint.child(PLACE))

    @property
    def answers(self) -> SealedFolder:
        return self.folder.child(ANSWERS)

    @property
    def is_there(self) -> bool:
        return bool(self._files().bases)

    def put_base(self, manifest: Manifest, epoch: int, fence: Callable[[], None]) -> None:
        """Put everything down. Nothing of what was there before is needed any more, unless `fence` says that another driver has
        taken over: it may have read that, and not this."""
        base, files = _Base(epoch, manifest.batch), self._files()
        outputs = {output: kept.to_json() for output, kept in manifest.outputs.items()}
        self._put(base.name, {"batch": manifest.batch, "outputs": outputs})
        fence()
        for name in files.before(base):
            self.folder.delete(name)

    def put_batch(self, batch: int, added: Mapping[str, Iterable[Part]]) -> None:
        parts = {output: [part.to_json() for part in found] for output, found in added.items()}
        self._put(_batch_name(batch), {"batch": batch, "added": parts})

    def newest(self) -> int:
        """The number of the last batch on record, from the names alone."""
        files = self._files()
        return max([*(base.batch for base in files.bases[-1:]), *files.batches], default=BEFORE_ALL)

    def read(self) -> Manifest:
        for _ in range(TRIES):
            found = self._read()
            if found is not None:
                return found
        raise SashError(f"the manifest of the outputs in {self.folder.place} is not whole: a batch is missing", WAY_OUT)

    def _read(self) -> Manifest | None:
        """None where a file is not there, which may be because another base has come meanwhile."""
        files = self._files()
        if not files.bases:
            raise SashError(f"the manifest of the outputs, {self.folder.place}, is gone", WAY_OUT)
        found = self._get(files.bases[-1].name)
        if found is None:
            return None
        outputs = {output: Kept.from_json(kept) for output, kept in found["outputs"].items()}
        manifest = Manifest(found["batch"], outputs)
        for number in (batch for batch in files.batches if batch > files.bases[-1].batch):
            found = self._get(_batch_name(number))
            if found is None or number != manifest.batch + 1:
                return None
            added = {output: [Part.from_json(part) for part in parts] for output, parts in found["added"].items()}
            manifest = manifest.with_batch(number, added)
        return manifest

    def _files(self) -> _Files:
        return _Files.of(self.folder.names())

    def _put(self, name: str, values: dict[str, Any]) -> None:
        self.folder.put(name, [json.dumps(values).encode()])

    def _get(self, name: str) -> dict[str, Any] | None:
        data = self.folder.read(name)
        return None if data is None else dict(json.loads(bytes(data)))


def _batch_name(batch: int) -> str:
    return f"batch-{batch + 1:08d}.json"
