"""Random streams, tables and rows: small and nasty.

Values come from few choices, so that keys meet, rows repeat and sums cancel. DOUBLEs are multiples of 1/4: whoever adds them, in
whatever order, finds the same sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from hypothesis import strategies as st

from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal

EPOCH = datetime(2024, 5, 1)
WIDE = decimal(20, 1)  # two lanes
NARROW = decimal(10, 2)

VALUES: dict[Type, list[object]] = {
    BOOLEAN: [True, False],
    INT: [0, 1, 2, 3, -1],
    BIGINT: [0, 1, 2, 2**53 + 1, -5],
    DOUBLE: [0.0, 0.25, 1.0, 2.5, -1.0],
    NARROW: [Decimal("1.25"), Decimal("0.00"), Decimal("2.50"), Decimal("-3.10")],
    WIDE: [Decimal("1.5"), Decimal("0.0"), Decimal("-1000000000000000000.5")],
    STRING: ["a", "b", "", "ab", "é"],
    TIMESTAMP: [EPOCH, EPOCH + timedelta(seconds=1), EPOCH + timedelta(seconds=5)],
    DATE: [date(2024, 5, 1), date(2024, 5, 3)],
}
TYPES = list(VALUES)
STEPS = [1.0, 0.0, 0.0, 2.0, 0.5, 7.0, 0.000001]  # seconds from one row to the next
DELAY = 3.0

Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class Stream:
    """A declared stream or table, and its rows in the order of their source."""

    name: str
    columns: tuple[tuple[str, Type], ...]
    is_table: bool
    delay: float
    rows: Rows
    is_stamped: bool = True  # by a column; else on arrival

    @property
    def declaration(self) -> str:
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.columns)
        if self.is_table:
            return f"CREATE TABLE {self.name} ({columns});"
        if not self.is_stamped:
            return f"CREATE STREAM {self.name} ({columns});"
        delay = f" DELAY {self.delay:g} SECONDS" if self.delay else ""
        return f"CREATE STREAM {self.name} ({columns}) TIMESTAMP BY ts{delay};"


def value(type_: Type) -> st.SearchStrategy[object]:
    return st.sampled_from([*VALUES[type_], None])


@st.composite
def stream(draw: st.DrawFn, name: str, most: int) -> Stream:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    columns = (("ts", TIMESTAMP), *((f"c{place}", type_) for place, type_ in enumerate(types)))
    delay = draw(st.sampled_from([0.0, DELAY]))
    line = st.tuples(st.sampled_from(STEPS), _lateness(delay), *map(value, types))
    now, rows = 0.0, []
    for step, late, *values in draw(st.lists(line, max_size=most)):
        now += step
        rows.append((EPOCH + timedelta(seconds=now - late), *values))
    return Stream(name, columns, False, delay, rows)


def _lateness(delay: float) -> st.SearchStrategy[float]:
    """Rows come out of order within the delay; some later than it."""
    return st.sampled_from([0.0] * 5 + [1.0, delay, delay + 1.0] if delay else [0.0] * 9 + [1.0])


@st.composite
def arrivals(draw: st.DrawFn, name: str, most: int) -> Stream:
    """A stream that is stamped on arrival."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    rows = draw(st.lists(st.tuples(*map(value, types)), max_size=most))
    return Stream(name, tuple((f"c{place}", type_) for place, type_ in enumerate(types)), False, 0.0, rows, is_stamped=False)


@st.composite
def table(draw: st.DrawFn, name: str) -> Stream:
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    rows = draw(st.lists(st.tuples(*map(value, types)), max_size=5))
    return Stream(name, tuple((f"c{place}", type_) for place, type_ in enumerate(types)), True, 0.0, rows)


@st.composite
def streams(draw: st.DrawFn, most: int = 12) -> list[Stream]:
    """Two or three streams, sometimes a table."""
    found = [draw(stream("s0", most)), draw(stream("s1", most))]
    if draw(st.booleans()):
        found.append(draw(stream("s2", most // 3)))
    if draw(st.booleans()):
        found.append(draw(table("t")))
    return found
