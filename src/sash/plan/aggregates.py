"""Aggregates: the functions of GROUP BY with all that is known about them, and their calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum, auto

from sash.interned import Interned
from sash.plan.user_aggregates import UserAggregate
from sash.schema import BIGINT, DOUBLE, Kind, Type, decimal


class Takes(Enum):
    """What the argument must be."""

    ANY = auto()
    NUMBER = auto()  # a text is read as a DOUBLE
    INTEGER = auto()
    BOOLEAN = auto()


class Kept(Enum):
    """What a group keeps for a function."""

    SUMS = auto()  # numbers that grow and shrink with its rows
    EXTREME = auto()  # values in a heap; only those that may come first, where rows leave in the order they came
    VALUES = auto()  # all values
    ROWS = auto()  # nothing: the binder makes other groupings of it


class Distinct(Enum):
    """What DISTINCT does to a function."""

    COUNTS_ONCE = auto()
    CHANGES_NOTHING = auto()  # equal values count once anyway
    UNKNOWN = auto()  # the binder refuses it


def _same(argument: Type) -> Type:
    return argument


def _sum(argument: Type) -> Type:
    if argument.kind is Kind.DECIMAL:
        return decimal(min(38, argument.precision + 10), argument.scale)
    return BIGINT if argument.is_integer else DOUBLE


def _average(argument: Type) -> Type:
    if argument.kind is not Kind.DECIMAL:
        return DOUBLE
    precision = min(38, argument.precision + 4)
    return decimal(precision, min(argument.scale + 4, precision))


def _bigint(argument: Type) -> Type:
    return BIGINT


def _double(argument: Type) -> Type:
    return DOUBLE


@dataclass(frozen=True)
class Facts:
    """Of a function: its SQL names, where it is written f(x), what it takes and gives, and what a group keeps for it.

    `power` is the greatest power of the values that is added up: 1 for SUM, 2 for a variance, 0 where they are counted or kept.
    Types are those of Spark SQL, but PERCENTILE_DISC gives a value of the bag.
    """

    names: tuple[str, ...] = ()
    takes: Takes = Takes.ANY
    gives: Callable[[Type], Type] = _same
    kept: Kept = Kept.VALUES
    power: int = 0
    distinct: Distinct = Distinct.UNKNOWN


def _statistic(power: int, *names: str) -> Facts:
    """A DOUBLE made of the sums of powers of numbers."""
    return Facts(names, Takes.NUMBER, _double, Kept.SUMS, power)


def _extreme(*names: str) -> Facts:
    return Facts(names, kept=Kept.EXTREME, distinct=Distinct.CHANGES_NOTHING)


def _boolean(*names: str) -> Facts:
    return Facts(names, Takes.BOOLEAN, _same, Kept.SUMS, 1, Distinct.CHANGES_NOTHING)


def _bits(name: str, distinct: Distinct = Distinct.CHANGES_NOTHING) -> Facts:
    return Facts((name,), Takes.INTEGER, _same, Kept.SUMS, 0, distinct)


class Function(Enum):
    """What a call makes of the non-NULL values of a group; the bag alone decides, never the order of its rows."""

    facts: Facts

    def __new__(cls, text: str, facts: Facts) -> Function:
        member = object.__new__(cls)
        member._value_, member.facts = text, facts
        return member

    COUNT = "COUNT", Facts((), gives=_bigint, kept=Kept.SUMS, distinct=Distinct.COUNTS_ONCE)
    SUM = "SUM", Facts(("sum",), Takes.NUMBER, _sum, Kept.SUMS, 1, Distinct.COUNTS_ONCE)
    AVG = "AVG", Facts(("avg", "mean"), Takes.NUMBER, _average, Kept.SUMS, 1, Distinct.COUNTS_ONCE)
    MIN = "MIN", _extreme("min", "any_value")
    MAX = "MAX", _extreme("max")
    VAR_POP = "VAR_POP", _statistic(2, "var_pop")
    VAR_SAMP = "VAR_SAMP", _statistic(2, "var_samp", "variance")  # NULL for one row
    STDDEV_POP = "STDDEV_POP", _statistic(2, "stddev_pop")
    STDDEV_SAMP = "STDDEV_SAMP", _statistic(2, "stddev_samp", "stddev", "std")
    SKEWNESS = "SKEWNESS", _statistic(3, "skewness")  # of the population; NULL where all values are equal
    KURTOSIS = "KURTOSIS", _statistic(4, "kurtosis")  # of the population, less that of a normal distribution; NULL as well
    MEDIAN = "MEDIAN", Facts(("median",), Takes.NUMBER, _double)
    PERCENTILE_CONT = "PERCENTILE_CONT", Facts(gives=_double)  # between two values where the fraction falls between them
    PERCENTILE_DISC = "PERCENTILE_DISC", Facts()  # the first value at or after the fraction
    PERCENTILE_DISC_DESC = "PERCENTILE_DISC_DESC", Facts()  # the same, from the greatest value down
    MIN_BY = "MIN_BY", Facts(kept=Kept.EXTREME)  # the value beside the least second one; of several the least, NULL before all
    MAX_BY = "MAX_BY", Facts(kept=Kept.EXTREME)  # the value beside the greatest; of several the greatest, NULL after all
    MODE = "MODE", Facts(kept=Kept.ROWS)  # the most frequent value; of several the least
    MODE_DESC = "MODE_DESC", Facts(kept=Kept.ROWS)  # of several the greatest
    STRING_AGG = "STRING_AGG", Facts(distinct=Distinct.COUNTS_ONCE)  # in the order of the strings' bytes, or of the second column
    # Arrays put together, in their order or in that of the second column; elements are arrays of one.
    ARRAY_AGG = "ARRAY_AGG", Facts(distinct=Distinct.COUNTS_ONCE)
    BIT_AND = "BIT_AND", _bits("bit_and")
    BIT_OR = "BIT_OR", _bits("bit_or")
    BIT_XOR = "BIT_XOR", _bits("bit_xor", Distinct.UNKNOWN)
    BOOL_AND = "BOOL_AND", _boolean("bool_and", "every")
    BOOL_OR = "BOOL_OR", _boolean("bool_or", "some", "any")
    ANY_VALUE = "ANY_VALUE", _extreme()  # the least
    USER = "USER", Facts()  # a class of the user's, which knows its type


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
    def counts_once(self) -> bool:
        """Whether it has to look for equal values."""
        return self.is_distinct and self.function.facts.distinct is not Distinct.CHANGES_NOTHING

    @property
    def is_added_up(self) -> bool:
        """Whether it needs no values, only sums that rows can be taken away from."""
        return self.function.facts.kept is Kept.SUMS and not self.is_distinct

    @property
    def type(self) -> Type:
        if isinstance(self.parameter, UserAggregate):
            return self.parameter.type
        if self.argument_type is None:
            return BIGINT  # COUNT(*)
        return self.function.facts.gives(self.argument_type)
