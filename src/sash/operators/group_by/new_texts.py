"""The texts that one step of a GROUP BY makes: they have numbers below zero until they are interned at its end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.deltas import Delta, Int64s
from sash.kernels.bundles import Bundle
from sash.operators.group_by.groups import Groups
from sash.operators.group_by.kernels.groups import TextRoom
from sash.operators.group_by.kernels.texts import TEXT_CALL, TEXT_COLUMNS, TEXT_END, TEXT_GROUP
from sash.operators.group_by.opcodes import CALL_CELL, CALL_LANE
from sash.operators.group_by.tables import GroupTables
from sash.operators.group_by.user_calls import LIST_COLUMNS, UserCall
from sash.stores.interner import Interner

FIRST_TEXTS, FIRST_BYTES = 256, 16384


class NewTexts:
    """A list of texts and a buffer of their bytes, for one step; both are empty for a GROUP BY without texts."""

    def __init__(self, tables: GroupTables, users: Mapping[int, UserCall]) -> None:
        self._tables = tables
        self._users = users
        self._has_texts = len(tables.text_calls) > 0
        self._count = np.zeros(1, np.int64)
        self._list, self._buffer = _room(self._has_texts)
        self.bundle = Bundle(TextRoom, self._list, self._count, self._buffer)

    def start(self) -> None:
        """For another step."""
        if self._has_texts:
            self._count[0] = 0
            if len(self._list) > FIRST_TEXTS:
                self._list, self._buffer = _room(True)
                self.bundle.replace(made=self._list, buffer=self._buffer)

    def grow(self) -> None:
        self._list = np.concatenate([self._list, np.zeros_like(self._list)])
        self._buffer = np.concatenate([self._buffer, np.empty_like(self._buffer)])
        self.bundle.replace(made=self._list, buffer=self._buffer)

    def settled(self, out: Delta, groups: Groups, interner: Interner) -> Delta:
        """The changes of the step with codes in place of numbers, without pairs of rows that are equal after all."""
        count = self._count.item()
        if count:
            codes = interner.encode(self._made_by_users(count) if self._users else self._written(count))
            self._enter(codes, groups)
            for lane in self._tables.calls[self._tables.text_calls, CALL_LANE]:
                numbers = out.rows[:, lane]
                out.rows[:, lane] = np.where(numbers < 0, codes[np.maximum(-numbers, 1) - 1], numbers)
            out = _without_pairs(out)
        for user in self._users.values():
            user.write_results(out)
        return out

    def _written(self, count: int) -> pa.Array:
        """The texts as the kernel wrote them."""
        ends = np.ascontiguousarray(self._list[: count + 1, TEXT_END])
        return pa.Array.from_buffers(pa.large_binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(self._buffer)])

    def _made_by_users(self, count: int) -> pa.Array:
        texts = []
        for place in range(1, count + 1):
            call, group = self._list[place, TEXT_CALL], self._list[place, TEXT_GROUP]
            data = self._buffer[self._list[place - 1, TEXT_END] : self._list[place, TEXT_END]].tobytes()
            user = self._users.get(int(call))
            if user is None:
                texts.append(data)
            else:
                texts.append(user.text(int(group), np.frombuffer(data, np.int64).reshape(-1, LIST_COLUMNS)).encode())
        return pa.array(texts, pa.large_binary())

    def _enter(self, codes: Int64s, groups: Groups) -> None:
        """Codes in place of numbers in the groups; a group may have another text by now, or be another group."""
        made, numbers = self._list[1 : len(codes) + 1], -np.arange(1, len(codes) + 1)
        calls = self._tables.calls[made[:, TEXT_CALL]]
        for values, column in ((groups.cells, CALL_CELL), (groups.lines, CALL_LANE)):
            is_last = values[made[:, TEXT_GROUP], calls[:, column]] == numbers
            values[made[is_last, TEXT_GROUP], calls[is_last, column]] = codes[is_last]


def _room(has_texts: bool) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    texts, size = (FIRST_TEXTS, FIRST_BYTES) if has_texts else (0, 0)
    return np.zeros((texts, TEXT_COLUMNS), np.int64), np.empty(size, np.uint8)


def _without_pairs(out: Delta) -> Delta:
    is_pair = (out.weight[:-1] < 0) & (out.weight[1:] > 0) & (out.ts[:-1] == out.ts[1:])
    is_pair &= (out.rows[:-1] == out.rows[1:]).all(axis=1)
    is_kept = ~(np.append(is_pair, False) | np.insert(is_pair, 0, False))
    return out if is_kept.all() else out.take(is_kept)
