"""Arrays for work that leaves nothing behind: the same as a part of an arena, in plain memory."""

from __future__ import annotations

import numpy as np

from sash.stores.arena import Array, Scope


class Scratch(Scope):
    """Named arrays that are not part of the state of a shard."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def scope(self, name: str) -> Scope:
        return Scratch()

    def array(self, name: str, shape: tuple[int, ...] | int, dtype: type[np.generic] = np.int64) -> Array:
        return self._arrays.setdefault(name, np.zeros(shape, dtype))

    def resize(self, name: str, length: int) -> Array:
        old = self._arrays[name]
        new = np.zeros((length, *old.shape[1:]), old.dtype)
        kept = min(length, len(old))
        new[:kept] = old[:kept]
        self._arrays[name] = new
        return new

    def shrink(self, name: str, length: int) -> Array:
        return self.resize(name, length)

    def give_back(self) -> None:
        return
