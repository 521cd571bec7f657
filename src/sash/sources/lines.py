"""Text files by offset: where records begin and end, without parsing them.

A record is a line; with multiline = 'true' a line end inside quotes does not end it. A plain file is read in
pieces, at any offset. A compressed or multiline file is read as a whole, and its offsets are those of the unpacked
text:

    offset   0         18        36      stop
             |header   |record   |record |

A quote that opens a value over several lines must be closed before a delimiter or at the end of a line. One that is
not is the fault of its own line, which is a record by itself; reading goes on with the next line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice

import numpy as np
import pyarrow as pa

from sash.errors import SashError
from sash.folders.locations import locate
from sash.sources.encodings import LineEnds, line_ends
from sash.sources.listing import SourceFile
from sash.sources.options import Options, compression

Read = Callable[[int, int], bytes]  # offset, length -> what is there, shorter only at the end of the file

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_NOWHERE = 1 << 62
_FIRST_STEP = 4096
_BYTES_PER_LINE = 128  # a guess, for how far to look ahead


@contextmanager
def open_text(options: Options, path: str, modified: int) -> Iterator[Read]:
    """Read a text file by offset, with line feeds at the ends of its lines; `modified` tells versions of a file apart."""
    if options.is_whole(path):
        content = _whole(path, modified)
        yield lambda offset, length: content[offset : offset + length]
        return
    location = locate(path)
    try:
        with location.filesystem.open_input_file(location.path) as handle:
            ends = _ends_of(path, modified)
            yield lambda offset, length: ends.as_line_feeds(handle.read_at(length, offset))
    except OSError as error:
        raise SashError(f'cannot read "{path}": {error}') from error


@lru_cache(maxsize=1024)
def _ends_of(path: str, modified: int) -> LineEnds:
    location = locate(path)
    with location.filesystem.open_input_file(location.path) as handle:
        return line_ends(path, lambda offset, length: bytes(handle.read_at(length, offset)))


# A compressed file is planned and read range by range: without this, every range would unpack it again.
@lru_cache(maxsize=4)
def _whole(path: str, modified: int) -> bytes:
    location = locate(path)
    try:
        with location.filesystem.open_input_stream(location.path, compression=compression(path)) as stream:
            content = bytes(stream.read())
    except (OSError, pa.ArrowException) as error:
        raise SashError(f'cannot read "{path}": {error}', "it may be cut short or damaged") from error
    return line_ends(path, lambda offset, length: content[offset : offset + length]).as_line_feeds(content)


def end_of(options: Options, file: SourceFile) -> int:
    """Where a file ends; how long the text of a compressed file is, nobody knows before it is read."""
    return _NOWHERE if options.is_whole(file.path) else file.size


def cut(options: Options, read: Read, offset: int, end: int, rows: int | None, limit: int) -> tuple[int, int]:
    """The end of the records from `offset` on that fit into `rows` and about `limit` bytes, and how many they are.

    At least one record fits. The last one of a file needs no line end.
    """
    if options.multiline:
        return _cut_records(options, read(0, end), offset, rows, limit)
    return _cut_lines(read, offset, end, rows, limit)


def _cut_lines(read: Read, offset: int, end: int, rows: int | None, limit: int) -> tuple[int, int]:
    position = stop = offset
    lines = 0
    step = _first_step(rows, limit)
    while True:
        block = read(position, min(step, end - position))
        if not block:
            return position, lines + (position > stop)
        found = block.count(b"\n")
        if rows is not None and lines + found >= rows:
            return position + _line_end(block, rows - lines), rows
        stop = position + block.rfind(b"\n") + 1 if found else stop
        lines += found
        position += len(block)
        if lines and position - offset >= limit and position < end:
            return stop, lines
        step = max(_FIRST_STEP, min(step * 4, limit - (position - offset)))


def _first_step(rows: int | None, limit: int) -> int:
    """How far to look first, not to read much more than is needed."""
    return limit if rows is None else min(max(_FIRST_STEP, rows * _BYTES_PER_LINE), limit)


def _line_end(block: bytes, count: int) -> int:
    """One past the end of the `count`-th line of a block."""
    if count == 1:
        return block.index(b"\n") + 1
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return int(ends[count - 1]) + 1


def _cut_records(options: Options, text: bytes, offset: int, rows: int | None, limit: int) -> tuple[int, int]:
    """Where a record ends depends on what follows its quotes, so the whole text is looked at."""
    mark = len(BYTE_ORDER_MARK) if offset == 0 and text.startswith(BYTE_ORDER_MARK) else 0
    count, stop = 0, offset
    for match in islice(_records(options, text, offset + mark), rows):
        count, stop = count + 1, match.end()
        if stop - offset >= limit:
            break
    return stop, count


def _records(options: Options, text: bytes, start: int = 0) -> Iterator[re.Match[bytes]]:
    """Every record with its line end; the empty match at the end of the text is none."""
    return (match for match in _record_pattern(options).finditer(text, start) if match.end() > match.start())


def split_records(options: Options, text: bytes) -> list[bytes]:
    """The records of a text, without their line ends."""
    if options.multiline:
        return [_without_end(match.group()) for match in _records(options, text)]
    return split_lines(text)


def split_lines(text: bytes) -> list[bytes]:
    """Lines end with a line feed, before which a carriage return may stand; one alone ends nothing."""
    return [line.removesuffix(b"\r") for line in text.removesuffix(b"\n").split(b"\n")] if text else []


def _without_end(record: bytes) -> bytes:
    return record.removesuffix(b"\n").removesuffix(b"\r")


@lru_cache(maxsize=64)
def _record_pattern(options: Options) -> re.Pattern[bytes]:
    """A record that may span lines, with its line end; a quote that is not closed properly is open to the end of its line."""
    delimiter, quote = re.escape(options.delimiter.encode()), re.escape(options.quote.encode())
    value = rb"[^\n%s]*+" % delimiter
    if quote:
        over_lines = _quoted(options, quote) + rb"(?=%s|\r?\n|\r?\Z)" % delimiter
        on_its_line = _quoted(options, quote, before=rb"\n") + value
        value = rb"(?:%s|%s|%s[^\n]*+|(?!%s)%s)" % (over_lines, on_its_line, quote, quote, value)
    return re.compile(value + rb"(?:%s%s)*+(?:\n|\Z)" % (delimiter, value), re.DOTALL)


@lru_cache(maxsize=64)
def closed_pattern(options: Options) -> re.Pattern[bytes]:
    """A record, without its line end, in which every quote that opens a value is closed and no line ends."""
    return re.compile(_fields(options, ends=rb"\r\n", closing=rb"%s"), re.DOTALL)


@lru_cache(maxsize=64)
def quoted_pattern(options: Options) -> re.Pattern[bytes]:
    """A quoted value, from the quote that opens it on."""
    delimiter, quote = re.escape(options.delimiter.encode()), re.escape(options.quote.encode())
    return re.compile(rb"(?<![^\n%s])%s" % (delimiter, _quoted(options, rb"(?:%s|\Z)" % quote)), re.DOTALL)


def _fields(options: Options, ends: bytes, closing: bytes) -> bytes:
    """Values between delimiters. Only at the beginning of a value does a quote open anything."""
    delimiter, quote = re.escape(options.delimiter.encode()), re.escape(options.quote.encode())
    value = rb"[^%s%s]*+" % (ends, delimiter)
    if quote:
        value = rb"(?:%s%s|(?!%s)%s)" % (_quoted(options, closing % quote), value, quote, value)
    return value + rb"(?:%s%s)*+" % (delimiter, value)


def _quoted(options: Options, closing: bytes, before: bytes = b"") -> bytes:
    """From the quote that opens a value to the one that closes it, which stands before any of some characters."""
    quote, escape = re.escape(options.quote.encode()), re.escape(options.escape.encode())
    escaped = rb"[^%s]?+" % before if before else rb".?+"
    pair = quote + quote if escape in (b"", quote) else rb"%s%s|%s%s" % (quote, quote, escape, escaped)
    return quote + rb"(?:[^%s%s%s]++|%s)*+" % (quote, escape, before, pair) + closing
