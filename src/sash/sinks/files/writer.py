"""A folder of files that holds the answer of a view, or all its changes, each batch written once.

    mode = 'upsert'     answer.parquet           replaced as a whole by the answer after a batch
    mode = 'changes'    part-00000001.parquet    grows until it is large, then part-00000002 begins; so in every partition

A file is always whole: it is written under another name and renamed, and in an object store a put is whole. What a batch is about
to write is put down before it (`record.py`), so that whoever goes on knows whether it was written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.folders.folder import Folder, reached, remove_partial_files
from sash.folders.locations import absolute
from sash.runtime.history_limit import parse_size
from sash.runtime.live import LiveView
from sash.schema import INT, TIMESTAMP, Field, Schema
from sash.sinks.files.formats import make_format
from sash.sinks.files.partitions import partition_columns, spread
from sash.sinks.files.record import HOME, LOCK, Change, Next, Record, at, digest, read_file, settled
from sash.sinks.options import Existing, Mode, SinkSpec
from sash.sinks.owner import NOBODY, Owner
from sash.sinks.sink import SinkMoved, SinkRefused, Taken, dropped_changes

FILE_SIZE = "8 MB"
PART = re.compile(r"part-(\d{8})\.(parquet|json|csv)|answer\.(parquet|json|csv)")


class FilesSink:
    """For one run (`owner.py`)."""

    def __init__(self, spec: SinkSpec, run: str | None, epoch: int, base: Path) -> None:
        written = spec.option("path")
        if not written:
            raise SashError("a sink in files needs a folder", "add path = 'folder', or path = 's3://bucket/folder'")
        self._spec = spec
        self._folder = Folder.of(absolute(written, base))
        self._owner = Owner(run, epoch, "folder", self.__str__)
        self._partitions = partition_columns(spec.option("partition_by"), spec.schema)
        if self._partitions and not self._is_changes:
            way_out = "leave it out: an answer is one file, which is replaced as a whole"
            raise SashError("partition_by is for mode = 'changes'", way_out)
        self._file_size = _size(spec.option("file_size") or FILE_SIZE)
        inside = tuple(one for place, one in enumerate(spec.schema.fields) if place not in self._partitions)
        first = (Field("_op", INT), Field("_ts", TIMESTAMP)) if self._is_changes else ()
        self._columns = Schema((*first, *inside))
        self._format = make_format(spec.option("format") or "parquet", self._columns)
        self._record: Record | None = None  # what this run has put down last
        self._live: LiveView | None = None  # the answer, as it is in the file

    def __str__(self) -> str:
        return f"files {self._folder.place}"

    @property
    def _is_changes(self) -> bool:
        return self._spec.mode is Mode.CHANGES

    @property
    def _layout(self) -> str:
        spread_by = ", ".join(self._spec.schema.names[place] for place in self._partitions)
        return f"{self._format.ending} {self._spec.mode.value} ({self._columns}) by ({spread_by})"

    def check(self) -> None:
        """What would be refused later is refused at once: the folder cannot be used, or has files of others."""
        found = Record.read(self._folder)
        if self._owner.run is not None or found is None:
            self._begins(found)

    def begin(self) -> int | None:
        self._owner.may_begin()
        self.close()
        with self._alone():
            remove_partial_files(self._folder)
            found = Record.read(self._folder)
            record = Record(self._owner.run or NOBODY, self._owner.epoch, self._spec.name, self._layout)
            if self._begins(found):
                self._make_room(found)
            elif found is not None and (self._is_changes or self._folder.has(self._answer_file)):  # else it is written anew
                found = settled(self._folder, found, self._format)
                record = replace(record, position=found.position, next=found.next)
            if not self._is_changes and record.reached is not None:
                self._live = self._read_answer()
            self._put(record)
            self._owner.has_begun()
            return record.reached

    def write(self, taken: Taken) -> int:
        assert self._record is not None
        with self._alone():
            self._check_mine()
            if self._record.reached != taken.after:
                raise SinkMoved(self._record.reached)
            contents = dict(self._changes(taken) if self._is_changes else self._answer(taken))
            files = {name: Change(digest(data), before) for name, (data, before) in contents.items()}
            self._put(replace(self._record, epoch=self._owner.epoch, position=taken.after, next=Next(taken.position, files)))
            for name, (data, _) in contents.items():
                place, file = at(self._folder, name)
                place.put(file, [data])
        return len(taken.changes)

    def release(self) -> None:
        with self._alone():
            found = Record.read(self._folder)
            if found is not None and found.run == self._owner.run:
                replace(found, run=NOBODY, epoch=0).put(self._folder)

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
        self._record = self._live = None

    def _put(self, record: Record) -> None:
        record.put(self._folder)
        self._record = record

    def _check_mine(self) -> None:
        found = Record.read(self._folder)
        if found is not None:
            self._owner.must_be_mine(found.run, found.epoch)
        if found != self._record:
            raise SashError(f"the record of {self} is gone, or another's", "it is begun again")

    def _begins(self, found: Record | None) -> bool:
        """Whether this run has written nothing yet; if so, it must be allowed to begin."""
        if found is None:
            others = [name for name in self._folder.names() if name != HOME]
            if others:
                raise SinkRefused(f'{self} has files that no sink has written: "{others[0]}"', "name a folder that is empty")
            return True
        if self._owner.is_mine(found.run, found.epoch):
            if found.layout != self._layout:
                raise self._other(found)
            return False
        self._check_existing(found)
        return True

    def _check_existing(self, found: Record) -> None:
        is_like = found.layout == self._layout
        policy = self._spec.existing or (Existing.REPLACE if is_like and not self._is_changes else Existing.REFUSE)
        if policy is Existing.REPLACE or not any(self._parts(self._folder)):
            return
        if policy is Existing.REFUSE:
            append = " or existing = 'append'" if self._is_changes else ""
            raise SinkRefused(
                f"{self} has files that another run has written",
                f"name another folder, or say what becomes of them: existing = 'replace'{append}",
            )
        if not is_like:
            raise self._other(found)

    def _make_room(self, found: Record | None) -> None:
        """What another run has written goes, unless it is to be appended to, or replaced by the first answer."""
        if found is None:
            return
        if self._spec.existing is Existing.APPEND:
            settled(self._folder, found, self._format)
            return
        for name in list(self._parts(self._folder)):
            if self._is_changes or name != self._answer_file:
                place, file = at(self._folder, name)
                place.delete(file)

    def _parts(self, folder: Folder, path: str = "") -> Iterator[str]:
        """The files that sinks have written, here and in partitions below."""
        files = folder.sizes()
        yield from (path + name for name in files if PART.fullmatch(name))
        for name in folder.names():
            if name not in files and "=" in name:
                yield from self._parts(folder.child(name), f"{path}{name}/")

    def _changes(self, taken: Taken) -> Iterator[tuple[str, tuple[bytes, int]]]:
        """The files that get rows: what they hold then, and how much they held before."""
        if taken.is_answer and taken.after is not None:
            raise dropped_changes(self._spec.view, "drop the sink and create it with existing = 'replace' to begin anew")
        for path, rows in spread(taken.changes, self._partitions, first=2) if len(taken.changes) else ():
            name = "/".join([*([path] if path else []), self._last_part(self._folder.child(path) if path else self._folder)])
            data = read_file(self._folder, name)
            yield name, (self._format.grown(data, rows.cast(self._columns.arrow)), self._format.size(data))

    def _last_part(self, folder: Folder) -> str:
        """The file that grows: the last one, while it is small."""
        found = ((PART.fullmatch(name), size) for name, size in folder.sizes().items())
        known = {int(match.group(1)): size for match, size in found if match and match.group(1)}
        last = max(known, default=0)
        return f"part-{last if known.get(last, self._file_size) < self._file_size else last + 1:08d}.{self._format.ending}"

    @property
    def _answer_file(self) -> str:
        return f"answer.{self._format.ending}"

    def _answer(self, taken: Taken) -> Iterator[tuple[str, tuple[bytes, int]]]:
        is_new = taken.after is None or taken.is_answer
        if not len(taken.changes) and not is_new:
            return
        if is_new or self._live is None:
            self._live = LiveView(self._spec.schema)
        self._live.add_changelog(taken.changes)
        if self._live.least_count < 0:
            way_out = "let nobody else write to the folder; drop the sink and create it again to write the whole answer"
            raise SinkRefused(f'rows leave view "{self._spec.view}" that {self} does not have', way_out)
        before = self._format.size(read_file(self._folder, self._answer_file))
        yield self._answer_file, (self._format.grown(None, self._live.rows()), before)

    def _read_answer(self) -> LiveView:
        live, rows = LiveView(self._spec.schema), self._format.read(read_file(self._folder, self._answer_file) or b"")
        live.add(rows.append_column("_weight", pa.array(np.ones(len(rows), np.int64))))
        return live

    def _other(self, found: Record) -> SinkRefused:
        return SinkRefused(f"{self} holds other files: {found.layout}; the sink writes {self._layout}", "name another folder")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """On a disk no other run is in the middle of a write; in an object store that cannot be known."""
        local = self._folder.local_path
        if local is None:
            yield
            return
        with reached(self._folder.place):
            (local / HOME).mkdir(parents=True, exist_ok=True)
            # Whoever may write to the folder may have put a link here, and what that leads to stays as it is.
            lock = os.open(local / HOME / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)


def _size(text: str) -> int:
    found = parse_size(text)
    if not found:
        raise SashError(f"file_size = '{text}' is no size", "write it as '8 MB'")
    return found
