"""From the calls of a GROUP BY to the tables of its kernel (`group_by.py` says what they mean)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sash.deltas import MASK_BITS, Int64s, Layout
from sash.errors import SashError
from sash.interned import remembered
from sash.kernels.bundles import Bundle
from sash.operators.group_by import opcodes as words
from sash.operators.group_by.kernels import rounding
from sash.operators.group_by.kernels.groups import GroupFacts
from sash.operators.group_by.kernels.moments import SCRATCH, STATISTICS, power_cells
from sash.operators.group_by.kernels.percentiles import SPARE
from sash.plan.aggregates import AggregateCall, Function
from sash.schema import Kind, Type

if TYPE_CHECKING:
    from sash.operators.group_by.spec import GroupBySpec

BITS = {Function.BIT_AND: words.BITS_AND, Function.BIT_OR: words.BITS_OR, Function.BIT_XOR: words.BITS_XOR}
SLIDING = (words.COUNT, words.SUM_INTEGER, words.AVG_INTEGER, words.EXTREME)
SLICED = (*SLIDING, words.SUM_DOUBLE, words.AVG_DOUBLE)
Made = tuple[int, int, int, list[int]]  # the kind of a call, the cell it reads, its range or set, and what only its kind knows
FINEST_FRACTION = 10**9  # the fraction of a percentile is taken to nine places, so that ranks are exact


@dataclass(frozen=True)
class GroupTables:
    """What the kernel reads. `key_bits` has, for every mask lane of the output, the bits that belong to keys."""

    keys: Int64s  # a line for every lane of the key
    key_bits: Int64s
    feeds: Int64s
    calls: Int64s
    sets: Int64s
    separators: npt.NDArray[np.uint8]  # of all texts, one after the other
    cells: int  # before the limbs of sums of doubles
    ranges: int  # how many sums of doubles, or of their squares, there are

    def bundle(self, width: int) -> Bundle:
        """For a kernel, with room to work with; its output rows are of a width."""
        key, spare = np.zeros((1, width), np.int64), np.zeros((1, SPARE), np.int64)
        limbs = np.zeros(SCRATCH if self._has_long_numbers else rounding.SCRATCH, np.int64)
        return Bundle(GroupFacts, self.keys, self.key_bits, self.feeds, self.calls, self.sets, self.separators, key, limbs, spare)

    @property
    def _has_long_numbers(self) -> bool:
        """Whether there is more to work out than sums and their quotients; few queries have that, and there may be thousands."""
        is_for_others = not len(self.calls) and len(self.sets) > 0
        return is_for_others or bool(np.isin(self.calls[:, words.CALL_KIND], (words.STATISTIC, words.CONTINUOUS)).any())

    @property
    def has_pairs(self) -> bool:
        return bool((self.sets[:, words.SET_BESIDE] != words.NOTHING_BESIDE).any())

    @property
    def is_sliding(self) -> bool:
        """Whether there are only counts, sums and averages of integers, and least and greatest numbers."""
        return self._is_made_of((words.FEED_COUNT, words.FEED_EXACT, words.FEED_VALUE), SLIDING)

    @property
    def is_sliced(self) -> bool:
        """The same, and sums and averages of doubles: whether parts of groups can be added up."""
        return self._is_made_of((words.FEED_COUNT, words.FEED_EXACT, words.FEED_DOUBLE, words.FEED_VALUE), SLICED)

    def _is_made_of(self, feeds: tuple[int, ...], calls: tuple[int, ...]) -> bool:
        is_fed = np.isin(self.feeds[:, words.FEED_KIND], feeds).all()
        is_fed &= (self.feeds[:, words.FEED_LANES] == 1).all() and (self.feeds[:, words.FEED_SET] < 0).all()
        is_called = np.isin(self.calls[:, words.CALL_KIND], calls).all()
        return bool(is_fed and is_called and (self.sets[:, words.SET_ORDER] != words.BY_STRING).all())

    @cached_property
    def text_calls(self) -> Int64s:
        return np.flatnonzero(self.calls[:, words.CALL_KIND] == words.TEXT)


@remembered
def group_tables(spec: GroupBySpec) -> GroupTables:
    return _TableBuilder(spec).build()


def key_tables(input_: Layout, output: Layout, keys: Sequence[int]) -> GroupTables:
    """Of groups that aggregate nothing."""
    feeds, calls, sets = (_table([], columns) for columns in (words.FEED_COLUMNS, words.CALL_POWERS, words.SET_COLUMNS))
    lines = _table(_key_lines(input_, output, keys), words.KEY_COLUMNS)
    separators = np.zeros(0, np.uint8)
    return GroupTables(lines, _key_bits(output, len(keys)), feeds, calls, sets, separators, words.FIRST_CELL, 0)


def value_tables(input_: Layout, output: Layout, keys: Sequence[int], column: int) -> GroupTables:
    """Of groups that keep the values of a column in order, for others to make something of."""
    type_, cell = input_.schema.types[column], words.FIRST_CELL
    set_ = [words.RANKED, _order(type_), 0, cell, 0, words.NOTHING_BESIDE]
    feed = [words.FEED_VALUE, input_.lanes[column], *input_.mask(column), cell, 0, type_.lanes, -1, 0, 0, 0, 0]
    return replace(
        key_tables(input_, output, keys), feeds=_table([feed], words.FEED_COLUMNS), sets=_table([set_], words.SET_COLUMNS),
        cells=cell + words.SET_CELLS[words.RANKED],
    )


class _TableBuilder:
    def __init__(self, spec: GroupBySpec) -> None:
        self.spec = spec
        self.input, self.output = spec.input.layout, spec.layout
        self.extremes = words.DEQUE if spec.leaves_in_order else words.HEAP
        self.cells = words.FIRST_CELL
        self.ranges = 0
        self.separators = b""
        self.feeds: list[list[int]] = []
        self.sets: list[list[int]] = []
        self.made: dict[object, tuple[int, int]] = {}  # what there is already: its cell, and its range or set
        self.summed = {(c.argument, c.counts_once) for c in spec.calls if c.function.facts.power}

    def build(self) -> GroupTables:
        calls = [self._call(place, call) for place, call in enumerate(self.spec.calls)]
        columns = max(words.CALL_POWERS, *map(len, calls), 0)
        feeds = sorted(self.feeds, key=lambda feed: feed[words.FEED_SET] >= 0)
        return GroupTables(
            _table(_key_lines(self.input, self.output, self.spec.keys), words.KEY_COLUMNS),
            _key_bits(self.output, len(self.spec.keys)), _table(feeds, words.FEED_COLUMNS),
            _table([line + [0] * (columns - len(line)) for line in calls], columns), _table(self.sets, words.SET_COLUMNS),
            np.frombuffer(self.separators, np.uint8), self.cells, self.ranges,
        )

    def _call(self, place: int, call: AggregateCall) -> list[int]:
        column = len(self.spec.keys) + place
        kind, cell, part, rest = self._made(call)
        return [kind, cell, self.output.lanes[column], *self.output.mask(column), part, call.type.lanes, *rest]

    def _made(self, call: AggregateCall) -> Made:
        if call.argument is None or call.argument_type is None:
            return words.COUNT, words.ROWS, 0, []
        if call.function not in MAKERS:
            raise SashError(f"GROUP BY keeps nothing for {call.function.value}", "add it to the makers in group_by/tables.py")
        return MAKERS[call.function](self, call, call.argument, call.argument_type)

    def extreme(self, call: AggregateCall, column: int, type_: Type) -> Made:
        return words.EXTREME, *self._set(self.extremes, column, type_, call.function is Function.MAX), []

    def beside(self, call: AggregateCall, column: int, type_: Type) -> Made:
        return words.BESIDE_EXTREME, *self._pairs(call, self.extremes), []

    def percentile(self, call: AggregateCall, column: int, type_: Type) -> Made:
        is_descending = call.function is Function.PERCENTILE_DISC_DESC
        kind = words.DISCRETE if is_descending or call.function is Function.PERCENTILE_DISC else words.CONTINUOUS
        at = self._set(words.RANKED, column, type_, is_distinct=call.is_distinct)
        return kind, *at, [*fraction_of(call), int(is_descending), type_.scale]

    def text(self, call: AggregateCall, column: int, type_: Type) -> Made:
        return words.TEXT, *self._text(call, column, type_)

    def bits(self, call: AggregateCall, column: int, type_: Type) -> Made:
        return BITS[call.function], *self._feed(words.FEED_BITS, 65, call, 0), []

    def sum(self, call: AggregateCall, column: int, type_: Type) -> Made:
        return _sum_kind(call.function, type_), *self._sum(call, column, type_), _decimal_bounds(call, type_)

    def _sum(self, call: AggregateCall, column: int, type_: Type) -> tuple[int, int]:
        if (column, call.counts_once) not in self.summed:
            return self._feed(words.FEED_COUNT, 1, call, 0)
        if type_.kind is Kind.DOUBLE:
            return self._feed(words.FEED_DOUBLE, 5, call, None, power=1)
        return self._feed(words.FEED_EXACT, 4, call, 0, power=1)

    def statistic(self, call: AggregateCall, column: int, type_: Type) -> Made:
        """Over the sums of the powers of the values; `moments.py` has all of them."""
        (cell, part), is_double = self._sum(call, column, type_), type_.kind is Kind.DOUBLE
        powers = [self._power(call, type_, power) for power in range(2, call.function.facts.power + 1)]
        rest = [STATISTICS.index(call.function), int(is_double), 0, type_.scale, *powers]
        return words.STATISTIC, cell, part if is_double else type_.lanes, rest

    def _power(self, call: AggregateCall, type_: Type, power: int) -> int:
        if type_.kind is Kind.DOUBLE:
            return self._feed(words.FEED_DOUBLE, 1, call, None, power)[1]
        return self._feed(words.FEED_EXACT, power_cells(power, type_.lanes), call, 0, power)[0]

    def _text(self, call: AggregateCall, column: int, type_: Type) -> tuple[int, int, list[int]]:
        """A text has two cells: its code, and the number its set had when it was made."""
        if call.second is not None:
            root, part = self._pairs(call, words.RANKED)
        else:
            root, part = self._set(words.RANKED, column, type_, is_distinct=call.is_distinct)
        start, is_list = len(self.separators), call.function is Function.USER
        self.separators += b"" if is_list else str(call.parameter or "").encode()
        self.cells += 2
        return self.cells - 2, part, [root, start, len(self.separators), int(is_list)]

    def _pairs(self, call: AggregateCall, kind: int) -> tuple[int, int]:
        """The set is ordered by the second column; the argument lies beside it, and decides among equals."""
        assert call.argument is not None and call.argument_type is not None
        assert call.second is not None and call.second_type is not None
        key = (call.function, call.argument, call.second)
        if key not in self.made:
            other = [self.input.lanes[call.argument], *self.input.mask(call.argument)]
            is_max, beside = call.function is Function.MAX_BY, _order(call.argument_type)
            self.made[key] = self._new_set(kind, call.second, call.second_type, is_max, False, beside, other)
        return self.made[key]

    def _set(
        self, kind: int, column: int, type_: Type, is_max: bool = False, is_distinct: bool = False
    ) -> tuple[int, int]:
        """The first cell of a set, and its number."""
        key = (kind, column, is_max, is_distinct)
        if key not in self.made:
            self.made[key] = self._new_set(kind, column, type_, is_max, is_distinct, words.NOTHING_BESIDE, [0, 0, 0])
        return self.made[key]

    def _new_set(
        self, kind: int, column: int, type_: Type, is_max: bool, is_distinct: bool, beside: int, other: list[int]
    ) -> tuple[int, int]:
        cell, place = self.cells, len(self.sets)
        self.cells += words.SET_CELLS[kind]
        self.sets.append([kind, _order(type_), int(is_max), cell, int(is_distinct), beside])
        self.feeds.append([words.FEED_VALUE, *self._source(column), cell, place, type_.lanes, -1, 0, *other])
        return cell, place

    def _feed(self, kind: int, cells: int, call: AggregateCall, part: int | None, power: int = 0) -> tuple[int, int]:
        """The first cell of a feed of the call's argument, and its part: None asks for a range of limbs."""
        assert call.argument is not None and call.argument_type is not None
        key = (kind, power, call.argument, call.counts_once, "feed")
        if key in self.made:
            return self.made[key]
        through = -1
        if call.counts_once:
            _, through = self._set(words.PLAIN, call.argument, call.argument_type)
        if part is None:
            part, self.ranges = self.ranges, self.ranges + 1
        at = self.made[key] = (self.cells, part)
        self.feeds.append([kind, *self._source(call.argument), *at, call.argument_type.lanes, through, power, 0, 0, 0])
        self.cells += cells
        return at

    def _source(self, column: int) -> list[int]:
        return [self.input.lanes[column], *self.input.mask(column)]


MAKERS: dict[Function, Callable[[_TableBuilder, AggregateCall, int, Type], Made]] = {
    **dict.fromkeys((Function.MIN, Function.MAX, Function.ANY_VALUE), _TableBuilder.extreme),
    **dict.fromkeys((Function.MIN_BY, Function.MAX_BY), _TableBuilder.beside),
    **dict.fromkeys((Function.MEDIAN, Function.PERCENTILE_CONT), _TableBuilder.percentile),
    **dict.fromkeys((Function.PERCENTILE_DISC, Function.PERCENTILE_DISC_DESC), _TableBuilder.percentile),
    **dict.fromkeys((Function.STRING_AGG, Function.ARRAY_AGG, Function.USER), _TableBuilder.text),
    **dict.fromkeys(STATISTICS, _TableBuilder.statistic),
    **dict.fromkeys(BITS, _TableBuilder.bits),
    **dict.fromkeys((Function.COUNT, Function.SUM, Function.AVG, Function.BOOL_AND, Function.BOOL_OR), _TableBuilder.sum),
}


def _key_lines(input_: Layout, output: Layout, keys: Sequence[int]) -> list[list[int]]:
    lines = []
    for place, key in enumerate(keys):
        type_ = input_.schema.types[key]
        nulls = [*input_.mask(key), *output.mask(place)]
        for lane in range(type_.lanes):
            lines.append([input_.lanes[key] + lane, int(type_.kind is Kind.DOUBLE), *nulls])
    return lines


def _key_bits(output: Layout, keys: int) -> Int64s:
    bits = np.zeros(output.width - output.values, np.int64)
    for place in range(keys):
        bits[place // MASK_BITS] |= 1 << place % MASK_BITS
    return bits


def _sum_kind(function: Function, type_: Type) -> int:
    if function is Function.COUNT:
        return words.COUNT
    if function in (Function.BOOL_AND, Function.BOOL_OR):
        return words.ALL_TRUE if function is Function.BOOL_AND else words.ANY_TRUE
    is_sum = function is Function.SUM
    if type_.kind is Kind.DOUBLE:
        return words.SUM_DOUBLE if is_sum else words.AVG_DOUBLE
    if type_.kind is Kind.DECIMAL:
        return words.SUM_DECIMAL if is_sum else words.AVG_DECIMAL
    return words.SUM_INTEGER if is_sum else words.AVG_INTEGER


def _decimal_bounds(call: AggregateCall, type_: Type) -> list[int]:
    if call.type.kind is not Kind.DECIMAL:
        return []
    bound = 10**call.type.precision
    return [10 ** (call.type.scale - type_.scale), _signed(bound), bound >> 64]


def fraction_of(call: AggregateCall) -> tuple[int, int]:
    """As it is written: 0.1 is one tenth, not the double next to it."""
    fraction = Fraction(1, 2) if call.function is Function.MEDIAN else Fraction(str(call.parameter))
    return fraction.limit_denominator(FINEST_FRACTION).as_integer_ratio()


def _order(type_: Type) -> int:
    if type_.lanes == 2:
        return words.BY_WIDE_DECIMAL
    if type_.is_interned:
        return words.BY_STRING
    return words.BY_DOUBLE if type_.kind is Kind.DOUBLE else words.BY_INTEGER


def _signed(value: int) -> int:
    """The low 64 bits, as the int64 that has them."""
    return (value + 2**63) % 2**64 - 2**63


def _table(lines: list[list[int]], columns: int) -> Int64s:
    return np.array(lines, np.int64).reshape(len(lines), columns)
