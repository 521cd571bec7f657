"""Windows as written in brackets after an input, or in a WINDOW clause after a query."""

from __future__ import annotations

from dataclasses import dataclass

from sash.plan.windows import SHAPES, Measure, RangeWindow, UnboundedWindow, WindowShape
from sash.sql.syntax.cursor import Cursor
from sash.sql.syntax.durations import duration
from sash.sql.syntax.text_positions import Name, Place, fault

FORMS = f"windows are: {', '.join(example for shape in SHAPES for example in shape.examples)}"


@dataclass(frozen=True)
class WindowClause:
    """A window whose columns are still names."""

    place: Place
    shape: type[WindowShape]
    size: int = 0
    slide: int = 0
    partition: tuple[Name, ...] = ()


def bracketed_window(cursor: Cursor) -> WindowClause:
    """Take `[ ... ]`; the cursor is at the bracket."""
    start = cursor.index
    cursor.expect("[")
    partition = _partition(cursor)
    shape, size, slide = _extent(cursor)
    if not cursor.accept("]"):
        raise fault(cursor.current or cursor.last, "this window does not end here as it should", FORMS)
    return _checked(WindowClause(_from(cursor, start), shape, size, slide, partition))


def trailing_window(cursor: Cursor) -> WindowClause:
    """Take `WINDOW length [SLIDE length]`; the cursor is at the key word."""
    start = cursor.index
    cursor.expect("WINDOW")
    size = duration(cursor)
    slide = duration(cursor) if cursor.accept("SLIDE") else 0
    return _checked(WindowClause(_from(cursor, start), RangeWindow, size, slide))


def _partition(cursor: Cursor) -> tuple[Name, ...]:
    if not cursor.accept("PARTITION BY"):
        return ()
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    return tuple(names)


def _extent(cursor: Cursor) -> tuple[type[WindowShape], int, int]:
    if cursor.accept("RANGE", "UNBOUNDED"):
        return UnboundedWindow, 0, 0
    for shape in SHAPES:
        if cursor.accept(*shape.words.split()):
            size = _measured(cursor, shape.measure)
            return shape, size, _measured(cursor, shape.measure) if shape.can_slide and cursor.accept("SLIDE") else 0
    raise fault(cursor.current or cursor.last, "this is not a window", FORMS)


def _measured(cursor: Cursor, measure: Measure) -> int:
    if measure is Measure.NOTHING:
        return 0
    return duration(cursor) if measure is Measure.TIME else _rows(cursor)


def _rows(cursor: Cursor) -> int:
    count = cursor.number("a number of rows")
    if count != int(count) or not 0 < count < 2**31:
        raise fault(cursor.last, "a number of rows must be a whole number above zero")
    return int(count)


def _from(cursor: Cursor, start: int) -> Place:
    return Place(cursor.tokens[start].start, cursor.last.end + 1)


def _checked(window: WindowClause) -> WindowClause:
    if window.partition and not window.shape.can_partition:
        raise fault(window.place, f"PARTITION BY needs a window of {_partitioned()}", "write [PARTITION BY k ROWS 10]")
    if window.partition and window.slide:
        raise fault(window.place, "PARTITION BY with SLIDE is not supported yet")
    if window.slide and window.size % window.slide:
        raise fault(window.place, "the size of a window must be a multiple of its SLIDE")
    return window


def _partitioned() -> str:
    return " or ".join(shape.words for shape in SHAPES if shape.can_partition)
