"""Keys of a plan: sets of columns on which no two rows of its answer agree, at any instant (NULLs are equal).

    GROUP BY, DISTINCT            the grouping columns; without any, there is one row: no column is needed
    INTERSECT, EXCEPT             all columns
    top 1 per group, LIMIT 1      the columns of the groups; numbered rows: these and the number
    [PARTITION BY k ROWS 1]       k
    join                          a key of each side together; that of one side, where the other has a key among its join columns
    ASOF JOIN                     those of the left side
    projection                    those whose columns are all shown
    whatever leaves rows out      those of its input

A plan of which nothing is known has none: its answer is a bag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import assert_never

from sash.interned import remembered
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import (
    Aggregate,
    Combination,
    Combine,
    Emit,
    Filter,
    Join,
    Minus,
    Plan,
    Project,
    SingleRow,
    Stream,
    TableChanges,
    Top,
    Window,
)
from sash.plan.over import Over
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.plan.windows import RowsWindow
from sash.scalar.nodes import Column

Key = frozenset[int]

MOST = 32  # keys of one plan that are followed


def key_of(plan: Plan) -> tuple[int, ...] | None:
    """The shortest key, the first columns of several; None where none is known."""
    found = sorted((tuple(sorted(key)) for key in keys(plan)), key=lambda key: (len(key), key))
    return found[0] if found else None


@remembered
def keys(plan: Plan) -> frozenset[Key]:
    return frozenset(islice(_least(_keys(plan)), MOST))


def _keys(plan: Plan) -> Iterable[Key]:
    if isinstance(plan, Aggregate):
        return [frozenset(range(len(plan.keys)))]
    if isinstance(plan, Project):
        return _shown(plan)
    if isinstance(plan, Top):
        return [*keys(plan.input), *_ranked(plan)]
    if isinstance(plan, Join):
        return _joined(plan)
    if isinstance(plan, Combine):
        return _combined(plan)
    if isinstance(plan, Window):
        return _windowed(plan)
    if isinstance(plan, Filter | Emit | Over | TimePredicate | CurrentPeriod):
        return keys(plan.input)
    if isinstance(plan, AsOf | Minus):
        return keys(plan.left)
    if isinstance(plan, SingleRow):
        return [frozenset()]
    if isinstance(plan, Unnest):
        return [] if plan.place_name is None else [key | {len(plan.schema) - 1} for key in keys(plan.input)]
    if isinstance(plan, Stream | TableChanges):
        return []
    assert_never(plan)


def _least(found: Iterable[Key]) -> Iterator[Key]:
    """Those that contain no other."""
    known: list[Key] = []
    for key in sorted(set(found), key=lambda key: (len(key), sorted(key))):
        if not any(other <= key for other in known):
            known.append(key)
            yield key


def _shown(plan: Project) -> Iterator[Key]:
    """A column that is shown twice is one; one that is only part of an expression is not shown."""
    places: dict[int, int] = {}
    for place, expression in enumerate(plan.expressions):
        if isinstance(expression, Column):
            places.setdefault(expression.index, place)
    for key in keys(plan.input):
        if key <= places.keys():
            yield frozenset(places[column] for column in key)


def _ranked(plan: Top) -> Iterator[Key]:
    if plan.count == 1:
        yield frozenset(plan.partition)
    if plan.numbered is not None:
        yield frozenset({*plan.partition, len(plan.schema) - 1})


def _windowed(plan: Window) -> Iterator[Key]:
    if isinstance(plan.shape, RowsWindow) and plan.shape.size == 1:
        yield frozenset(plan.shape.partition)


def _joined(plan: Join) -> Iterator[Key]:
    width = len(plan.left.schema)
    left = keys(plan.left)
    right = [frozenset(column + width for column in key) for key in keys(plan.right)]
    if any(key <= set(plan.right_keys) for key in keys(plan.right)):
        yield from _either(left, plan)
    if any(key <= set(plan.left_keys) for key in keys(plan.left)):
        yield from _either(right, plan)
    yield from _either((one | other for one in left for other in right), plan)


def _either(found: Iterable[Key], plan: Join) -> Iterator[Key]:
    """Columns that the join makes equal stand for each other."""
    width = len(plan.left.schema)
    for key in found:
        yield key
        for left, right in zip(plan.left_keys, plan.right_keys, strict=True):
            swapped = {left: right + width, right + width: left}
            yield frozenset(swapped.get(column, column) for column in key)


def _combined(plan: Combine) -> Iterator[Key]:
    if plan.how is Combination.UNION_ALL:
        return
    yield from keys(plan.left)
    if plan.how in (Combination.INTERSECT, Combination.EXCEPT):
        yield frozenset(range(len(plan.schema)))
