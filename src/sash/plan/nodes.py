"""Logical plans: frozen trees of relational operators over windows.

Plans are values: equal plans are the same object, which is how equal parts of different views are found and run once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sash.interned import Interned, remembered
from sash.plan.aggregates import AggregateCall
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod
from sash.plan.over import Over
from sash.plan.streams import Updates
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.plan.windows import WindowShape
from sash.scalar.nodes import Expression
from sash.schema import BIGINT, INT, Field, Schema
from sash.tree import reached


@dataclass(frozen=True)
class Scan(metaclass=Interned):
    """The rows of a stream as they arrive, or of a table. Before a window, a stream is only appended to."""

    name: str
    schema: Schema
    is_table: bool = False
    updates: Updates = Updates.NEVER  # tables only
    since: int = 0  # the creation of a view that shares nothing with older ones; 0: it shares what it can
    stamped_by: tuple[str, ...] | None = None  # of a latent stream: those whose least clock its rows take; none: their arrival
    timed_by: tuple[str, ...] | None = None  # of a table: the streams in whose time it changes; None: those of the whole query
    through: str = ""  # while a query is bound: the view that reads it, which is a query of its own


@dataclass(frozen=True)
class TableChanges(metaclass=Interned):
    """A table that a stream of changes makes: `sign` is the column that says how often a row comes, or, below 0, goes."""

    input: Scan
    columns: tuple[int, ...]
    sign: int
    names: tuple[str, ...]
    updates: Updates

    @cached_property
    def schema(self) -> Schema:
        types = self.input.schema.types
        return Schema(tuple(Field(n, types[place]) for n, place in zip(self.names, self.columns, strict=True)))


@dataclass(frozen=True)
class SingleRow(metaclass=Interned):
    """What a query without FROM reads: one row, from the beginning of the whole query on.

    The binder makes an aggregate over no rows of it, as soon as it knows what else the whole query reads.
    """

    @property
    def schema(self) -> Schema:
        return Schema((Field("one", INT),))


@dataclass(frozen=True)
class Insertions(metaclass=Interned):
    """ISTREAM: the rows that enter a view, as a stream; what a window on a view reads."""

    input: Plan

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Deletions(metaclass=Interned):
    """DSTREAM: the rows that leave a view, as a stream, each at the instant it leaves."""

    input: Plan

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Snapshots(metaclass=Interned):
    """RSTREAM: at every instant at which an input changes, all rows of the view, as a stream."""

    input: Plan

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Window(metaclass=Interned):
    """A stream cut to a window: from here on a relation that changes with time.

    Rows for which the condition is not true never enter, nor do they push others out: a filter below the window.
    """

    input: Stream
    shape: WindowShape
    condition: Expression | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Filter(metaclass=Interned):
    """The rows for which a BOOLEAN expression is true (not false, not NULL)."""

    input: Plan
    predicate: Expression

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Project(metaclass=Interned):
    """One output column for every expression."""

    input: Plan
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True)))


@dataclass(frozen=True)
class Join(metaclass=Interned):
    """Inner join: equal (and not NULL) on the key columns, and true on the residual, if any.

    `left_keys[i]` of the left schema is compared to `right_keys[i]` of the right one; their types are equal. No keys: a cross
    join. The output is the left columns, then the right ones; the residual is over that output.
    """

    left: Plan
    right: Plan
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    residual: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)


class Combination(Enum):
    """How often a row is in the result, when it is n times in the left input and m times in the right one."""

    UNION_ALL = "UNION ALL"  # n + m
    INTERSECT_ALL = "INTERSECT ALL"  # min(n, m)
    INTERSECT = "INTERSECT"  # min(1, n, m)
    EXCEPT_ALL = "EXCEPT ALL"  # max(0, n - m)
    EXCEPT = "EXCEPT"  # 1 if n > 0 and m = 0
    SEMI = "SEMI"  # n if m > 0
    ANTI = "ANTI"  # n if m = 0


@dataclass(frozen=True)
class Combine(metaclass=Interned):
    """Set operators over two inputs of equal types (NULLs are equal, as in DISTINCT); the names are the left one's.

    SEMI and ANTI are what semi, anti and outer joins are made of: the right input is the pairs of the inner join, cut to the left
    columns, so that `residual` conditions are in it already.
    """

    left: Plan
    right: Plan
    how: Combination

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class Minus(metaclass=Interned):
    """Negation on key columns: for every key value, the youngest max(0, n - m) rows of the left input, whole.

    n and m count the rows of the value on the left and on the right. NULL keys are a value like any other. Of rows of one instant
    the later is younger: `by_position` in its stream, where the left input is a window of one; else in the order of the full row.
    """

    left: Plan
    right: Plan
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    by_position: bool = False

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class Order:
    """One column of an ORDER BY."""

    column: int
    is_descending: bool = False
    nulls_first: bool = True  # Spark's default: NULLs first ascending, last descending


@dataclass(frozen=True)
class Top(metaclass=Interned):
    """The first `count` rows of every partition after `offset` rows, in this order, ties by the full row; () = one partition.

    With `numbered`, a last column BIGINT gives the row's number (ROW_NUMBER) in its partition, from 1.
    """

    input: Plan
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    count: int
    offset: int = 0
    numbered: str | None = None  # the name of that column

    @cached_property
    def schema(self) -> Schema:
        extra = () if self.numbered is None else (Field(self.numbered, BIGINT),)
        return Schema(self.input.schema.fields + extra)


class Pairing(Enum):
    RECENT = "RECENT"  # every right row with the youngest left row before it
    CHRONICLE = "CHRONICLE"  # one to one, the oldest unused left row first; used rows are forgotten


@dataclass(frozen=True)
class Sequence(metaclass=Interned):
    """A FOLLOWED BY B: a stream of pairs with the right row's timestamp; left columns, then right ones.

    left.ts <= right.ts, right.ts - left.ts < within (None: no limit), keys equal (and not NULL), residual true.
    """

    left: Stream
    right: Stream
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    pairing: Pairing
    within: int | None = None
    residual: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.left.schema.fields + self.right.schema.fields)


@dataclass(frozen=True)
class Emit(metaclass=Interned):
    """EMIT EVERY: the net changes of each period, stamped at its end. Only at the top of a view."""

    input: Plan
    period: int

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Aggregate(metaclass=Interned):
    """One row per group of equal key columns (NULLs are equal); without keys, one row always.

    The output is the keys, then the calls. The binder puts a Project below, so keys and arguments are plain columns.
    """

    input: Plan
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> Schema:
        fields = self.input.schema.fields
        types = [fields[key].type for key in self.keys] + [call.type for call in self.calls]
        return Schema(tuple(Field(n, t) for n, t in zip(self.names, types, strict=True)))


Stream = Scan | Insertions | Deletions | Snapshots | Sequence  # what a window cuts

Plan = (
    Stream | TableChanges | SingleRow | Window | Filter | Project | Join | AsOf | Combine | Minus | Top | Over | TimePredicate
    | CurrentPeriod | Emit | Aggregate | Unnest
)


def inputs(plan: Plan) -> tuple[Plan, ...]:
    if isinstance(plan, Scan | SingleRow):
        return ()
    if isinstance(plan, Join | AsOf | Combine | Minus | Sequence):
        return (plan.left, plan.right)
    return (plan.input,)


@remembered
def scans(plan: Plan) -> frozenset[Scan]:
    """Every stream and table that a plan reads."""
    if isinstance(plan, Scan):
        return frozenset({plan})
    return frozenset().union(*map(scans, inputs(plan)))


def parts(plan: Plan) -> dict[Plan, None]:
    """A plan and all that it is made of, each once, in the order in which it is read."""
    return reached(plan, inputs)
