"""From the cells of a group to the columns it shows."""

from __future__ import annotations

import numpy as np

from sash.deltas import Int64s
from sash.kernels.compiling import inlined, kernel
from sash.kernels.exact_sum import (
    INFINITY,
    LIMB_BITS,
    LOAD,
    LOWEST,
    MINUS_INFINITIES,
    NAN,
    NANS,
    PLUS_INFINITIES,
    RANGE_BASE,
    RANGE_CELL,
    RANGE_LENGTH,
    SIGN,
    carry_limbs,
)
from sash.operators.group_by.kernels.moments import statistic
from sash.operators.group_by.kernels.percentiles import continuous, discrete
from sash.operators.group_by.kernels.registers import OVERFLOWS
from sash.operators.group_by.kernels.rounding import (
    EXACT_LIMBS,
    is_below,
    quotient_to_decimal,
    quotient_to_double,
    round_to_double,
    take_exact,
    take_limbs,
)
from sash.operators.group_by.kernels.value_nodes import BESIDE_MAJOR, BESIDE_MINOR, BESIDE_THERE, from_order, value_of
from sash.operators.group_by.opcodes import (
    ALL_TRUE,
    ANY_TRUE,
    AVG_DECIMAL,
    AVG_DOUBLE,
    AVG_INTEGER,
    BESIDE_EXTREME,
    BITS_AND,
    BITS_OR,
    CALL_BIT,
    CALL_CELL,
    CALL_FACTOR,
    CALL_HIGH,
    CALL_KIND,
    CALL_LANE,
    CALL_LANES,
    CALL_LOW,
    CALL_MASK,
    CALL_PART,
    CONTINUOUS,
    COUNT,
    DISCRETE,
    EXTREME,
    SET_BESIDE,
    SET_IS_MAX,
    STATISTIC,
    SUM_DECIMAL,
    SUM_DOUBLE,
    SUM_INTEGER,
    TEXT,
)

_EXACT_IN_DOUBLE = 1 << 53


@inlined
def write_call(
    call: int, group: int, calls: Int64s, sets: Int64s, ranges: Int64s, registers: Int64s, cells: Int64s,
    nodes: Int64s, beside: Int64s, limbs: Int64s, spare: Int64s, out_rows: Int64s, row: int,
) -> None:
    """Write the value of one aggregate into the output row, where the mask says not NULL so far."""
    kind, cell, lane = calls[call, CALL_KIND], calls[call, CALL_CELL], calls[call, CALL_LANE]
    count = cells[group, cell]  # of a heap or a tree: its root; of a text: its code
    low, high, is_null = 0, 0, count == 0 and kind != COUNT
    if kind == COUNT:
        low = count
    elif is_null:
        pass
    elif kind == EXTREME:
        low, high = value_of(nodes, count, sets)
    elif kind == SUM_INTEGER:
        low = cells[group, cell + 1]
        is_null = not is_one_lane(cells, group, cell + 1)
        registers[OVERFLOWS] += int(is_null)
    elif kind == AVG_INTEGER:
        low = average_of_integers(cells, group, cell, limbs)
    elif kind in (SUM_DECIMAL, AVG_DECIMAL):
        divisor = count if kind == AVG_DECIMAL else 1
        factor, bound_low, bound_high = calls[call, CALL_FACTOR], calls[call, CALL_LOW], calls[call, CALL_HIGH]
        low, high, is_null = _decimal(cells, group, cell + 1, limbs, factor, divisor, bound_low, bound_high)
        registers[OVERFLOWS] += int(is_null)
    elif kind in (SUM_DOUBLE, AVG_DOUBLE):
        divisor = count if kind == AVG_DOUBLE else 0
        low = double_of(cells, group, cell, ranges, calls[call, CALL_PART], limbs, divisor)
    else:
        low, high, is_null = _other(call, group, calls, sets, ranges, cells, nodes, beside, limbs, spare)
    if is_null:
        low, high = 0, 0
        out_rows[row, calls[call, CALL_MASK]] |= 1 << calls[call, CALL_BIT]
    out_rows[row, lane] = low
    if calls[call, CALL_LANES] == 2:
        out_rows[row, lane + 1] = high


@inlined
def is_one_lane(cells: Int64s, group: int, cell: int) -> bool:
    sign = cells[group, cell] >> 63
    return cells[group, cell + 1] == sign and cells[group, cell + 2] == sign


@kernel
def average_of_integers(cells: Int64s, group: int, cell: int, limbs: Int64s) -> int:
    count, low = cells[group, cell], cells[group, cell + 1]
    is_small = -_EXACT_IN_DOUBLE <= low <= _EXACT_IN_DOUBLE and count <= _EXACT_IN_DOUBLE
    if is_small and is_one_lane(cells, group, cell + 1):
        return int(np.float64(np.float64(low) / np.float64(count)).view(np.int64))
    is_negative = take_exact(cells, group, cell + 1, limbs)
    bits = quotient_to_double(limbs, EXACT_LIMBS, 0, count)
    return bits | SIGN if is_negative else bits


@kernel
def _decimal(
    cells: Int64s, group: int, cell: int, limbs: Int64s, factor: int, divisor: int, bound_low: int, bound_high: int
) -> tuple[int, int, bool]:
    """The low and high lane of sum * factor / divisor, and whether that does not fit its type."""
    is_negative = take_exact(cells, group, cell, limbs)
    length = EXACT_LIMBS
    if factor != 1 or divisor != 1:
        length = quotient_to_decimal(limbs, EXACT_LIMBS, factor, divisor)
    if not is_below(limbs, length, bound_low, bound_high):
        return 0, 0, True
    low, high = limbs[0] | limbs[1] << 32, limbs[2] | limbs[3] << 32
    if is_negative:
        low = -low
        high = ~high + int(low == 0)
    return low, high, False


@kernel
def double_of(
    cells: Int64s, group: int, cell: int, ranges: Int64s, part: int, limbs: Int64s, divisor: int
) -> int:
    """The bits of a sum of doubles, or of their average if the divisor is not 0. Zero is always the positive one."""
    plus, minus = cells[group, cell + PLUS_INFINITIES], cells[group, cell + MINUS_INFINITIES]
    if cells[group, cell + NANS] or (plus and minus):
        return NAN
    if plus or minus:
        return INFINITY if plus else INFINITY | SIGN
    first, length = ranges[part, RANGE_CELL], ranges[part, RANGE_LENGTH]
    if length == 0:
        return 0
    exponent = LOWEST + LIMB_BITS * ranges[part, RANGE_BASE]
    carry_limbs(cells, group, first, length)
    cells[group, cell + LOAD] = 0
    is_negative = take_limbs(cells, group, first, length, limbs)
    if divisor:
        bits = quotient_to_double(limbs, length + 1, exponent, divisor)
    else:
        bits = round_to_double(limbs, 0, length + 1, exponent, False)
    return bits | SIGN if is_negative and bits else bits


@kernel
def _other(
    call: int, group: int, calls: Int64s, sets: Int64s, ranges: Int64s, cells: Int64s, nodes: Int64s, beside: Int64s,
    limbs: Int64s, spare: Int64s,
) -> tuple[int, int, bool]:
    """The lanes of a call of the rarer kinds, and whether it is NULL; there is something in its cell."""
    kind, cell = calls[call, CALL_KIND], calls[call, CALL_CELL]
    count = cells[group, cell]
    if kind == TEXT:
        return count, 0, False
    if kind == BESIDE_EXTREME:
        return _beside(calls[call, CALL_PART], count, sets, beside)
    if kind == DISCRETE:
        low, high = discrete(nodes, count, calls, call, sets)
        return low, high, False
    if kind == CONTINUOUS:
        return continuous(nodes, count, calls, call, sets, spare, limbs), 0, False
    if kind == STATISTIC:
        bits, is_null = statistic(call, group, calls, ranges, cells, limbs)
        return bits, 0, is_null
    if kind in (ALL_TRUE, ANY_TRUE):
        trues = cells[group, cell + 1]
        return int(trues == count if kind == ALL_TRUE else trues > 0), 0, False
    return _bits(kind, cells, group, cell), 0, False


@kernel
def _beside(set_: int, root: int, sets: Int64s, beside: Int64s) -> tuple[int, int, bool]:
    if beside[root, BESIDE_THERE] == 0:
        return 0, 0, True
    order, is_max = sets[set_, SET_BESIDE], sets[set_, SET_IS_MAX]
    low, high = from_order(order, is_max, beside[root, BESIDE_MAJOR], beside[root, BESIDE_MINOR])
    return low, high, False


@kernel
def _bits(kind: int, cells: Int64s, group: int, cell: int) -> int:
    """Each bit by the number of values that have it; those above an INT are copies of its sign, before and after."""
    count, value = cells[group, cell], 0
    for bit in range(64):
        rows = cells[group, cell + 1 + bit]
        is_set = rows == count if kind == BITS_AND else (rows != 0 if kind == BITS_OR else rows & 1 == 1)
        value |= int(is_set) << bit
    return value
