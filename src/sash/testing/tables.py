"""Changelogs as text: short enough to write by hand, plain enough to read when a test fails.

    + ann 1 @10            the row ('ann', 1) enters at second 10
    - 'Ann Lee' NULL @12   quotes keep blanks; NULL is a missing value; 'NULL' is the word

The columns say what the values are. The same changes as an Arrow table are what `sash run --output` writes: `_op` (+1
or -1), `_ts`, then the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from sash.errors import SashError, choices
from sash.schema import Schema, Type
from sash.testing.values import Row, Value, convert, instant, moment, order, show_instant

OP = "_op"
TS = "_ts"

_CHANGE = re.compile(r"""\s*([+-])\s+(.*?)\s*@\s*(\S[^@]*?)\s*$""", re.DOTALL)
_WORD = re.compile(r"""'((?:[^']|'')*)'|(\S+)""")


class Change(NamedTuple):
    """A row enters (op +1) or leaves (op -1) at an instant, in microseconds since the epoch."""

    op: int
    ts: int
    row: Row

    def __str__(self) -> str:
        return f"{'+' if self.op > 0 else '-'} {show_row(self.row)} @{show_instant(self.ts)}"


def changes(*lines: str, schema: Schema) -> list[Change]:
    """The changes that lines of text say, in their order; a line may also be a whole block of them."""
    split = [line for block in lines for line in block.splitlines() if line.strip()]
    return [_change(line, schema) for line in split]


def _change(line: str, schema: Schema) -> Change:
    found = _CHANGE.match(line)
    if found is None:
        raise SashError(f'"{line.strip()}" is not a change', "write it like: + ann 1 @10")
    sign, values, ts = found.groups()
    return Change(1 if sign == "+" else -1, instant(ts), _row(values, schema, line))


def rows(*lines: str, schema: Schema) -> list[Row]:
    """Rows that lines of text say: `ann 1`."""
    split = [line for block in lines for line in block.splitlines() if line.strip()]
    return [_row(line, schema, line) for line in split]


def _row(text: str, schema: Schema, line: str) -> Row:
    words = list(_WORD.finditer(text))
    if len(words) != len(schema):
        raise SashError(f'"{line.strip()}" has {len(words)} values', f"columns are: {schema}")
    return tuple(_value(word, field.type) for word, field in zip(words, schema.fields, strict=True))


def _value(word: re.Match[str], type_: Type) -> Value:
    quoted, bare = word.groups()
    if quoted is not None:
        return convert(quoted.replace("''", "'"), type_)
    return None if bare.upper() == "NULL" else convert(bare, type_)


def show_row(row: Row) -> str:
    """The values of a row as text, as `rows` reads them."""
    return " ".join(_show(value) for value in row)


def _show(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, tuple):
        return f"[{','.join(_show(item) for item in value)}]"  # type: ignore[arg-type]
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    if text.upper() == "NULL" or not text or re.search(r"[\s'@]", text):
        return "'" + text.replace("'", "''") + "'"
    return text


def show(changes: Iterable[Change]) -> str:
    """Changes as text, one a line, ready to be pasted into a test."""
    return "\n".join(str(change) for change in changes)


def in_order(changes: Iterable[Change]) -> list[Change]:
    """By instant, then departures before arrivals, then the full row."""
    return sorted(changes, key=lambda change: (change.ts, change.op, order(change.row)))


def to_arrow(changes: Sequence[Change], schema: Schema) -> pa.Table:
    """The Arrow table of a changelog."""
    columns = list(zip(*(change.row for change in changes), strict=True)) or [()] * len(schema)
    arrays = [pa.array([change.op for change in changes], pa.int8())]
    arrays.append(pa.array([moment(change.ts) for change in changes], pa.timestamp("us")))
    arrays += [pa.array(column, type_.arrow) for column, type_ in zip(columns, schema.types, strict=True)]
    return pa.table(arrays, names=[OP, TS, *schema.names])


def from_arrow(table: pa.Table) -> list[Change]:
    """The changes of an Arrow changelog, in its order."""
    if table.column_names[:2] != [OP, TS]:
        raise SashError(f"not a changelog: its columns are {choices(table.column_names)}", f"{OP} and {TS} come first")
    instants = table.column(TS).cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    columns = [column.to_pylist() for column in table.columns[2:]]
    values = zip(*columns, strict=True) if columns else ((),) * table.num_rows
    ops = table.column(OP).to_pylist()
    return [Change(op, ts, tuple(map(_plain, row))) for op, ts, row in zip(ops, instants, values, strict=True)]


def _plain(value: Any) -> Any:
    """Arrays as tuples, which can be counted."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value
