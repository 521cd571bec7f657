"""Aggregates: the functions of GROUP BY, and their calls."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

from sash.interned import Interned
from sash.plan.user_aggregates import UserAggregate
from sash.schema import BIGINT, DOUBLE, Kind, Type, decimal


class Function(Enum):
    """What a call makes of the non-NULL values of a group; the bag alone decides, never the order of its rows."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    VAR_POP = "VAR_POP"
    VAR_SAMP = "VAR_SAMP"  # NULL for one row
    STDDEV_POP = "STDDEV_POP"
    STDDEV_SAMP = "STDDEV_SAMP"
    MEDIAN = "MEDIAN"
    PERCENTILE_CONT = "PERCENTILE_CONT"  # between two values where the fraction falls between them
    PERCENTILE_DISC = "PERCENTILE_DISC"  # the first value at or after the fraction
    PERCENTILE_DISC_DESC = "PERCENTILE_DISC_DESC"  # the same, from the greatest value down
    MIN_BY = "MIN_BY"  # the value beside the least second one; of several the least, NULL before all
    MAX_BY = "MAX_BY"  # the value beside the greatest second one; of several the greatest, NULL after all
    MODE = "MODE"  # the most frequent value; of several the least. The binder makes two groupings of it
    MODE_DESC = "MODE_DESC"  # of several the greatest
    STRING_AGG = "STRING_AGG"  # in the order of the strings' bytes, or of the second column
    ARRAY_AGG = "ARRAY_AGG"  # arrays put together, in their order or in that of the second column; elements are arrays of one
    BIT_AND = "BIT_AND"
    BIT_OR = "BIT_OR"
    BIT_XOR = "BIT_XOR"
    BOOL_AND = "BOOL_AND"
    BOOL_OR = "BOOL_OR"
    ANY_VALUE = "ANY_VALUE"  # the least
    USER = "USER"  # a class of the user's


_OF_THE_ARGUMENT = {
    Function.MIN, Function.MAX, Function.MIN_BY, Function.MAX_BY, Function.ANY_VALUE, Function.PERCENTILE_DISC,
    Function.PERCENTILE_DISC_DESC, Function.MODE, Function.MODE_DESC, Function.STRING_AGG, Function.ARRAY_AGG,
    Function.BIT_AND, Function.BIT_OR, Function.BIT_XOR, Function.BOOL_AND, Function.BOOL_OR,
}


@dataclass(frozen=True)
class AggregateCall(metaclass=Interned):
    """An aggregate of one input column; COUNT(*) has none.

    `second` is the column that MIN_BY, MAX_BY, STRING_AGG and ARRAY_AGG order by; `parameter` is the fraction (a float) of a
    percentile, the separator of STRING_AGG, or the UserAggregate. With `is_distinct` equal values count once.
    """

    function: Function
    argument: int | None
    argument_type: Type | None
    is_distinct: bool = False
    second: int | None = None
    second_type: Type | None = None
    parameter: float | str | UserAggregate | None = None

    def _identity(self) -> tuple[object, ...]:
        own = tuple(getattr(self, member.name) for member in fields(self))
        return (*own, self.parameter.registration) if isinstance(self.parameter, UserAggregate) else own

    @property
    def columns(self) -> tuple[int, ...]:
        """The input columns it reads."""
        return tuple(column for column in (self.argument, self.second) if column is not None)

    @property
    def type(self) -> Type:
        """As in Spark SQL, but for PERCENTILE_DISC, which gives a value of the bag."""
        if self.function is Function.COUNT:
            return BIGINT
        if isinstance(self.parameter, UserAggregate):
            return self.parameter.type
        assert self.argument_type is not None
        if self.function in _OF_THE_ARGUMENT:
            return self.argument_type
        if self.function not in (Function.SUM, Function.AVG):
            return DOUBLE
        if self.argument_type.kind is Kind.DECIMAL:
            p, s = self.argument_type.precision, self.argument_type.scale
            if self.function is Function.SUM:
                return decimal(min(38, p + 10), s)
            return decimal(min(38, p + 4), min(s + 4, min(38, p + 4)))
        if self.function is Function.SUM and self.argument_type.is_integer:
            return BIGINT
        return DOUBLE
