"""Which index answers a question about rows of one view, and why.

    k = 7 AND g IN ('a', 'b')    an index by hash of k, g, or of one of them; an ordered one that begins with them
    k = 7 AND v > 3              an ordered index of k, v: what is equal first, then one range
    ORDER BY v DESC LIMIT 10     an ordered index of v, if its spans are all that is asked for

Every condition is tested all the same on what an index finds; so it is enough that no row is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product, takewhile

from sash.deltas import Layout
from sash.plan.index_method import HASH, TREE
from sash.plan.nodes import Order
from sash.plan.rules.conditions import conjuncts
from sash.runtime.access import Bound, ByKeys, BySpans, First, InOrder, Lines, Span, Value
from sash.scalar.nodes import Call, Column, Expression, Literal
from sash.stores.view_index import IndexShape

MOST_KEYS = 1024  # that a question may name; with more of them all rows are looked at
_TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}

Point = Mapping[int, Value]  # what columns are equal to


@dataclass(frozen=True)
class Limits:
    """The range of a column: least and greatest value, and whether rows with that very value are inside."""

    low: Literal | None = None
    is_low_inside: bool = False
    high: Literal | None = None
    is_high_inside: bool = False


@dataclass(frozen=True)
class Asked:
    """What conditions say about columns: rows are equal to one of these points, and inside of these limits; is that all?"""

    points: tuple[Point, ...]
    limits: Mapping[int, Limits]
    is_exact: bool

    @staticmethod
    def by(conditions: Sequence[Expression]) -> Asked:
        points, limits, is_exact = [dict[int, Value]()], dict[int, Limits](), True
        for condition in conditions:
            found = list(_points(condition))
            known = [{**after, **before} for before, after in product(points, found)] if _are_few(points, found) else []
            limit = _limit(condition, limits)
            if limit is not None:
                limits[limit[0]] = limit[1]
            elif known or not found:
                is_exact = is_exact and len(found) <= 1 and not any(set(new) & set(old) for new in found for old in points)
                points = known
            else:
                is_exact = False
        return Asked(tuple(points), limits, is_exact)


def _are_few(points: Sequence[Point], found: Sequence[Point]) -> bool:
    return all(found) and len(points) * len(found) <= MOST_KEYS


def _points(condition: Expression) -> Iterator[Point]:
    """What must be equal for a condition to be true, one way or another; an empty point: anything may be."""
    if isinstance(condition, Call) and condition.function == "or":
        for arm in condition.arguments:
            yield from _together(conjuncts(arm))
    elif isinstance(condition, Call) and condition.arguments and isinstance(condition.arguments[0], Column):
        yield from _points_of(condition, condition.arguments[0], condition.arguments[1:])
    else:
        yield {}


def _together(conditions: Iterable[Expression]) -> Iterator[Point]:
    """Of conditions that all are true: as far as each of them has one way."""
    whole: dict[int, Value] = {}
    for condition in conditions:
        found = list(_points(condition))
        if len(found) == 1:
            whole = {**found[0], **whole}
    yield whole


def _points_of(condition: Call, column: Column, others: Sequence[Expression]) -> Iterator[Point]:
    values = [other for other in others if isinstance(other, Literal) and other.type == column.type]
    if condition.function == "is_null":
        yield {column.index: None}
    elif condition.function not in ("equal", "null_safe_equal", "in") or len(values) < len(others):
        yield {}
    else:
        is_safe = condition.function == "null_safe_equal"
        for value in values:
            if value.value is not None or is_safe:  # nothing is equal to NULL
                yield {column.index: None if value.value is None else value}


def _limit(condition: Expression, known: Mapping[int, Limits]) -> tuple[int, Limits] | None:
    """The limits of a column with what a comparison says; a second one to the same side stays a condition."""
    if not isinstance(condition, Call) or condition.function not in _TURNED:
        return None
    function, (column, value) = condition.function, condition.arguments
    if isinstance(column, Literal):
        function, column, value = _TURNED[function], value, column
    if not isinstance(column, Column) or not isinstance(value, Literal) or value.value is None or value.type != column.type:
        return None
    limits, is_inside = known.get(column.index, Limits()), function.endswith("equal")
    if function.startswith("less") and limits.high is None:
        return column.index, Limits(limits.low, limits.is_low_inside, value, is_inside)
    if function.startswith("greater") and limits.low is None:
        return column.index, Limits(value, is_inside, limits.high, limits.is_high_inside)
    return None


def _alike(order: Sequence[Order]) -> tuple[int, ...]:
    """The first columns of an order that go the same way."""
    same = takewhile(lambda part: part.is_descending == order[0].is_descending, order)
    return tuple(dict.fromkeys(part.column for part in same))


@dataclass(frozen=True, eq=False)
class Choice:
    """How an index is used, how good that is, the greater the better, and the reason in words."""

    access: ByKeys | BySpans | InOrder
    merit: tuple[int, ...]
    reason: str
    columns: frozenset[int] = frozenset()  # by whose values it leaves rows out

    @property
    def is_limited(self) -> bool:
        """Whether it reads the first rows of an order alone."""
        return isinstance(self.access, BySpans) and self.access.first is not None


class Chooser:
    """Looks for the index of a view that leaves the least to look at."""

    def __init__(self, layout: Layout, conditions: Sequence[Expression], order: Sequence[Order], first: int | None) -> None:
        """The question asks for rows with these conditions; given `first`, for so many of the first ones of an order alone."""
        self._layout, self._asked = layout, Asked.by(conditions)
        self._order, self._first = order, first

    def choices(self, shapes: Iterable[IndexShape]) -> list[Choice]:
        """The best one first, as far as conditions tell, and those that may find fewer rows: that is seen when they are asked."""
        found = [choice for shape in shapes if (choice := self._by(shape)) is not None]
        ranked = sorted(found, key=lambda choice: choice.merit, reverse=True)
        return ranked[:1] + [other for other in ranked[1:] if other.is_limited or not other.columns <= ranked[0].columns]

    def by_values(self, shape: IndexShape, told: frozenset[int], fractions: frozenset[Fraction] | None) -> Choice | None:
        """Where only values of some columns matter, and their numbers: by an ordered index that tells these, and has what is
        asked for in one span. Of figures at fractions, the values must be the last ones that it tells."""
        points, columns = self._asked.points, shape.columns
        if shape.method != TREE or len(points) != 1:
            return None
        equal = next((place for place, column in enumerate(columns) if column not in points[0]), len(columns))
        if not self._is_all(shape, equal):
            return None
        known, limits = tuple(points[0][column] for column in columns[:equal]), self._limits_after(columns, equal)
        used = equal + (limits is not None)
        while not told <= set(columns[:used]):
            if used == len(columns):
                return None
            used += 1
        after_nulls, names = None, ", ".join(self._layout.schema.names[column] for column in columns[:used])
        if used > equal + 1:
            fractions = None
        elif fractions is not None and used > equal:
            after_nulls = self._bound(columns[:used], (*known, None), is_after=True)
        access = InOrder(shape, used, self._span(columns[: equal + 1], known, limits), fractions, after_nulls)
        reason = f"each {names} once" if fractions is None else "values beside its figures" if fractions else "rows are counted"
        return Choice(access, (-used,), reason)

    def _limits_after(self, columns: Sequence[int], equal: int) -> Limits | None:
        """Those of the column after so many that are equal."""
        return self._asked.limits.get(columns[equal]) if equal < len(columns) else None

    def wished(self) -> Iterator[IndexShape]:
        """Indexes that would leave less to look at than all rows, those that cost least first."""
        points = self._asked.points
        equal = tuple(sorted(set(points[0]).intersection(*points))) if points else ()
        if equal:
            yield IndexShape(equal, HASH)
        limited: list[tuple[int, ...]] = [(column,) for column in self._asked.limits if column not in equal]
        ordered = _alike([part for part in self._order if part.column not in equal]) if self._first is not None else ()
        for columns in limited or [ordered]:
            shape = IndexShape((*equal, *columns), TREE)
            if columns and self._by(shape) is not None:
                yield shape

    def _by(self, shape: IndexShape) -> Choice | None:
        if shape.method not in (HASH, TREE):
            return None
        points, columns = self._asked.points, shape.columns
        unknown = (place for place, column in enumerate(columns) if any(column not in point for point in points))
        equal = next(unknown, len(columns))
        known = list(dict.fromkeys(tuple(point[column] for column in columns[:equal]) for point in points)) if equal else [()]
        if shape.method == TREE:
            return self._by_spans(shape, equal, known)
        if equal < len(columns):
            return None
        access = ByKeys(shape, Lines(self._layout, columns, known))
        return Choice(access, (equal, 1, 0), self._said(columns, known), frozenset(columns))

    def _by_spans(self, shape: IndexShape, equal: int, known: Sequence[tuple[Value, ...]]) -> Choice | None:
        """Of rows that are equal in so many first columns to some that are known."""
        columns = shape.columns[: equal + 1]
        limits = self._limits_after(columns, equal)
        first = self._ordered(shape, equal) if len(known) == 1 else None
        if not equal and limits is None and first is None:
            return None
        spans, reasons = tuple(self._span(columns, values, limits) for values in known), list[str]()
        if equal:
            reasons.append(self._said(columns[:equal], known))
        if limits is not None:
            reasons.append(f"{self._layout.schema.names[columns[equal]]} in a range")
        if first is not None:
            spans = self._in_reading_order(columns, spans[0], known[0], limits)
            reasons.append(f"the first {first.count:,} of its order")
        more = int(first is not None) + int(limits is not None)
        narrowed = frozenset(shape.columns[: equal + (limits is not None)])
        return Choice(BySpans(shape, spans, first), (equal, 0, more), ", ".join(reasons), narrowed)

    def _said(self, columns: Sequence[int], known: Sequence[tuple[Value, ...]]) -> str:
        """What is looked up, in words."""
        values = "one value" if len(known) == 1 else f"{len(known):,} values"
        return f"{', '.join(self._layout.schema.names[column] for column in columns)} = {values}"

    def _span(self, columns: Sequence[int], values: tuple[Value, ...], limits: Limits | None) -> Span:
        """Of the rows that are equal in the first columns, those within the limits of the next one, which are not NULL."""
        whole = self._bound(columns, values, is_after=False), self._bound(columns, values, is_after=True)
        if limits is None:
            return whole
        low = self._bound(columns, (*values, limits.low), is_after=limits.low is None or not limits.is_low_inside)
        if limits.high is None:
            return low, whole[1]
        return low, self._bound(columns, (*values, limits.high), is_after=limits.is_high_inside)

    def _bound(self, columns: Sequence[int], values: tuple[Value, ...], *, is_after: bool) -> Bound:
        return Bound(Lines(self._layout, columns[: len(values)], [values]), len(values), is_after)

    def _ordered(self, shape: IndexShape, equal: int) -> First | None:
        """The first rows of the order, if the index has a first part of it, and conditions leave nothing else to be asked."""
        if self._first is None or not self._is_all(shape, equal):
            return None
        constant = set(shape.columns[:equal])
        order = [part for part in self._order if part.column not in constant]
        used = 0
        for part, column in zip(order, shape.columns[equal:], strict=False):
            is_alike = part.is_descending == order[0].is_descending and (not used or part.nulls_first is not part.is_descending)
            if part.column != column or not is_alike:
                break
            used += 1
        return First(self._first, equal + used, order[0].is_descending) if used else None

    def _is_all(self, shape: IndexShape, equal: int) -> bool:
        """Whether a span of an index says all that the conditions say."""
        named = {column for point in self._asked.points for column in point}
        limited = set(shape.columns[equal : equal + 1])
        return self._asked.is_exact and named <= set(shape.columns[:equal]) and set(self._asked.limits) <= limited

    def _in_reading_order(
        self, columns: Sequence[int], span: Span, values: tuple[Value, ...], limits: Limits | None
    ) -> tuple[Span, ...]:
        """NULLs come first in an index; where the question wants them at the other end, they are a span of their own."""
        part = next(part for part in self._order if part.column == columns[-1])
        if limits is not None or part.nulls_first is not part.is_descending:
            return (span,)
        null = self._bound(columns, (*values, None), is_after=False), self._bound(columns, (*values, None), is_after=True)
        rest = null[1], span[1]
        return (rest, null) if not part.nulls_first else (null, rest)
