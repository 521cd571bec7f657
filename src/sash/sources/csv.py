"""CSV: every declared column is read as text by pyarrow's parser and then turned into its type, a column at a time.

A record with another number of values than the file has columns, with an open quote, or that is no UTF-8 is a dead
letter, and so is one with a value that is not of its column's type. As in Spark, an empty value is NULL, and so is
one that equals `nullvalue`, quoted or not; a quoted empty value is '' only where `nullvalue` is something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sash.errors import SashError, choices
from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.sources.lines import BYTE_ORDER_MARK, closed_pattern, cut, end_of, open_text, quoted_pattern, split_records
from sash.sources.listing import SourceFile
from sash.sources.options import Options, options_of
from sash.sources.result import TextResult, Values, good_rows, letters_of
from sash.sources.text import is_utf8, parse


@dataclass(frozen=True)
class Header:
    """The first line of a file: its names, where it ends, and how many lines it takes."""

    names: tuple[str, ...]
    stop: int
    lines: int


SHOWN = 100  # bytes of a line that cannot be read
NO_HEADER = Header((), 0, 0)


@dataclass(frozen=True)
class Layout:
    """How many columns a file has, and the place of every declared one among them."""

    width: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class Parsed:
    """The declared columns as texts, and the records with a wrong number of values by their place among all."""

    columns: pa.Table
    wrong: Mapping[int, str]

    @property
    def records(self) -> int:
        return len(self.columns) + len(self.wrong)


def header_of(spec: StreamSpec, file: SourceFile) -> Header:
    """The header of a file, which must name every declared column; an empty file has none."""
    header = _read_header(options_of(spec), file)
    if header.lines:
        _check_no_arrays(spec)
        _check_names(spec, header.names, file.path)
    return header


@lru_cache(maxsize=1024)
def _read_header(options: Options, file: SourceFile) -> Header:
    with open_text(options, file.path, file.modified) as read:
        stop, lines = cut(options, read, 0, end_of(options, file), rows=1, limit=1 << 20)
        line = read(0, stop).removeprefix(BYTE_ORDER_MARK)
    if not line:
        return Header((), stop, 0)
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    broken = _broken(options, line)
    if broken is not None:
        shown = line[:SHOWN].decode("utf-8", "replace").replace("\r", "\\r").replace("\n", "\\n")
        raise SashError(f'stream "{options.stream}": the first line of "{file.path}" is no header: {shown}', broken)
    return Header(_names(options, line), stop, lines)


def _names(options: Options, line: bytes) -> tuple[str, ...]:
    if not line:
        return ()
    places = range(line.count(options.delimiter.encode()) + 1)
    reading = csv.ReadOptions(autogenerate_column_names=True)
    converting = csv.ConvertOptions(column_types={f"f{place}": pa.string() for place in places})
    source = pa.BufferReader(b"\n" + _doubled(options, line) + b"\n")  # behind a blank line a second mark is a part of a name
    return tuple(csv.read_csv(source, reading, _parsing(options), converting).to_pylist()[0].values())


def _check_names(spec: StreamSpec, header: Sequence[str], path: str) -> None:
    known = Counter(_known(header))
    for name in spec.schema.names:
        found = known[name.lower()]
        if found != 1:
            has = f"no column \"{name}\"" if found == 0 else f"{found} columns \"{name}\", and it is not clear which one is meant"
            raise SashError(f'stream "{spec.name}": the header of "{path}" has {has}', f"its columns are: {choices(header)}")


def _known(header: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in header]


def layout(spec: StreamSpec, header: Sequence[str]) -> Layout:
    """Columns by name where there is a header, else by place."""
    _check_no_arrays(spec)
    if not options_of(spec).header:
        return Layout(len(spec.schema), tuple(range(len(spec.schema))))
    known = _known(header)
    return Layout(len(header), tuple(known.index(name.lower()) for name in spec.schema.names))


def _check_no_arrays(spec: StreamSpec) -> None:
    for field in spec.schema.fields:
        if field.type.element is not None:
            raise SashError(
                f'stream "{spec.name}": CSV has no arrays, but column "{field.name}" is {field.type}',
                "read JSON or Parquet, or declare a STRING and use SPLIT",
            )


def read_csv(spec: StreamSpec, header: Sequence[str], text: bytes) -> TextResult:
    """The rows of whole records; dead letters count the records from 0."""
    options, columns = options_of(spec), layout(spec, header)
    parsed = _parse_lines(options, columns, text)
    if parsed is not None:
        return _rows(spec, parsed, lambda: _numbered(options, text))
    records = _numbered(options, text)
    broken = {number: reason for number, record in records if (reason := _broken(options, record))}
    whole = [(number, record) for number, record in records if number not in broken]
    parsed = _parse(options, columns, b"\n".join(record for _, record in whole))
    result = _rows(spec, parsed, lambda: whole)
    dead = {place: broken[number] for place, (number, _) in enumerate(records) if number in broken}
    letters = letters_of(dead, records)
    return TextResult(result.batch, sorted([*result.letters, *letters], key=lambda letter: letter.row))


def _numbered(options: Options, text: bytes) -> list[tuple[int, bytes]]:
    """The records that are not blank, each with its number among all."""
    return [(number, record) for number, record in enumerate(split_records(options, text)) if record]


def _broken(options: Options, record: bytes) -> str | None:
    """Why a record cannot be given to the parser."""
    if not is_utf8(record):
        return "not valid UTF-8"
    if closed_pattern(options).fullmatch(record):
        return None
    if b"\r" in record:
        return "a quote is not closed, or a carriage return stands in a value without quotes"
    return "a quote is not closed" + ("" if options.multiline else " on its line (see option multiline)")


def _parse_lines(options: Options, columns: Layout, text: bytes) -> Parsed | None:
    """The fast way, or None where the parser may see other lines than we do: then they are looked at singly."""
    if options.multiline or not is_utf8(text) or text.count(b"\r") != text.count(b"\r\n"):
        return None
    parsed = _parse(options, columns, text)
    if not options.quote or options.quote.encode() not in text:
        return parsed
    # A quote that is open at the end of its line swallows the next line, if there is one.
    last = text[text.rstrip(b"\r\n").rfind(b"\n") + 1 :].rstrip(b"\r\n")
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    return parsed if parsed.records == lines and closed_pattern(options).fullmatch(last) else None


def _parse(options: Options, columns: Layout, text: bytes) -> Parsed:
    """Run pyarrow's parser, over one block so that records come in order and arrays in one piece."""
    names = [str(place) for place in range(columns.width)]
    wanted = [names[place] for place in columns.places]
    if not text:
        return Parsed(pa.table({name: pa.array([], pa.string()) for name in wanted}), {})
    wrong: dict[int, str] = {}

    def skip(row: csv.InvalidRow) -> str:
        wrong[row.number - 1] = f"{row.actual_columns} values where {row.expected_columns} are expected"
        return "skip"

    # The parser would take a mark at its beginning away; behind a blank line it stays what it is, a part of a value.
    # An empty value at the very end it would take for a quoted one.
    before = b"\n" if text.startswith(BYTE_ORDER_MARK) else b""
    after = b"" if text.endswith(b"\n") else b"\n"
    table = csv.read_csv(
        pa.BufferReader(before + _doubled(options, text) + after),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 2),
        _parsing(options, skip),
        csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=options.null == "",
        ),
    )
    return Parsed(table, wrong)


def _rows(spec: StreamSpec, parsed: Parsed, records: Callable[[], list[tuple[int, bytes]]]) -> TextResult:
    """Turn texts into values; the records themselves are only looked for when there are dead letters."""
    options = options_of(spec)
    texts = [_without_nulls(options, combined(column)) for column in parsed.columns.itercolumns()]
    columns = [
        Values(*parse(column, type_, options.timestamp_format), given=column)
        for column, type_ in zip(texts, spec.schema.types, strict=True)
    ]
    batch, reasons = good_rows(spec.schema, columns)
    if not reasons and not parsed.wrong:
        return TextResult(batch, ())
    numbered = records()
    right = [place for place in range(parsed.records) if place not in parsed.wrong]
    dead = {**parsed.wrong, **{right[row]: reason for row, reason in reasons.items()}}
    return TextResult(batch, letters_of(dead, numbered))


def _without_nulls(options: Options, texts: pa.Array) -> pa.Array:
    if not options.null:
        return texts
    return pc.if_else(pc.equal(texts, options.null), None, texts)


def _parsing(options: Options, skip: object = None) -> csv.ParseOptions:
    return csv.ParseOptions(
        delimiter=options.delimiter, quote_char=options.quote or False, double_quote=True, invalid_row_handler=skip
    )


def _doubled(options: Options, text: bytes) -> bytes:
    """Within quotes, quotes behind an escape as doubled quotes, which the parser knows."""
    quote, escape = options.quote.encode(), options.escape.encode()
    if not quote or escape in (b"", quote) or escape not in text:
        return text
    escapes = re.compile(b"(%s+)%s" % (re.escape(escape), re.escape(quote)))

    def double(match: re.Match[bytes]) -> bytes:
        pairs, single = divmod(len(match[1]), 2)
        return escape * pairs + quote * (1 + single)

    return quoted_pattern(options).sub(lambda match: escapes.sub(double, match.group()), text)
