"""Windows with an index behind one interface: what the paper compares, and Sash's own structure beside it.

    CountedStore    how often every value is in the window: LIST, AGGR or HASH basic windows, with an L-, T- or H-index or none
    GroupStore      the same by ranges, approximately: GROUP basic windows with a G-index
    RingStore       the tuples of every value: RING, AUX, BW, DB, ROWS over an L- or T-index

A tuple that is inserted shows when its basic window is closed, and is gone when so many more have been closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from experiments.window_indexes.kernels import basic_windows, groups, rings
from experiments.window_indexes.kernels import index as indexes
from sash.deltas import Int64s
from sash.errors import SashError
from sash.kernels.bundles import Bundle


@dataclass(frozen=True)
class IndexShape:
    """`buckets` of lists, or a tree; `parts` of a split index; purged every so many tuples, or by a list of what is at zero."""

    name: str
    is_tree: bool = False
    buckets: int = 1
    parts: int = 1
    purge_every: int = 20_000
    has_zero_list: bool = False


L_INDEX, T_INDEX, H_INDEX = IndexShape("L"), IndexShape("T", is_tree=True), IndexShape("H", buckets=100)


@dataclass(frozen=True)
class WindowShape:
    """How a basic window keeps its tuples."""

    name: str
    is_counted: bool = False
    buckets: int = 1


LIST, AGGR, HASH = WindowShape("LIST"), WindowShape("AGGR", True), WindowShape("HASH", True, 5)


@dataclass(frozen=True)
class Room:
    """What arrays are made for: basic windows, tuples of all that are kept and the open one, values, sides."""

    windows: int
    tuples: int
    values: int
    sides: int = 1


class WindowStore(ABC):
    """One window, or two over one index."""

    @abstractmethod
    def insert(self, values: Int64s, payloads: Int64s, side: int = 0) -> None:
        """Tuples into the open basic window."""

    @abstractmethod
    def close(self, side: int = 0) -> None:
        """The open basic window is full."""

    @abstractmethod
    def histogram(self, side: int = 0) -> dict[int, int]:
        """Values, or numbers of groups, with their counts, in order."""

    @abstractmethod
    def live(self) -> tuple[int, int]:
        """Tuples or items and nodes that are held."""

    @abstractmethod
    def purge(self) -> None:
        """Forget values that nobody has, now."""


def index_bundle(shape: IndexShape, nodes: int, parts: int) -> tuple[Bundle, Int64s]:
    """And its registers."""
    options = np.zeros(indexes.INDEX_OPTIONS, np.int64)
    options[indexes.IS_TREE], options[indexes.BUCKETS] = shape.is_tree, shape.buckets
    options[indexes.PURGE_EVERY] = shape.purge_every
    registers, heads = np.zeros(indexes.INDEX_REGISTERS, np.int64), np.zeros(parts * shape.buckets, np.int64)
    lines, stack = np.zeros((nodes + 1, indexes.NODE_LANES), np.int64), np.zeros(indexes.DEEPEST, np.int64)
    return Bundle(indexes.Index, options, registers, heads, lines, stack), registers


class CountedStore(WindowStore):
    """`index` is None where the window is kept without one: then a histogram sorts it."""

    def __init__(self, window: WindowShape, index: IndexShape | None, room: Room) -> None:
        shape = index or L_INDEX
        parts = shape.parts + (shape.parts > 1)
        options = np.zeros(basic_windows.WINDOW_OPTIONS, np.int64)
        options[basic_windows.LENGTH], options[basic_windows.IS_COUNTED] = room.windows, window.is_counted
        options[basic_windows.ITEM_BUCKETS], options[basic_windows.HAS_INDEX] = window.buckets, index is not None
        options[basic_windows.PARTS], options[basic_windows.HAS_ZERO_LIST] = shape.parts, shape.has_zero_list
        self._index, self._window = index, window
        self._registers = np.zeros((2, basic_windows.WINDOW_REGISTERS), np.int64)
        nodes, self._nodes = index_bundle(shape, room.values * parts, parts)
        heads = np.zeros((room.sides, (room.windows + 1) * window.buckets), np.int64)
        items = np.zeros((room.sides * room.tuples + 1, basic_windows.ITEM_LANES), np.int64)
        self._windows = Bundle(basic_windows.Windows, options, self._registers, heads, items, nodes)
        most = max(room.tuples, room.values * parts) + 1
        self._values, self._counts, self._sizes = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(1, np.int64)
        runs = np.zeros(most + len(heads[0]) + parts * shape.buckets, np.int64)
        spare = np.zeros((2, most), np.int64)
        self._answer = Bundle(
            basic_windows.Answer, self._values, self._counts, spare[0], spare[1], runs, self._sizes
        )

    def insert(self, values: Int64s, payloads: Int64s, side: int = 0) -> None:
        basic_windows.insert(values, side, self._windows.record)

    def close(self, side: int = 0) -> None:
        basic_windows.close(side, self._windows.record)

    def histogram(self, side: int = 0) -> dict[int, int]:
        query = basic_windows.HISTOGRAM if self._index else basic_windows.SORT
        basic_windows.ask(query, side, self._windows.record, self._answer.record)
        return dict(zip(*self._found(), strict=True))

    def intersection(self) -> set[int]:
        """Values of both windows."""
        basic_windows.ask(basic_windows.INTERSECT, 0, self._windows.record, self._answer.record)
        return set(self._found()[0])

    def advance(self, values: Int64s, size: int, query: int) -> None:
        """A line of values for every side, in basic windows of so many tuples."""
        basic_windows.advance(values, size, query, self._windows.record, self._answer.record)

    @property
    def steps(self) -> int:
        return int(basic_windows.steps(self._windows.record))

    def live(self) -> tuple[int, int]:
        return int(self._registers[0, basic_windows.LIVE_ITEMS]), int(self._nodes[indexes.LIVE_NODES])

    def purge(self) -> None:
        basic_windows.purge_now(self._windows.record)

    def _found(self) -> tuple[list[int], list[int]]:
        count = int(self._sizes[0])
        return self._values[:count].tolist(), self._counts[:count].tolist()


class GroupStore(WindowStore):
    """So many ranges of values below `top`, of one width."""

    def __init__(self, count: int, top: int, room: Room) -> None:
        self.bounds: Int64s = np.array([top * (group + 1) // count for group in range(count)], np.int64)
        self.bounds[-1] = 2**62
        self._registers = np.zeros((2, groups.GROUP_REGISTERS), np.int64)
        self._index = np.zeros((room.sides, count), np.int64)
        self._counts = np.zeros((room.sides * (room.windows + 1), count), np.int64)
        self._found = np.zeros(count, np.int64)
        self._groups = Bundle(groups.Groups, self._registers, self.bounds, self._counts, self._index, self._found)

    def insert(self, values: Int64s, payloads: Int64s, side: int = 0) -> None:
        groups.insert_groups(values, side, self._groups.record)

    def close(self, side: int = 0) -> None:
        groups.close_groups(side, self._groups.record)

    def histogram(self, side: int = 0) -> dict[int, int]:
        return {group: count for group, count in enumerate(self._index[side].tolist()) if count}

    def intersection(self) -> set[int]:
        """Groups that both windows have values of."""
        return set(self._found[: groups.intersect_groups(self._groups.record)].tolist())

    def advance(self, values: Int64s, size: int, is_asked: bool) -> None:
        groups.advance_groups(values, size, is_asked, self._groups.record)

    @property
    def steps(self) -> int:
        return int(self._registers[0, groups.GROUP_STEPS])

    def live(self) -> tuple[int, int]:
        return int(self._counts.sum()), int(np.count_nonzero(self._index))

    def purge(self) -> None:
        """Groups are there for good."""


class RingStore(WindowStore):
    """`form` is one of those that `kernels/rings.py` draws."""

    def __init__(self, form: int, index: IndexShape, room: Room) -> None:
        if index.buckets != 1 or index.parts != 1:
            raise SashError("rings are read in the order of values", "take one list or one tree")
        self.form = form
        options = np.array([form, room.windows], np.int64)
        self._registers = np.zeros(rings.RING_REGISTERS, np.int64)
        nodes, self._nodes = index_bundle(index, 2 * room.values, rings.INDEX_PARTS)
        lines = 1 << (room.tuples + room.values).bit_length()
        slots, tuples = np.zeros(room.windows + 2, np.int64), np.zeros((lines, rings.TUPLE_LANES), np.int64)
        self.times = np.zeros((room.tuples + 1, rings.TIMES), np.int64)
        self._payloads, self._values = np.zeros(room.tuples + 1, np.int64), np.zeros(room.tuples + 1, np.int64)
        self._rings = Bundle(
            rings.Rings, options, self._registers, slots, slots.copy(), tuples, nodes, self.times, self._payloads, self._values
        )

    def insert(self, values: Int64s, payloads: Int64s, side: int = 0) -> None:
        rings.insert_tuples(values, payloads, self._rings.record)

    def close(self, side: int = 0) -> None:
        rings.close_tuples(self._rings.record)

    def sorted_tuples(self) -> list[tuple[int, int]]:
        """Value and payload of all tuples, in the order of values."""
        return self._found(rings.read_all(self._rings.record))

    def tuples_of(self, value: int) -> list[int]:
        return [payload for _, payload in self._found(rings.read_value(value, self._rings.record))]

    def histogram(self, side: int = 0) -> dict[int, int]:
        found: dict[int, int] = {}
        for value, _ in self.sorted_tuples():
            found[value] = found.get(value, 0) + 1
        return found

    def advance(self, values: Int64s, payloads: Int64s, size: int, is_asked: bool) -> None:
        rings.advance_tuples(values, payloads, size, is_asked, self._rings.record)

    @property
    def steps(self) -> int:
        return int(self._nodes[indexes.STEPS] + self._registers[rings.RING_STEPS])

    def live(self) -> tuple[int, int]:
        if self.form == rings.ROWS:
            held = int(self._registers[rings.TAIL] - self._registers[rings.OLDEST])
        else:
            held = int(self._registers[rings.LIVE_TUPLES])
        return held, int(self._nodes[indexes.LIVE_NODES])

    def purge(self) -> None:
        rings.purge_now(self._rings.record)

    def _found(self, count: int) -> list[tuple[int, int]]:
        return list(zip(self._values[:count].tolist(), self._payloads[:count].tolist(), strict=True))
