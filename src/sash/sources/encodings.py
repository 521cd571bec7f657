"""How a text file is written, told by its beginning: in which encoding, and how its lines end.

A file is UTF-8. Its lines end with a line feed, before which a carriage return may stand; where there is no line feed at all,
they end with carriage returns, as old Macs write them, and those are read as line feeds, also inside quotes. Offsets stay.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from sash.errors import SashError

LOOK = 1 << 20  # bytes from the beginning of a file: a longer first line is not looked through
STEP = 4096
MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip


class LineEnds(Enum):
    """What the lines of a file end with."""

    LINE_FEED = 0
    CARRIAGE_RETURN = 1

    def as_line_feeds(self, text: bytes) -> bytes:
        return text.replace(b"\r", b"\n") if self is LineEnds.CARRIAGE_RETURN else text


def line_ends(path: str, read: Callable[[int, int], bytes]) -> LineEnds:
    """How the lines of a file end; an error if it says that it is not UTF-8."""
    place, has_return = 0, False
    while place < LOOK:
        block = read(place, STEP if place == 0 else LOOK - place)
        if place == 0:
            _check_mark(path, block)
        if b"\n" in block:
            return LineEnds.LINE_FEED
        has_return = has_return or b"\r" in block
        if not block:
            break
        place += len(block)
    return LineEnds.CARRIAGE_RETURN if has_return else LineEnds.LINE_FEED


def _check_mark(path: str, block: bytes) -> None:
    for mark, encoding in MARKS.items():
        if block.startswith(mark):
            raise SashError(f'"{path}" is written in {encoding}', f"write it as UTF-8: iconv -f {encoding} -t UTF-8, for example")
