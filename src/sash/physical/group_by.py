"""GROUP BY as data: what the kernel is told, in small tables of integers.

A group is a line of cells: how many rows it has, then what its aggregates add up. Feeds say what an input row adds to
which cells, calls say how an output column is made from them; calls over one column share its feed:

    SUM(price), AVG(price), COUNT(*)   ->   one feed: (count, sum) of price          three calls
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.deltas import MASK_BITS, Int64s
from sash.logical.nodes import AggregateCall, Function
from sash.physical.specs import GroupBySpec
from sash.schema import Kind, Type

# Cells that every group has: rows, the next touched group, whether its row is shown, its tag in the hash table.
ROWS, LINK, SHOWN, TAG, FIRST_CELL = 0, 1, 2, 3, 4

# Feeds: what a value does to its group, and the cells that takes. A DOUBLE sum has its limbs elsewhere.
FEED_COUNT, FEED_EXACT, FEED_DOUBLE, FEED_EXTREME = 0, 1, 2, 3
CELLS = {FEED_COUNT: 1, FEED_EXACT: 4, FEED_DOUBLE: 5, FEED_EXTREME: 1}

# Calls: how an output column is made.
COUNT, SUM_INTEGER, SUM_DECIMAL, SUM_DOUBLE, AVG_INTEGER, AVG_DECIMAL, AVG_DOUBLE, EXTREME = 0, 1, 2, 3, 4, 5, 6, 7

# How values are ordered under MIN and MAX.
BY_INTEGER, BY_DOUBLE, BY_WIDE_DECIMAL, BY_STRING = 0, 1, 2, 3

# Columns of the tables. `*_MASK` and `*_BIT` are the lane and the bit that say NULL.
KEY_LANE, KEY_IS_DOUBLE, KEY_MASK, KEY_BIT, KEY_TO_MASK, KEY_TO_BIT, KEY_COLUMNS = 0, 1, 2, 3, 4, 5, 6
FEED_KIND, FEED_LANE, FEED_MASK, FEED_BIT, FEED_CELL, FEED_PART, FEED_COLUMNS = 0, 1, 2, 3, 4, 5, 6
CALL_KIND, CALL_CELL, CALL_LANE, CALL_MASK, CALL_BIT, CALL_PART, CALL_LANES = 0, 1, 2, 3, 4, 5, 6
CALL_FACTOR, CALL_LOW, CALL_HIGH, CALL_COLUMNS = 7, 8, 9, 10
EXTREME_ORDER, EXTREME_IS_MAX, EXTREME_CELL, EXTREME_COLUMNS = 0, 1, 2, 3


@dataclass(frozen=True)
class GroupTables:
    """What the kernel reads. `key_bits` has, for every mask lane of the output, the bits that belong to keys."""

    keys: Int64s  # a line for every lane of the key
    key_bits: Int64s
    feeds: Int64s
    calls: Int64s
    extremes: Int64s
    cells: int  # before the limbs of DOUBLE sums
    doubles: int  # how many DOUBLE sums there are
    string_extremes: tuple[int, ...]


def group_tables(spec: GroupBySpec) -> GroupTables:
    return _TableBuilder(spec).build()


class _TableBuilder:
    def __init__(self, spec: GroupBySpec) -> None:
        self.spec = spec
        self.input, self.output = spec.input.layout, spec.layout
        self.cells = FIRST_CELL
        self.doubles = 0
        self.feeds: list[list[int]] = []
        self.extremes: list[list[int]] = []
        self.summed = {call.argument for call in spec.calls if call.function in (Function.SUM, Function.AVG)}
        self.places: dict[int, tuple[int, int]] = {}  # argument: its cell, and which DOUBLE sum it is

    def build(self) -> GroupTables:
        calls = [self._call(place, call) for place, call in enumerate(self.spec.calls)]
        strings = tuple(place for place, extreme in enumerate(self.extremes) if extreme[EXTREME_ORDER] == BY_STRING)
        return GroupTables(
            _table(self._keys(), KEY_COLUMNS), self._key_bits(), _table(self.feeds, FEED_COLUMNS),
            _table(calls, CALL_COLUMNS), _table(self.extremes, EXTREME_COLUMNS), self.cells, self.doubles, strings,
        )

    def _keys(self) -> list[list[int]]:
        lines = []
        for place, key in enumerate(self.spec.keys):
            type_ = self.input.schema.types[key]
            nulls = [*self.input.mask(key), *self.output.mask(place)]
            for lane in range(type_.lanes):
                lines.append([self.input.lanes[key] + lane, int(type_.kind is Kind.DOUBLE), *nulls])
        return lines

    def _key_bits(self) -> Int64s:
        bits = np.zeros(self.output.width - self.output.values, np.int64)
        for place in range(len(self.spec.keys)):
            bits[place // MASK_BITS] |= 1 << place % MASK_BITS
        return bits

    def _call(self, place: int, call: AggregateCall) -> list[int]:
        column = len(self.spec.keys) + place
        cell, part = self._input(call)
        to = [self.output.lanes[column], *self.output.mask(column)]
        line = [_call_kind(call), cell, *to, part, call.type.lanes]
        if call.argument_type is None or call.type.kind is not Kind.DECIMAL:
            return [*line, 1, 0, 0]
        bound = 10**call.type.precision
        factor = 10 ** (call.type.scale - call.argument_type.scale)
        return [*line, factor, _signed(bound), bound >> 64]

    def _input(self, call: AggregateCall) -> tuple[int, int]:
        """The cell a call reads, and which DOUBLE sum or extreme it is."""
        if call.argument is None or call.argument_type is None:
            return ROWS, 0
        if call.function in (Function.MIN, Function.MAX):
            return self._extreme(call, call.argument, call.argument_type)
        if call.argument not in self.places:
            self.places[call.argument] = self._sum(call.argument, call.argument_type)
        return self.places[call.argument]

    def _sum(self, argument: int, type_: Type) -> tuple[int, int]:
        if argument not in self.summed:
            return self._feed(FEED_COUNT, argument, 0), 0
        if type_.kind is not Kind.DOUBLE:
            return self._feed(FEED_EXACT, argument, type_.lanes), 0
        self.doubles += 1
        return self._feed(FEED_DOUBLE, argument, self.doubles - 1), self.doubles - 1

    def _extreme(self, call: AggregateCall, argument: int, type_: Type) -> tuple[int, int]:
        cell = self._feed(FEED_EXTREME, argument, len(self.extremes))
        self.extremes.append([_order(type_), int(call.function is Function.MAX), cell])
        return cell, len(self.extremes) - 1

    def _feed(self, kind: int, argument: int, part: int) -> int:
        cell = self.cells
        self.feeds.append([kind, self.input.lanes[argument], *self.input.mask(argument), cell, part])
        self.cells += CELLS[kind]
        return cell


def _call_kind(call: AggregateCall) -> int:
    if call.function is Function.COUNT:
        return COUNT
    if call.function in (Function.MIN, Function.MAX) or call.argument_type is None:
        return EXTREME
    is_sum = call.function is Function.SUM
    if call.argument_type.kind is Kind.DOUBLE:
        return SUM_DOUBLE if is_sum else AVG_DOUBLE
    if call.argument_type.kind is Kind.DECIMAL:
        return SUM_DECIMAL if is_sum else AVG_DECIMAL
    return SUM_INTEGER if is_sum else AVG_INTEGER


def _order(type_: Type) -> int:
    if type_.lanes == 2:
        return BY_WIDE_DECIMAL
    return {Kind.DOUBLE: BY_DOUBLE, Kind.STRING: BY_STRING}.get(type_.kind, BY_INTEGER)


def _signed(value: int) -> int:
    """The low 64 bits, as the int64 that has them."""
    return (value + 2**63) % 2**64 - 2**63


def _table(lines: list[list[int]], columns: int) -> Int64s:
    return np.array(lines, np.int64).reshape(len(lines), columns)
