"""The parts of a message's body, taken one after the other."""

from __future__ import annotations

import struct

from sash.serve.postgres.failures import WireError, bad_protocol


class Body:
    """What is short, or not text, is an error of the protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def text(self) -> str:
        """Up to the next NUL."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise bad_protocol("a text without an end")
        part, self._at = self._data[self._at : end], end + 1
        try:
            return part.decode()
        except UnicodeDecodeError:
            raise WireError("22021", "the text is not UTF-8") from None

    def int16(self) -> int:
        return self._number("!h", 2)

    def uint16(self) -> int:
        return self._number("!H", 2)

    def int32(self) -> int:
        return self._number("!i", 4)

    def uint32(self) -> int:
        return self._number("!I", 4)

    def bytes_(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise bad_protocol("a message that is shorter than it says")
        part, self._at = self._data[self._at : end], end
        return part

    def byte(self) -> bytes:
        return self.bytes_(1)

    def rest(self) -> bytes:
        part, self._at = self._data[self._at :], len(self._data)
        return part

    def int16s(self) -> list[int]:
        return [self.int16() for _ in range(self.uint16())]

    def _number(self, kind: str, size: int) -> int:
        (value,) = struct.unpack(kind, self.bytes_(size))
        return int(value)
