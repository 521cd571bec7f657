"""The changelog of a view as its readers see it: by the number of the batch, through the manifest.

A reader that knows the last batch it has read can go on after it, whatever has been merged meanwhile: which files hold the next
batches, the manifest says when they are read. A reader that is older than the history gets, first of all,

    _op 0     one row without values, if it has read something before: what it has is too old to go on from, so forget it
    _op +1    the answer with which the history begins, as of its instant

and then the changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import pyarrow as pa

from sash.errors import SashError
from sash.folders.folder import Folder
from sash.runtime.live import LiveView
from sash.schema import Schema
from sash.spark.arenas import BEFORE_ALL
from sash.spark.manifest import Kept, Manifest, ManifestFolder, Part
from sash.spark.output_files import MissingPart, Rows, read_batches, read_part
from sash.spark.sealed import SealedFolder

PIECE_BYTES = 32 << 20  # of files that are read at once
STEP_BYTES = 1 << 30  # of files in a batch of a reader that has much to catch up with
TRIES = 20  # to read while files are merged
TOGETHER = 1 << 16  # rows that are added to an answer at once

Read = TypeVar("Read")


@dataclass(frozen=True)
class Piece:
    """What is read at once: the changes of some batches, or the answer before the first of them."""

    after: int
    last: int
    is_answer: bool = False
    is_new_start: bool = False  # of a reader that has read something before


@dataclass(frozen=True)
class Changelog:
    """The changes of one view."""

    record: ManifestFolder
    output: Folder
    name: str  # of the folder

    def to_text(self) -> str:
        return json.dumps([asdict(self.record.folder), asdict(self.output), self.name])

    @staticmethod
    def from_text(text: str) -> Changelog:
        record, output, name = json.loads(text)
        return Changelog(ManifestFolder(SealedFolder(**record)), Folder(**output), name)

    @property
    def is_there(self) -> bool:
        """It goes with a checkpoint that was only for one process."""
        return self.record.is_there

    def goes_on(self) -> bool:
        """Whether the view is still there, or, before the first batch, will be."""
        manifest = self.record.read()
        found = manifest.outputs.get(self.name)
        return manifest.batch == BEFORE_ALL if found is None else found.ended is None

    def newest(self) -> int:
        """The last batch on record."""
        return self.record.newest()

    def has_more(self, after: int | None) -> bool:
        """Whether there is something for a reader that has read the batches up to one, or none."""
        return self.is_there and (after is None or self.newest() > after)

    def step(self, after: int | None, limit: int | None = None) -> int:
        """How far a reader goes at once that has read the batches up to one, or none."""
        manifest = self.record.read()
        kept = manifest.kept(self.name)
        start = kept.since if after is None else max(after, kept.since)
        last, size = manifest.batch if limit is None else min(limit, manifest.batch), 0
        for part in kept.between(start, last):
            size += part.size
            if size > STEP_BYTES:
                return max(start + 1, part.last)
        return max(last, start)

    def pieces(self, after: int | None, last: int) -> list[Piece]:
        """What is to be read after one batch, up to another."""
        kept = self.record.read().kept(self.name)
        start = kept.since if after is None else max(after, kept.since)
        if start > last:
            return []  # forgotten: who reads on will begin anew
        found = list(_pieces(kept.between(start, last), start, last))
        is_behind = after is not None and after < kept.since
        if is_behind or (after is None and kept.answer(kept.since) is not None):
            return [Piece(kept.since, kept.since, is_answer=True, is_new_start=is_behind), *found]
        return found

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, batch by batch, each in the order of time."""
        done = piece.after

        def rest(manifest: Manifest) -> Iterator[pa.RecordBatch]:
            nonlocal done
            for batch, table in self._rows(manifest, piece, done, schema):
                yield from table.to_batches()
                done = batch

        yield from self._while_files_change(rest)

    def answer(self, schema: Schema) -> pa.Table:
        """What the view holds after the last batch on record."""

        def whole(manifest: Manifest) -> Iterator[pa.Table]:
            live = LiveView(schema)
            self.restore(live, manifest.kept(self.name), manifest.batch)
            yield live.rows()

        return next(self._while_files_change(whole))

    def _while_files_change(self, read: Callable[[Manifest], Iterator[Read]]) -> Iterator[Read]:
        """What is read by the manifest; where a file was merged or forgotten meanwhile, the rest by the next manifest."""
        for _ in range(TRIES):
            manifest = self.record.read()
            try:
                yield from read(manifest)
                return
            except MissingPart:
                if manifest == self.record.read():
                    raise  # nobody has merged or forgotten it
        raise SashError(f"the files of {self.name} change faster than they can be read", "read it again")

    def restore(self, live: LiveView, kept: Kept, last: int) -> None:
        """Fill an answer with what the view held after a batch: the newest answer on record, and the changes since."""
        waiting, rows = [], 0
        for found in self._since_answer(kept, last):
            waiting.append(found.table)
            rows += found.table.num_rows
            if rows >= TOGETHER:
                live.add_changelog(pa.concat_tables(waiting))
                waiting, rows = [], 0
        if waiting:
            live.add_changelog(pa.concat_tables(waiting))

    def _since_answer(self, kept: Kept, last: int) -> Iterator[Rows]:
        answer, after = kept.answer(last), kept.since
        if answer is not None:
            yield from read_part(self.record.answers, answer)
            after = answer.last
        yield from read_batches(self.output.child(self.name), kept.between(after, last), after, last)

    def _rows(self, manifest: Manifest, piece: Piece, done: int, schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
        kept = manifest.kept(self.name)
        if kept.since > piece.after:
            raise SashError(
                f"the changes of {self.name} up to batch {kept.since} are not kept any more",
                "read it again from the start, or keep more: connect(history=…)",
            )
        if piece.is_answer:
            yield piece.last, self._answer(kept, piece, schema)
            return
        for rows in read_batches(self.output.child(self.name), kept.between(done, piece.last), done, piece.last):
            yield rows.batch, self._with(schema, rows.table)

    def _with(self, schema: pa.Schema, table: pa.Table) -> pa.Table:
        try:
            return table.cast(schema)
        except ValueError as error:
            raise SashError(f"{self.name} has other columns now: {', '.join(table.column_names[2:])}", "read it anew") from error

    def _answer(self, kept: Kept, piece: Piece, schema: pa.Schema) -> pa.Table:
        answer = next((part for part in kept.answers if part.last == piece.last), None)
        tables = [] if answer is None else [self._with(schema, rows.table) for rows in read_part(self.record.answers, answer)]
        if piece.is_new_start:
            instant = tables[0].column(1)[0] if tables and tables[0].num_rows else pa.scalar(kept.greatest, schema.types[1])
            none = [pa.array([0], pa.int8()), pa.array([instant.as_py()], schema.types[1])]
            nothing = [*none, *(pa.nulls(1, kind) for kind in schema.types[2:])]
            tables.insert(0, pa.Table.from_arrays(nothing, schema=schema))
        return pa.concat_tables(tables) if tables else schema.empty_table()


def _pieces(parts: Sequence[Part], after: int, last: int) -> Iterator[Piece]:
    """Ranges of batches, cut where a file ends."""
    size, start = 0, after
    for part, following in zip(parts, [*parts, None][1:], strict=True):
        size += part.size
        is_cut = following is None or (size >= PIECE_BYTES and following.first > part.last)
        if is_cut:
            yield Piece(start, min(part.last, last))
            size, start = 0, part.last
