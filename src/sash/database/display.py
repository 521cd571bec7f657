"""Tables as people read them: aligned text for a terminal, and HTML for a notebook.

What is shown comes from data, so it is made harmless first: characters that a terminal would obey are escaped in text, and
everything is escaped in HTML. NULL is written out; a string that reads so, or that would not be seen, is in quotes.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from html import escape

import pyarrow as pa

from sash.errors import harmless

ROWS = 20  # that are shown of a long table
WIDTH = 40  # characters of a value
LINE = 120  # characters of a line
GAP = "  "
NULL = "NULL"


@dataclass(frozen=True)
class Cell:
    """A value as text."""

    text: str
    is_null: bool = False


@dataclass(frozen=True)
class Shown:
    """The part of a table that is shown."""

    names: list[str]
    columns: list[list[Cell]]
    are_numbers: list[bool]
    rows_left: int

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        return list(zip(*self.columns, strict=True))


def text_of(table: pa.Table, title: str, most: int | None = ROWS) -> str:
    """Title, names, rows, and what was left out."""
    shown = _shown(table, most)
    widths = [_widest(name, cells) for name, cells in zip(shown.names, shown.columns, strict=True)]
    count = _fitting(widths)
    sides = list(zip(widths, shown.are_numbers, strict=True))[:count]
    lines = [_line(shown.names, sides), _line(["─" * width for width in widths], sides)] if count else []
    lines += [_line([cell.text for cell in row], sides) for row in shown.rows]
    left = [f"… {shown.rows_left:,} more rows"] if shown.rows_left else []
    left += [_cut(f"… {len(widths) - count} more columns: {', '.join(shown.names[count:])}", LINE)] if count < len(widths) else []
    return "\n".join(line.rstrip() for line in [title, *lines, *left])


def row_texts(batch: pa.RecordBatch) -> list[list[str]]:
    """The values of rows as texts, each as it is in a table."""
    columns = [[_cell(value, WIDTH).text for value in column.to_pylist()] for column in batch.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def html_of(table: pa.Table, title: str, most: int | None = ROWS) -> str:
    """A table in HTML; nothing in it is anything but text."""
    shown = _shown(table, most)
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.names)
    sides = ['<td style="text-align: right">' if is_number else "<td>" for is_number in shown.are_numbers]
    rows = ["".join(f"{side}{_html(cell)}</td>" for side, cell in zip(sides, row, strict=True)) for row in shown.rows]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    left = f"<p>… {shown.rows_left:,} more rows</p>" if shown.rows_left else ""
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left}"


def _shown(table: pa.Table, most: int | None) -> Shown:
    first = table if most is None else table.slice(0, most)
    widest = WIDTH if table.num_columns > 1 else None
    cells = [[_cell(value, widest) for value in column.to_pylist()] for column in first.columns]
    names = [harmless(name) for name in table.column_names]
    return Shown(names, cells, [_is_number(field.type) for field in table.schema], table.num_rows - first.num_rows)


def _cell(value: object, widest: int | None) -> Cell:
    if value is None:
        return Cell(NULL, is_null=True)
    text = harmless(value if isinstance(value, str) else str(value))
    if isinstance(value, str) and (text == NULL or text != text.strip() or not text):
        text = f"'{text}'"
    return Cell(text if widest is None else _cut(text, widest))


def _cut(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _widest(name: str, cells: list[Cell]) -> int:
    return max(map(width_of, [name, *(cell.text for cell in cells)]))


def width_of(text: str) -> int:
    """In columns of a terminal: some characters take two, some none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return len(text) + wide - sum(unicodedata.combining(one) > 0 for one in text)


def _fitting(widths: list[int]) -> int:
    """How many columns have room in a line; one has always."""
    used, count = 0, 0
    for width in widths:
        used += width + len(GAP)
        if count and used > LINE:
            break
        count += 1
    return count


def _line(texts: list[str], sides: list[tuple[int, bool]]) -> str:
    return GAP.join(
        (" " * (width - width_of(text)) + text) if is_number else (text + " " * (width - width_of(text)))
        for text, (width, is_number) in zip(texts, sides, strict=False)
    )


def _html(cell: Cell) -> str:
    return f"<em>{NULL}</em>" if cell.is_null else escape(cell.text)
