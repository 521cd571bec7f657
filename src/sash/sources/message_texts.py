"""Messages that are texts, JSON or CSV: read as the lines of a file are, all that are one line together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.deltas import Int64s
from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import Mask
from sash.sources.csv import read_csv
from sash.sources.json import read_json, read_objects
from sash.sources.message_encoding import NO_VALUE, Encoding
from sash.sources.options import VALID
from sash.sources.result import Letter, TextResult, letters_of

OPTIONS = tuple(option for option in VALID if option not in ("format", "path", "header"))


@dataclass(frozen=True)
class _Texts:
    """How messages are read: many at once, each on a line of its own, or one that has several lines."""

    lines: Callable[[StreamSpec, bytes], TextResult]
    one: Callable[[StreamSpec, bytes], TextResult]
    blanks: str  # the characters, in a pattern, of which a message may consist that has nothing in it

    def read(self, spec: StreamSpec, messages: pa.LargeBinaryArray) -> TextResult:
        """All that are one line together, as nearly all are; the others one after the other."""
        if pc.any(pc.ends_with(messages, "\n")).as_py():
            messages = pc.replace_substring_regex(messages, r"\r?\n\z", "")
        is_line = self._is_line(messages)
        found = self._read_lines(spec, messages.filter(pa.array(is_line)), np.flatnonzero(is_line))
        if is_line.all():
            return found
        singly = [self._read_one(spec, messages[int(place)].as_py(), int(place)) for place in np.flatnonzero(~is_line)]
        letters = _sorted([*found.letters, *(letter for one in singly for letter in one.letters)])
        places = [np.setdiff1d(np.flatnonzero(is_line), [letter.row for letter in found.letters])]
        places += [np.full(len(one.batch), place) for one, place in zip(singly, np.flatnonzero(~is_line), strict=True)]
        together = pa.concat_batches([found.batch, *(one.batch for one in singly)])
        return TextResult(together.take(pa.array(np.argsort(np.concatenate(places)))), letters)

    def _is_line(self, messages: pa.LargeBinaryArray) -> Mask:
        """Which messages are one line with something in it."""
        is_blank = pc.match_substring_regex(messages, f"^[{self.blanks}]*$")
        is_other = pc.or_(is_blank, pc.match_substring(messages, "\n")) if _may_have_lines(messages) else is_blank
        return ~np.asarray(pc.fill_null(is_other, True), np.bool_)

    def _read_lines(self, spec: StreamSpec, lines: pa.LargeBinaryArray, places: Int64s) -> TextResult:
        whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        found = self.lines(spec, pc.binary_join(whole, pa.scalar(b"\n", lines.type))[0].as_py())
        return TextResult(found.batch, [replace(letter, row=int(places[letter.row])) for letter in found.letters])

    def _read_one(self, spec: StreamSpec, message: bytes | None, place: int) -> TextResult:
        """A message that is no line."""
        if message is None:
            return _unread(spec, NO_VALUE, b"", place)
        if not message.strip():
            return _unread(spec, "the message is empty", message, place)
        found = self.one(spec, message)
        if len(found.batch) + len(found.letters) != 1:
            return _unread(spec, "the message is more than one record", message, place)
        return TextResult(found.batch, [replace(letter, row=place) for letter in found.letters])


def _may_have_lines(messages: pa.LargeBinaryArray) -> bool:
    """Whether there is the end of a line anywhere in what they lie in; to ask every message takes several times as long."""
    _, ends, data = messages.buffers()
    if data is None or not len(messages):
        return False
    first, last = np.frombuffer(ends, np.int64)[[messages.offset, messages.offset + len(messages)]].tolist()
    return b"\n" in data.slice(first, last - first).to_pybytes()


def _unread(spec: StreamSpec, reason: str, message: bytes, place: int) -> TextResult:
    nothing = pa.RecordBatch.from_pylist([], schema=spec.schema.arrow)
    return TextResult(nothing, letters_of({0: reason}, [(place, message)]))


def _sorted(letters: Iterable[Letter]) -> list[Letter]:
    return sorted(letters, key=lambda letter: letter.row)


def _takes_paths(_: StreamSpec) -> None:
    return


def _takes_no_paths(spec: StreamSpec) -> None:
    if spec.paths:
        raise SashError(f'stream "{spec.name}": column "{spec.paths[0][0]}" is FROM a path, and its messages are CSV')


def _read_csv(spec: StreamSpec, text: bytes) -> TextResult:
    return read_csv(spec, (), text)


@lru_cache(maxsize=256)
def _of_lines(spec: StreamSpec) -> StreamSpec:
    """A quote that is open at the end of a message is not closed by the next one."""
    return replace(spec, options=tuple(option for option in spec.options if option[0] != "multiline"))


_JSON = _Texts(read_json, lambda spec, message: read_objects(spec, [(0, message)]), r" \t\r\n")
_CSV = _Texts(lambda spec, text: _read_csv(_of_lines(spec), text), _read_csv, r"\r\n")
JSON = Encoding(OPTIONS, _takes_paths, _JSON.read)
CSV = Encoding(OPTIONS, _takes_no_paths, _CSV.read)
