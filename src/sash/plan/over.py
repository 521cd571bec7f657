"""Window functions (OVER): values that a row gets from the rows around it in its partition.

    PARTITION BY k ORDER BY v         rows of one k, in the order of v, ties by the full row

        k  v                          frame of the third row
        a  1  ┐ peers                 ROWS BETWEEN 1 PRECEDING AND CURRENT ROW      1 2
        a  1  ┘                       RANGE BETWEEN 1 PRECEDING AND CURRENT ROW     1 1 2
        a  2  ◀                       GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING    2 4
        a  4
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from sash.interned import Interned
from sash.schema import BIGINT, DOUBLE, Field, Schema, Type

if TYPE_CHECKING:
    from sash.plan.aggregates import AggregateCall
    from sash.plan.nodes import Order, Plan


class WindowFunction(Enum):
    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"
    PERCENT_RANK = "PERCENT_RANK"
    CUME_DIST = "CUME_DIST"
    NTILE = "NTILE"
    LAG = "LAG"  # LEAD is a LAG of a negative offset
    NTH_VALUE = "NTH_VALUE"  # of the frame; FIRST_VALUE is the first
    LAST_VALUE = "LAST_VALUE"


_TYPES = {  # of those that take no column
    WindowFunction.ROW_NUMBER: BIGINT, WindowFunction.RANK: BIGINT, WindowFunction.DENSE_RANK: BIGINT,
    WindowFunction.NTILE: BIGINT, WindowFunction.PERCENT_RANK: DOUBLE, WindowFunction.CUME_DIST: DOUBLE,
}  # fmt: skip
_BY_PEERS = (WindowFunction.ROW_NUMBER, WindowFunction.RANK, WindowFunction.DENSE_RANK)
_OF_THE_WHOLE = (WindowFunction.PERCENT_RANK, WindowFunction.CUME_DIST, WindowFunction.NTILE)


class Unit(Enum):
    ROWS = "ROWS"
    RANGE = "RANGE"  # by the value of the one ORDER BY column; offset 0 means the peers
    GROUPS = "GROUPS"  # of peers


@dataclass(frozen=True)
class Frame:
    """From `start` to `stop`, both included: offsets from the row at hand, negative before it; None has no bound.

    A RANGE offset is in the units of the ORDER BY column's lane, a float where that is a DOUBLE.
    """

    unit: Unit
    start: int | float | None
    stop: int | float | None


@dataclass(frozen=True)
class Reach:
    """How many rows before its own, and after it, a row's values depend on, beyond its peers; None for all of them."""

    behind: int | None = 0
    ahead: int | None = 0

    def __or__(self, other: Reach) -> Reach:
        return Reach(_farther(self.behind, other.behind), _farther(self.ahead, other.ahead))


def _farther(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)


@dataclass(frozen=True)
class OverCall:
    """One function over one frame.

    `function` is an AggregateCall of the input's columns, or a window function of one column. `offset` is how far back LAG looks,
    which value NTH_VALUE takes, or the number of NTILE's parts; `default` is the column that LAG takes where there is no row.
    """

    function: WindowFunction | AggregateCall
    frame: Frame
    argument: int | None = None
    argument_type: Type | None = None
    offset: int = 1
    default: int | None = None
    ignores_nulls: bool = False

    @property
    def name(self) -> str:
        return self.function.value if isinstance(self.function, WindowFunction) else self.function.function.value

    @property
    def type(self) -> Type:
        if not isinstance(self.function, WindowFunction):
            return self.function.type
        return _TYPES[self.function] if self.argument_type is None else self.argument_type

    @property
    def reach(self) -> Reach:
        if self.function in _BY_PEERS:
            return Reach(behind=None)
        if self.function in _OF_THE_WHOLE:
            return Reach(None, None)
        if self.function is WindowFunction.LAG:
            back = None if self.ignores_nulls else abs(self.offset)
            return Reach(behind=back) if self.offset >= 0 else Reach(ahead=back)
        return _reach(self.frame)


def _reach(frame: Frame) -> Reach:
    start, stop = frame.start, frame.stop
    if frame.unit is Unit.ROWS:
        return Reach(None if start is None else max(0, -int(start)), None if stop is None else max(0, int(stop)))
    # Peers are known as a whole only where all rows on one side are.
    return Reach(None if start is None or stop is not None else 0, None if stop is None or stop > 0 else 0)


@dataclass(frozen=True)
class Over(metaclass=Interned):
    """The input's columns, then one for every call, over partitions in an order, ties by the full row."""

    input: Plan
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    calls: tuple[OverCall, ...]
    names: tuple[str, ...]  # of the calls

    @cached_property
    def schema(self) -> Schema:
        extra = tuple(Field(name, call.type) for name, call in zip(self.names, self.calls, strict=True))
        return Schema(self.input.schema.fields + extra)
