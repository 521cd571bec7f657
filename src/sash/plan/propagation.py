"""The pattern of every edge of a plan, from the patterns below it: the five rules of seed 003, section 5.2, one function a rule.

Where the seed stops, the rules go on:

    ROWS n                       weakest, by count: the oldest row is pushed out, and a filter above does not change the order
    PARTITION BY k ROWS n        weak, by key; strict under a filter of other columns, which may hide the row that pushes out
    one counter                  joins, DISTINCT and INTERSECT over ROWS windows of one stream are weak, by count
    two clocks                   a join of ROWS windows of two streams, or of ROWS with RANGE, is strict: neither clock tells
    windows of different sizes   their union is weak, not weakest
    top-k                        strict; the first row of every key is weak, by key
    outer joins                  strict: a padded row leaves when a match comes
    OVER, ASOF JOIN, NOW()       strict: other rows, or time, change what a row shows
    ISTREAM, sequences           streams: what they say is never taken back
"""

from __future__ import annotations

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
    Scan,
    SingleRow,
    Stream,
    TableChanges,
    Top,
    Window,
)
from sash.plan.over import Over
from sash.plan.patterns import NEVER, STRICT, Leaving, Pattern, Signal, by_count, by_key, in_time
from sash.plan.streams import Updates
from sash.plan.tables import is_non_retroactive
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Column, columns

_NEGATIONS = (Combination.EXCEPT_ALL, Combination.EXCEPT, Combination.ANTI)


@remembered
def leaving(plan: Plan) -> Leaving:
    """How the rows of a plan's result leave."""
    if isinstance(plan, Window):
        return plan.shape.leaving(plan.input)
    if isinstance(plan, Stream):
        return _stream(plan)
    if isinstance(plan, Filter):
        return _filter(plan, leaving(plan.input))
    if isinstance(plan, Project):
        return _project(plan, leaving(plan.input))
    if isinstance(plan, Emit):
        return _emit(leaving(plan.input))
    if isinstance(plan, Join):
        return _join(plan)
    if isinstance(plan, Combine):
        return _combine(plan)
    if isinstance(plan, Aggregate):
        return _aggregate(plan, leaving(plan.input))
    if isinstance(plan, Top):
        return _top(plan)
    if isinstance(plan, SingleRow):
        return NEVER
    if isinstance(plan, Unnest):
        return NEVER if leaving(plan.input) == NEVER else STRICT
    if isinstance(plan, Minus):
        return _negation()
    if isinstance(plan, TableChanges | AsOf | Over | TimePredicate | CurrentPeriod):
        return STRICT  # other rows, or time, change what a row shows
    assert_never(plan)


def _stream(plan: Stream) -> Leaving:
    """The leaves: a stream only grows; a table whose rows change loses them without a warning."""
    is_changing = isinstance(plan, Scan) and plan.updates is not Updates.NEVER
    return STRICT if is_changing else NEVER


def _filter(plan: Filter, below: Leaving) -> Leaving:
    """Rule 1: unary operators that keep nothing change nothing; but a hidden row may push out a visible one of its key."""
    read = {column.index for column in columns(plan.predicate)}
    hides = below.signal is Signal.KEY and below.most > 1 and not read <= set(below.key)
    return STRICT if hides else below


def _project(plan: Project, below: Leaving) -> Leaving:
    """Rule 1; a key that is not shown any more tells nothing."""
    if below.signal is not Signal.KEY:
        return below
    places = {e.index: place for place, e in reversed(list(enumerate(plan.expressions))) if isinstance(e, Column)}
    if not set(below.key) <= places.keys():
        return STRICT
    return by_key(tuple(places[column] for column in below.key), below.most)


def _emit(below: Leaving) -> Leaving:
    """Rows come and go at the ends of periods, in the same order; they live for different times now."""
    return in_time(below.pattern) if below.signal is Signal.TIME else below


def _join(plan: Join) -> Leaving:
    left, right = leaving(plan.left), leaving(plan.right)
    if is_non_retroactive(plan.left) == is_non_retroactive(plan.right):
        return _stateful(left, right)
    return _lookup(left if is_non_retroactive(plan.right) else right)


def _lookup(below: Leaving) -> Leaving:
    """Rule 1: a result lives as long as the row that looked the table up; but it may have found several rows for its key."""
    return STRICT if below.signal is Signal.KEY else below


def _combine(plan: Combine) -> Leaving:
    if plan.how in _NEGATIONS:
        return _negation()
    left, right = leaving(plan.left), leaving(plan.right)
    return _union(left, right) if plan.how is Combination.UNION_ALL else _stateful(left, right)


def _union(left: Leaving, right: Leaving) -> Leaving:
    """Rule 2: the more complex of both patterns. Rows of windows of different sizes leave in the order of neither."""
    for one, other in ((left, right), (right, left)):
        if one == NEVER and other.signal in (Signal.NOTHING, Signal.TIME):
            return other
    if {left.signal, right.signal} != {Signal.TIME}:
        return STRICT
    is_fifo = left == right and left.pattern is Pattern.WEAKEST and left.lifetime is not None
    return left if is_fifo else in_time(Pattern.WEAK)


def _stateful(*below: Leaving) -> Leaving:
    """Rule 3: joins, intersections and DISTINCT put rows out of order; all on one clock, what is known of them stays known."""
    clocks = {(one.signal, one.counter) for one in below if one.signal is not Signal.NOTHING}
    if not clocks:
        return NEVER
    ((signal, counter), *others) = clocks
    if others or signal in (Signal.KEY, Signal.NEGATIVE):
        return STRICT
    return in_time(Pattern.WEAK) if signal is Signal.TIME else by_count(Pattern.WEAK, counter)


def _aggregate(plan: Aggregate, below: Leaving) -> Leaving:
    """Rule 4: a new result of a group takes the place of the old one. DISTINCT is a group without results: rule 3."""
    if not plan.calls and plan.keys:
        return _stateful(below)
    return by_key(tuple(range(len(plan.keys))))


def _negation() -> Leaving:
    """Rule 5: a row on the other side takes results back whatever was known of them."""
    return STRICT


def _top(plan: Top) -> Leaving:
    """A better row pushes out another one, not the oldest; where each key shows one row, the key says which."""
    return by_key(plan.partition) if plan.count == 1 else STRICT

