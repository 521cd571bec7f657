"""What a shard knows of the partitions of a stream: for each, the greatest timestamp so far, and how far its clock was advanced.

    name     text, one after the other
    numbers  where the name ends, the greatest ts, the clock that it was given: the stream's when it appeared, or a later one

A partition that appears starts at the clock that the stream has then: what is final stays final. All of it is in the arena.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sash.deltas import Int64s
from sash.schema import BEGINNING
from sash.stores.arena import Scope

NAME_END, GREATEST, ADVANCED = range(3)
ROOM = 16  # partitions at first
NAME_ROOM = 32  # bytes of a name, about


class PartitionClocks:
    """Clocks by the name of the partition."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._count = scope.array("count", 1)
        self._numbers = scope.array("numbers", (ROOM, 3))
        self._text = scope.array("names", ROOM * NAME_ROOM, np.uint8)
        text, ends = self._text.tobytes(), self._known[:, NAME_END].tolist()
        names = (text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False))
        self._places = {name: place for place, name in enumerate(names)}

    def __len__(self) -> int:
        return int(self._count[0])

    def least(self, delay: int) -> int:
        """The least clock; BEGINNING without a partition."""
        return int(self._clocks(delay).min()) if len(self) else BEGINNING

    def clocks(self, delay: int) -> dict[str, int]:
        return dict(zip(self._places, self._clocks(delay).tolist(), strict=True))

    def clock(self, name: str, delay: int) -> int:
        numbers = self._numbers[self._places[name]]
        return max(int(numbers[GREATEST]) - delay, int(numbers[ADVANCED]))

    def know(self, names: Iterable[str], clock: int) -> None:
        """These partitions are there; those that are new start at this clock."""
        for name in names:
            if name not in self._places:
                self._add(name, clock)

    def observe(self, name: str, greatest: int) -> None:
        numbers = self._numbers[self._places[name]]
        numbers[GREATEST] = max(int(numbers[GREATEST]), greatest)

    def advance(self, names: Iterable[str], clock: int) -> None:
        """No row before this clock will come any more in these partitions."""
        every = list(names)
        self.know(every, clock)
        places = [self._places[name] for name in every]
        self._numbers[places, ADVANCED] = np.maximum(self._numbers[places, ADVANCED], clock)

    def snapshot(self) -> dict[str, list[int]]:
        """All that is known, for one who knows nothing."""
        return dict(zip(self._places, self._known[:, GREATEST:].tolist(), strict=True))

    def merge(self, told: Mapping[str, Sequence[int]]) -> None:
        for name, (greatest, advanced) in told.items():
            self.advance([name], advanced)
            self.observe(name, greatest)

    @property
    def _known(self) -> Int64s:
        known: Int64s = self._numbers[: len(self)]
        return known

    def _clocks(self, delay: int) -> Int64s:
        return np.maximum(self._known[:, GREATEST] - delay, self._known[:, ADVANCED])

    def _add(self, name: str, clock: int) -> None:
        place, text = len(self), np.frombuffer(name.encode(), np.uint8)
        start = int(self._numbers[place - 1, NAME_END]) if place else 0
        if place == len(self._numbers):
            self._numbers = self._scope.resize("numbers", 2 * place)
        if start + len(text) > len(self._text):
            self._text = self._scope.resize("names", 2 * (start + len(text)))
        self._text[start : start + len(text)] = text
        self._numbers[place] = (start + len(text), BEGINNING, clock)
        self._places[name] = place
        self._count[0] += 1
