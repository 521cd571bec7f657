"""Types, columns and schemas: what a row is made of, before any row exists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import pyarrow as pa

from sash.errors import SashError, choices

# Time is a count of microseconds. The bounds are those of a calendar with four-digit years, so every instant prints.
MICROSECOND = 1
SECOND = 1_000_000
BEGINNING = -62_135_596_800_000_000  # 0001-01-01: the instant of rows that were always there
END = 253_402_300_800_000_000  # 10000-01-01: one past the greatest timestamp
FOREVER = 2**63 - 1  # the expiry of a row that no window takes away; also the clock of a stream that ended


class Kind(IntEnum):
    """The kinds of values. The numbers are used by kernels and in stored state: never reorder."""

    BOOLEAN = 0
    INT = 1
    BIGINT = 2
    DOUBLE = 3
    DECIMAL = 4
    STRING = 5
    TIMESTAMP = 6
    DATE = 7
    ARRAY = 8


@dataclass(frozen=True)
class Type:
    """A kind of value; a DECIMAL also has precision (1 to 38) and scale, an ARRAY the type of its elements."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: Type | None = None

    def __post_init__(self) -> None:
        if self.kind is Kind.DECIMAL and not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise SashError(
                f"DECIMAL({self.precision}, {self.scale}) is not a type",
                "precision goes from 1 to 38, scale from 0 to the precision",
            )

    @property
    def lanes(self) -> int:
        """How many 64-bit lanes hold one value: a wide DECIMAL needs two."""
        return 2 if self.kind is Kind.DECIMAL and self.precision > 18 else 1

    @property
    def arrow(self) -> pa.DataType:
        if self.kind is Kind.DECIMAL:
            return pa.decimal128(self.precision, self.scale)
        return _ARROW[self.kind] if self.element is None else pa.list_(self.element.arrow)

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL) and self != LENGTH

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.INT, Kind.BIGINT) and self != LENGTH

    @property
    def is_interned(self) -> bool:
        """Whether a lane holds the code of a value whose bytes are kept elsewhere; their order is that of the values."""
        return self.kind in (Kind.STRING, Kind.ARRAY)

    def __str__(self) -> str:
        if self.element is not None:
            return f"ARRAY<{self.element}>"
        if self == LENGTH:
            return "INTERVAL"
        return f"DECIMAL({self.precision}, {self.scale})" if self.kind is Kind.DECIMAL else self.kind.name


BOOLEAN = Type(Kind.BOOLEAN)
INT = Type(Kind.INT)
BIGINT = Type(Kind.BIGINT)
DOUBLE = Type(Kind.DOUBLE)
STRING = Type(Kind.STRING)
TIMESTAMP = Type(Kind.TIMESTAMP)
DATE = Type(Kind.DATE)
LENGTH = Type(Kind.BIGINT, scale=6)  # a length of time, in microseconds, while a query is bound; no column has this type


def decimal(precision: int, scale: int) -> Type:
    return Type(Kind.DECIMAL, precision, scale)


def array(element: Type) -> Type:
    return Type(Kind.ARRAY, element=element)


_ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.DATE: pa.date32(),
}


@dataclass(frozen=True)
class Field:
    """A named column. Every column may be NULL."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Schema:
    """An ordered list of columns."""

    fields: tuple[Field, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def types(self) -> tuple[Type, ...]:
        return tuple(field.type for field in self.fields)

    @cached_property
    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(field.name, field.type.arrow) for field in self.fields])

    @cached_property
    def texts(self) -> tuple[int, ...] | None:
        """The columns of texts, which are to be looked at even if they are as declared; None if elements of arrays are, too."""
        if any(field.type.element is not None for field in self.fields):
            return None
        return tuple(place for place, field in enumerate(self.fields) if field.type.kind is Kind.STRING)

    def index(self, name: str) -> int:
        """The place of a column; names are compared without case, as Spark SQL does."""
        for place, field in enumerate(self.fields):
            if field.name.lower() == name.lower():
                return place
        raise SashError(f'unknown column "{name}"', f"columns are: {choices(self.names)}")

    def __len__(self) -> int:
        return len(self.fields)

    def __str__(self) -> str:
        return ", ".join(str(field) for field in self.fields)


def schema(*columns: tuple[str, Type]) -> Schema:
    return Schema(tuple(Field(name, type_) for name, type_ in columns))
