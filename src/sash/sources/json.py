"""JSON lines: one object a line, its keys spelled as the columns are, or where paths lead; a missing key is NULL.

pyarrow reads a whole piece when every value is of its column's kind. If it cannot, every line is read by itself,
and numbers keep the digits they were written with. A value has to be of the column's own kind: "12" is no BIGINT. A
TIMESTAMP is a string or a number of seconds since the epoch, a DECIMAL a number or a string, a DOUBLE also one of the
strings "NaN", "Infinity" and "-Infinity", as JSON has no such numbers; a number or a truth value may be a STRING.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from sash.plan.streams import StreamSpec
from sash.scalar.arrays import combined
from sash.schema import Field, Kind, Type
from sash.sources.json_places import arrow_schema, column_at, keys_of, value_at
from sash.sources.lines import split_lines
from sash.sources.options import options_of
from sash.sources.result import TextResult, Values, array_values, good_rows, letters_of
from sash.sources.text import SECONDS, from_seconds, is_utf8, parse


class Number(str):
    """A number as it is written."""


NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_DIGITS, _LONG = bytes.maketrans(b"123456789.", b"0000000000"), b"0" * 39
_decode = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number).decode


def read_json(spec: StreamSpec, text: bytes) -> TextResult:
    """The rows of whole lines; dead letters count the lines from 0."""
    columns = _read_whole(spec, text)
    if columns is None:
        return read_objects(spec, _numbered(text))
    batch, reasons = good_rows(spec.schema, columns)
    return TextResult(batch, letters_of(reasons, _numbered(text)) if reasons else ())


def _read_whole(spec: StreamSpec, text: bytes) -> list[Values] | None:
    """The fast way: all lines at once, or None where some line needs a closer look."""
    table = _parsed(spec, text)
    fields = zip(spec.schema.fields, keys_of(spec), strict=True)
    try:
        return None if table is None else [_values(spec, column_at(table, keys), field.type) for field, keys in fields]
    except pa.ArrowInvalid:  # a number that no column of its type holds
        return None


def _parsed(spec: StreamSpec, text: bytes) -> pa.Table | None:
    objects = _objects_a_line(text)
    if objects is None or not is_utf8(text) or b"NaN" in text or b"Inf" in text:
        return None
    # Text for dates; for a second try, exact numbers.
    times = (pa.string(),) if options_of(spec).timestamp_format else (pa.string(), _wide(SECONDS))
    for time in times:
        raw = [_raw(type_, time) for type_ in spec.schema.types]
        schema = arrow_schema(list(zip(keys_of(spec), raw, strict=True)))
        if schema is None or (_has_decimals(raw) and _has_long_numeral(text)):
            return None
        try:
            table = _parse(text, schema)
        except pa.ArrowInvalid:
            continue
        return table if len(table) == objects else None  # else two objects stand on a line, or one on two lines
    return None


def _objects_a_line(text: bytes) -> int | None:
    """How many objects there are, if every line, but for blank ones, begins and ends as one does.

    No object goes on behind a "}" at the end of a line with a "{" on the next, so then it is enough to count the objects. Other
    things are not for pyarrow: a null in the place of an object ends the process.
    """
    starts, lines = text.count(b"\n{") + text.startswith(b"{"), text.count(b"\n") + (not text.endswith(b"\n"))
    stops = text.count(b"}\n") + (text.count(b"}\r\n") if b"\r" in text else 0) + text.endswith(b"}")
    return starts if 0 < starts == stops and (lines == starts or len(_numbered(text)) == starts) else None


def _parse(text: bytes, schema: pa.Schema) -> pa.Table:
    return arrow_json.read_json(
        pa.BufferReader(text),
        arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )


def _raw(type_: Type, time: pa.DataType) -> pa.DataType:
    """The type as which pyarrow reads a column."""
    if type_.element is not None:
        return pa.list_(_raw(type_.element, time))
    if type_.kind is Kind.TIMESTAMP:
        return time
    if type_.kind is Kind.DECIMAL:
        return _wide(type_.arrow)
    return pa.string() if type_.kind is Kind.DATE else type_.arrow


def _wide(decimal: pa.DataType) -> pa.DataType:
    """Decimals are read as wide ones and narrowed with a look at their size: of a number that is too large for a narrow one
    pyarrow makes another number."""
    return pa.decimal256(76, decimal.scale)


def _has_decimals(types: Sequence[pa.DataType]) -> bool:
    return any(pa.types.is_decimal(type_) or (pa.types.is_list(type_) and _has_decimals([type_.value_type])) for type_ in types)


def _has_long_numeral(text: bytes) -> bool:
    """Whether some numeral may have more digits than even a wide decimal holds."""
    return _LONG in text.translate(_DIGITS)


def _values(spec: StreamSpec, given: pa.Array, type_: Type) -> Values:
    if given.type == type_.arrow:
        return Values(given, np.zeros(len(given), np.bool_), given)
    if pa.types.is_decimal256(given.type):
        narrow = given.cast(SECONDS if type_.kind is Kind.TIMESTAMP else type_.arrow)
        return Values(*from_seconds(narrow), given) if type_.kind is Kind.TIMESTAMP else _values(spec, narrow, type_)
    if type_.element is not None:
        return array_values(given, _values(spec, combined(given.flatten()), type_.element), type_, given)
    return Values(*parse(given, type_, options_of(spec).timestamp_format), given)


def _numbered(text: bytes) -> list[tuple[int, bytes]]:
    """The lines that are not blank, each with its number among all."""
    return [(number, line) for number, line in enumerate(split_lines(text)) if line.strip()]


def read_objects(spec: StreamSpec, lines: Sequence[tuple[int, bytes]]) -> TextResult:
    """The objects that lines are, each by itself; a line comes with its number among all."""
    objects: dict[int, Mapping[str, object]] = {}
    reasons: dict[int, str] = {}
    for place, (_, line) in enumerate(lines):
        found = _object(line)
        if isinstance(found, str):
            reasons[place] = found
        else:
            objects[place] = found
    fields = zip(spec.schema.fields, keys_of(spec), strict=True)
    columns = [_column(spec, field, [value_at(row, keys) for row in objects.values()]) for field, keys in fields]
    batch, wrong = good_rows(spec.schema, columns)
    places = list(objects)
    reasons.update({places[row]: reason for row, reason in wrong.items()})
    return TextResult(batch, letters_of(reasons, lines))


def _object(line: bytes) -> Mapping[str, object] | str:
    """The object on a line, or what is wrong with it."""
    try:
        value = _decode(line.decode().strip())
    except UnicodeDecodeError:
        return "not valid UTF-8"
    except json.JSONDecodeError as error:
        return f"not valid JSON: {error.msg} at character {error.pos + 1}"
    except RecursionError:
        return "not valid JSON: nested too deeply"
    return value if isinstance(value, dict) else "not a JSON object"


def _column(spec: StreamSpec, field: Field, given: list[object]) -> Values:
    if field.type.element is not None:
        return _array_column(spec, Field(field.name, field.type.element), given, field.type)
    texts = [_text(value, field.type.kind) for value in given]
    refused = np.array([text is None and value is not None for text, value in zip(texts, given, strict=True)], np.bool_)
    read, failed = parse(pa.array(texts, pa.string()), field.type, options_of(spec).timestamp_format)
    return Values(read, failed | refused, given)


def _array_column(spec: StreamSpec, element: Field, given: list[object], type_: Type) -> Values:
    lists = [value if isinstance(value, list) else None for value in given]
    items = _column(spec, element, [item for value in lists for item in value or ()])
    places = pa.array([None if value is None else [0] * len(value) for value in lists], pa.list_(pa.int8()))
    found = array_values(places, items, type_, given)
    refused = np.array([value is not None and not isinstance(value, list) for value in given], np.bool_)
    return Values(found.read, found.failed | refused, given)


def _text(value: object, kind: Kind) -> str | None:
    """The text of a value, None where a column of the kind cannot hold it."""
    if isinstance(value, bool):
        return str(value).lower() if kind in (Kind.BOOLEAN, Kind.STRING) else None
    if isinstance(value, Number):
        return None if kind in (Kind.BOOLEAN, Kind.DATE) else str(value)
    if kind is Kind.DOUBLE and value in NO_NUMBERS:
        return str(value)
    if isinstance(value, str) and kind in (Kind.STRING, Kind.TIMESTAMP, Kind.DATE, Kind.DECIMAL):
        return value if value.isascii() or _is_unicode(value) else None
    return None


def _is_unicode(value: str) -> bool:
    """Whether a string has no half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
