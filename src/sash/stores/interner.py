"""The interner of a shard: strings in, codes out, and back.

Codes live as long as a store holds them. When the interner has doubled since the last look, in strings or in bytes, the holders
are asked which codes they still have; the others are forgotten, so its size follows the windows and not the length of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.kernels import strings
from sash.kernels.bundles import Bundle
from sash.stores.arena import Arena

Int64s = npt.NDArray[np.int64]
Holder = Callable[[], tuple[Int64s, Int64s]]  # rows, and the lanes of them that are codes

FIRST_CODES, FIRST_BYTES = 1024, 16384
SWEEP_BYTES = 1 << 20  # fewer are not worth a look
RECENT, SHORT = 1 << 14, 256  # strings of so many characters at most
MOST_BYTES = 2**31 - 1  # of a column of strings
CELL_BYTES = 8  # a look at so many codes that are held costs as much as so many bytes of new strings


class Interner:
    """All strings of a shard."""

    def __init__(self, arena: Arena) -> None:
        scope = arena.scope("interner")
        self._scope = scope
        self._registers = scope.array("registers", 8)
        self.starts = scope.array("starts", FIRST_CODES)
        self.lengths = scope.array("lengths", FIRST_CODES)
        self.heap = scope.array("heap", FIRST_BYTES, np.uint8)
        self._hashes = scope.array("hashes", FIRST_CODES)
        self._free = scope.array("free", FIRST_CODES)
        self._table = scope.array("table", 4 * FIRST_CODES)
        self.bundle = Bundle(strings.Strings, self.starts, self.lengths, self.heap)
        self._registers[strings.NEXT_CODE] = max(1, self._registers[strings.NEXT_CODE])
        self._recent: dict[str, int] = {}  # codes that were asked for one by one, since any was forgotten
        self._holders: dict[str, list[Holder]] = {}  # by owner
        self._owner, self._is_borrowed = "", False
        if not self._registers[strings.SWEEP_CODES]:
            self._sweep_later(0)

    @property
    def count(self) -> int:
        return int(self._registers[strings.LIVE_CODES])

    def encode(self, array: pa.Array) -> Int64s:
        """The code of every string; 0 for NULL."""
        if isinstance(array, pa.DictionaryArray):
            words = np.append(self.encode(array.dictionary), 0)
            places = pc.fill_null(array.indices.cast(pa.int64()), len(words) - 1)
            codes: Int64s = words[np.asarray(places)]
            return codes
        offsets, data = string_buffers(array)
        valid = np.asarray(array.is_valid()) if array.null_count else np.ones(len(array), np.bool_)
        codes = np.empty(len(array), np.int64)
        first = 0
        while True:
            first = strings.intern_strings(
                offsets, data, valid, first, codes, self._registers, self._table, self._hashes, self.starts, self.lengths,
                self._free, self.heap,
            )
            if first == strings.DONE:
                return codes
            self._grow(int(offsets[first + 1] - offsets[first]))

    def code(self, text: str) -> int:
        """The code of one string. Most of them come again soon, and most are short."""
        found = self._recent.get(text)
        if found is None:
            found = int(self.encode(pa.array([text.encode()], pa.binary()))[0])
            if len(self._recent) >= RECENT:
                self._recent.clear()
            if len(text) <= SHORT:
                self._recent[text] = found
        return found

    def decode(self, codes: Int64s) -> pa.Array:
        """The strings of codes; code 0 gives ''."""
        offsets, data = self._gathered(codes)
        if len(data) > MOST_BYTES:
            return _array(pa.large_string(), offsets, data).cast(pa.string())
        return _array(pa.string(), offsets.astype(np.int32), data)

    def decode_bytes(self, codes: Int64s) -> pa.Array:
        """The same for what is no text."""
        return _array(pa.large_binary(), *self._gathered(codes))

    def _gathered(self, codes: Int64s) -> tuple[Int64s, npt.NDArray[np.uint8]]:
        """Where the strings of codes begin, and their bytes."""
        offsets = np.zeros(len(codes) + 1, np.int64)
        np.cumsum(self.lengths[codes], out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        strings.gather_strings(codes, self.starts, self.lengths, self.heap, offsets, data)
        return offsets, data

    def hold(self, holder: Holder) -> None:
        """Ask this holder too, before anything is forgotten."""
        self._holders.setdefault(self._owner, []).append(holder)

    @contextmanager
    def owned(self, owner: str) -> Iterator[None]:
        """Holders that come meanwhile are this owner's, until `release`."""
        before, self._owner = self._owner, owner
        try:
            yield
        finally:
            self._owner = before

    def release(self, owner: str) -> None:
        """The stores of an owner are gone."""
        self._holders.pop(owner, None)

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Holders that come meanwhile are not asked later; nothing is forgotten meanwhile."""
        before, self._holders = self._holders, {}
        self._is_borrowed = True
        try:
            yield
        finally:
            self._holders, self._is_borrowed = before, False

    @property
    def holders(self) -> list[Holder]:
        return [holder for holders in self._holders.values() for holder in holders]

    @property
    def has_grown(self) -> bool:
        """Whether it is time to look which strings are still held."""
        at = self._registers.tolist()
        return bool(at[strings.LIVE_CODES] >= at[strings.SWEEP_CODES] or at[strings.HEAP_USED] >= at[strings.SWEEP_BYTES])

    def sweep(self, *, at_once: bool = False) -> None:
        """Forget what nobody holds, if there is much to win, or at once. Only between steps: deltas under way are not asked."""
        if self._is_borrowed:
            return
        self._scope.give_back()
        if not self.has_grown and not at_once:
            return
        registers = self._registers
        self._recent.clear()
        alive, cells = np.zeros(int(registers[strings.NEXT_CODE]), np.bool_), 0
        for holder in self.holders:
            rows, lanes = holder()
            cells += len(rows) * len(lanes)
            strings.mark_codes(rows, lanes, alive)
        alive[0] = False
        live = np.flatnonzero(alive)
        by_start = live[np.argsort(self.starts[live], kind="stable")]
        strings.forget_dead(alive, by_start, registers, self.starts, self.lengths, self._free, self.heap)
        strings.rebuild_table(self._table, self._hashes, alive)
        self._shrink()
        self._sweep_later(cells)

    def _sweep_later(self, cells: int) -> None:
        """When as much has come as the look at all that is held has cost, and as much as there is."""
        used = int(self._registers[strings.HEAP_USED])
        self._registers[strings.SWEEP_CODES] = max(8 * FIRST_CODES, 2 * self.count)
        self._registers[strings.SWEEP_BYTES] = used + max(SWEEP_BYTES, used, CELL_BYTES * cells)

    def _shrink(self) -> None:
        """A heap that is mostly empty goes to a smaller place."""
        used = int(self._registers[strings.HEAP_USED])
        if len(self.heap) > 4 * max(used, SWEEP_BYTES):
            self.heap = self._scope.shrink("heap", 2 * max(used, SWEEP_BYTES))
            self.bundle.replace(heap=self.heap)

    def _grow(self, length: int) -> None:
        registers = self._registers
        if registers[strings.HEAP_USED] + length > len(self.heap):
            self.heap = self._scope.resize("heap", 2 * len(self.heap) + length)
            self.bundle.replace(heap=self.heap)
        if registers[strings.NEXT_CODE] >= len(self.starts) and not registers[strings.FREE_CODES]:
            size = 2 * len(self.starts)
            self.starts, self.lengths = self._scope.resize("starts", size), self._scope.resize("lengths", size)
            self._hashes, self._free = self._scope.resize("hashes", size), self._scope.resize("free", size)
            self.bundle.replace(starts=self.starts, lengths=self.lengths)
        if 2 * (registers[strings.LIVE_CODES] + 1) > len(self._table):
            self._table = self._scope.resize("table", 2 * len(self._table))
            alive = np.ones(int(registers[strings.NEXT_CODE]), np.bool_)
            alive[self._free[: registers[strings.FREE_CODES]]] = False
            strings.rebuild_table(self._table, self._hashes, alive)


def _array(type_: pa.DataType, offsets: npt.NDArray[np.signedinteger[Any]], data: npt.NDArray[np.uint8]) -> pa.Array:
    return pa.Array.from_buffers(type_, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def string_buffers(array: pa.Array) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    """Offsets and bytes of an array of strings, or of bytes, as they lie in memory."""
    if not len(array):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, offsets, data = array.buffers()
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    width = np.int64 if is_large else np.int32
    places = np.frombuffer(offsets, width, len(array) + 1, array.offset * np.dtype(width).itemsize)
    return places.astype(np.int64), np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
