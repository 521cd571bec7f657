"""Windows as written in brackets after an input, or in a WINDOW clause after a query."""

from __future__ import annotations

from dataclasses import dataclass

from sash.plan.nodes import WindowKind
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.durations import duration
from sash.sql.syntax.text_positions import Name, Place, fault

FORMS = (
    "windows are: [RANGE 5 MINUTES], [RANGE 5 MINUTES SLIDE 1 MINUTE], [ROWS 100], [ROWS 100 SLIDE 10], "
    "[PARTITION BY k ROWS 10], [NOW], [UNBOUNDED]"
)


@dataclass(frozen=True)
class WindowClause:
    """A window whose columns are still names."""

    place: Place
    kind: WindowKind
    size: int = 0
    slide: int = 0
    partition: tuple[Name, ...] = ()


def bracketed_window(cursor: Cursor) -> WindowClause:
    """Take `[ ... ]`; the cursor is at the bracket."""
    start = cursor.index
    cursor.expect("[")
    partition = _partition(cursor)
    kind, size, slide = _extent(cursor)
    if not cursor.accept("]"):
        raise fault(cursor.current or cursor.last, "this window does not end here as it should", FORMS)
    return _checked(WindowClause(_from(cursor, start), kind, size, slide, partition))


def trailing_window(cursor: Cursor) -> WindowClause:
    """Take `WINDOW length [SLIDE length]`; the cursor is at the key word."""
    start = cursor.index
    cursor.expect("WINDOW")
    size = duration(cursor)
    slide = duration(cursor) if cursor.accept("SLIDE") else 0
    return _checked(WindowClause(_from(cursor, start), WindowKind.RANGE, size, slide))


def _partition(cursor: Cursor) -> tuple[Name, ...]:
    if not cursor.accept("PARTITION BY"):
        return ()
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    return tuple(names)


def _extent(cursor: Cursor) -> tuple[WindowKind, int, int]:
    if cursor.accept("NOW"):
        return WindowKind.NOW, 0, 0
    if cursor.accept("UNBOUNDED") or cursor.accept("RANGE", "UNBOUNDED"):
        return WindowKind.UNBOUNDED, 0, 0
    if cursor.accept("RANGE"):
        size = duration(cursor)
        return WindowKind.RANGE, size, duration(cursor) if cursor.accept("SLIDE") else 0
    if cursor.accept("ROWS"):
        rows = _rows(cursor)
        return WindowKind.ROWS, rows, _rows(cursor) if cursor.accept("SLIDE") else 0
    raise fault(cursor.current or cursor.last, "this is not a window", FORMS)


def _rows(cursor: Cursor) -> int:
    count = cursor.number("a number of rows")
    if count != int(count) or not 0 < count < 2**31:
        raise fault(cursor.last, "a number of rows must be a whole number above zero")
    return int(count)


def _from(cursor: Cursor, start: int) -> Place:
    return Place(cursor.tokens[start].start, cursor.last.end + 1)


def _checked(window: WindowClause) -> WindowClause:
    if window.partition and window.kind is not WindowKind.ROWS:
        raise fault(window.place, "PARTITION BY needs a window of ROWS", "write [PARTITION BY k ROWS 10]")
    if window.partition and window.slide:
        raise fault(window.place, "PARTITION BY with SLIDE is not supported yet")
    if window.slide and window.size % window.slide:
        raise fault(window.place, "the size of a window must be a multiple of its SLIDE")
    return window
