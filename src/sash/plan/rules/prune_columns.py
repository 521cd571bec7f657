"""Keep in windows and joins only the columns that somebody above reads.

    Project a                       Project a
    └─ Join  k = k            ->    └─ Join  k = k
       ├─ Window  …  Scan s(k,a,b)     ├─ Project k, a  └─ Window … Scan s(k,a,b)
       └─ …                            └─ …

Every node is asked for some of its columns and answers with a plan that has at least those, and where they are in it. Nodes that
compare whole rows keep all columns of what they compare: set operators but semi and anti joins, negation, the ties of a Top, and
the streams of a view, since which of its rows cancel at one instant depends on all columns.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from sash.interned import remembered
from sash.plan.aggregates import AggregateCall
from sash.plan.as_of import AsOf
from sash.plan.current_period import CurrentPeriod
from sash.plan.nodes import (
    Aggregate,
    Combination,
    Combine,
    Deletions,
    Emit,
    Filter,
    Insertions,
    Join,
    Minus,
    Plan,
    Project,
    Scan,
    Sequence,
    Snapshots,
    Stream,
    Top,
    Window,
)
from sash.plan.over import Over
from sash.plan.rules.negation_and_joins import Matched, matched
from sash.plan.time_predicate import TimePredicate
from sash.plan.unnest import Unnest
from sash.scalar.nodes import Column, Expression, columns, remap

Places = dict[int, int]  # of a column before, to its place now


@remembered
def prune_columns(plan: Plan) -> Plan:
    """The same plan, columns and order of columns unchanged."""
    everything = set(range(len(plan.schema)))
    pruned, places = _prune(plan, everything)
    return _project(pruned, [places[column] for column in sorted(everything)], plan.schema.names)


def _prune(plan: Plan, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    return _pruned(plan, frozenset(wanted))


@remembered
def _pruned(plan: Plan, wanted: frozenset[int]) -> tuple[Plan, Places]:
    if isinstance(plan, Filter):
        return _filter(plan, wanted)
    if isinstance(plan, Project):
        return _projection(plan, wanted)
    if isinstance(plan, Join):
        return _join(plan, wanted)
    if isinstance(plan, AsOf):
        return _as_of(plan, wanted)
    if isinstance(plan, Aggregate):
        return _aggregate(plan, wanted)
    if isinstance(plan, TimePredicate):
        return _reached(plan, wanted)
    if isinstance(plan, CurrentPeriod):
        return _ticks(plan, wanted)
    if isinstance(plan, Unnest):
        return _unnest(plan, wanted)
    if isinstance(plan, Over):
        return _over(plan, wanted)
    if isinstance(plan, Combine) and plan.how is Combination.UNION_ALL:
        return _union(plan, wanted)
    found = matched(plan)
    if found is not None:
        return _matched(found, wanted)
    return _narrow(_whole(plan), _same(plan), wanted)


def _whole(plan: Plan) -> Plan:
    """A node that keeps all its columns, over pruned inputs."""
    if isinstance(plan, Window):
        return replace(plan, input=_stream(plan.input))
    if isinstance(plan, Top | Emit):
        return replace(plan, input=prune_columns(plan.input))
    if isinstance(plan, Combine):
        return replace(plan, left=prune_columns(plan.left), right=prune_columns(plan.right))
    if isinstance(plan, Minus):
        return _minus(plan)
    return _stream(plan) if isinstance(plan, Stream) else plan


def _stream(plan: Stream) -> Stream:
    if isinstance(plan, Insertions | Deletions | Snapshots):
        return replace(plan, input=prune_columns(plan.input))
    if isinstance(plan, Sequence):
        return replace(plan, left=_stream(plan.left), right=_stream(plan.right))
    assert isinstance(plan, Scan)
    return plan


def _minus(plan: Minus) -> Minus:
    """Of the right side only the keys are looked at."""
    kept = sorted(set(plan.right_keys))
    right = _only(plan.right, kept)
    return replace(plan, left=prune_columns(plan.left), right=right, right_keys=tuple(map(kept.index, plan.right_keys)))


def _union(plan: Combine, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """Both sides keep the same columns, in the same places."""
    kept, sides = sorted(wanted), []
    names = tuple(plan.schema.names[place] for place in kept)
    for side in (plan.left, plan.right):
        below, places = _prune(side, wanted)
        sides.append(_project(below, [places[place] for place in kept], names))
    return Combine(sides[0], sides[1], plan.how), {place: i for i, place in enumerate(kept)}


def _matched(found: Matched, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """Rows that agree in the columns that decide have a match or not, all of them."""
    width = len(found.kept.schema)
    kept = sorted(wanted | found.reads)
    others = sorted(set(found.other_keys) | {c - width for c in _read(found.residual) if c >= width})
    left, right = (_only(side, columns) for side, columns in ((found.kept, kept), (found.others, others)))
    places = {column: place for place, column in enumerate(kept)}
    moved = places | {width + column: len(kept) + place for place, column in enumerate(others)}
    narrow = replace(
        found, kept=left, others=right, kept_keys=tuple(places[key] for key in found.kept_keys),
        other_keys=tuple(map(others.index, found.other_keys)),
        residual=None if found.residual is None else remap(found.residual, moved),
    )
    return _narrow(narrow.plan(), places, wanted)


def _only(plan: Plan, kept: list[int]) -> Plan:
    """Just these columns of a plan, in this order."""
    below, places = _prune(plan, set(kept))
    return _project(below, [places[place] for place in kept], tuple(plan.schema.names[place] for place in kept))


def _read(residual: Expression | None) -> set[int]:
    return set() if residual is None else {column.index for column in columns(residual)}


def _filter(plan: Filter, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    read = {column.index for column in columns(plan.predicate)}
    below, places = _prune(plan.input, wanted | read)
    kept: Plan = Filter(below, remap(plan.predicate, places))
    return _narrow(kept, places, wanted)


def _projection(plan: Project, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    kept = sorted(wanted)
    expressions = [plan.expressions[place] for place in kept]
    below, places = _prune(plan.input, {column.index for e in expressions for column in columns(e)})
    mapped: list[Expression] = [remap(expression, places) for expression in expressions]
    names = tuple(plan.names[place] for place in kept)
    return _merged(Project(below, tuple(mapped), names)), {place: i for i, place in enumerate(kept)}


def _merged(plan: Project) -> Project:
    """A projection of plain columns below another one is not needed."""
    below = plan.input
    if isinstance(below, Project) and all(isinstance(e, Column) for e in below.expressions):
        places = {i: e.index for i, e in enumerate(below.expressions) if isinstance(e, Column)}
        return Project(below.input, tuple(remap(e, places) for e in plan.expressions), plan.names)
    return plan


def _join(plan: Join, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    width = len(plan.left.schema)
    read = wanted | _read(plan.residual)
    left, left_places = _prune(plan.left, {c for c in read if c < width} | set(plan.left_keys))
    right, right_places = _prune(plan.right, {c - width for c in read if c >= width} | set(plan.right_keys))
    shift = len(left.schema)
    places = left_places | {width + c: shift + place for c, place in right_places.items()}
    joined = replace(
        plan, left=left, right=right, left_keys=tuple(left_places[key] for key in plan.left_keys),
        right_keys=tuple(right_places[key] for key in plan.right_keys),
        residual=None if plan.residual is None else remap(plan.residual, places),
    )
    return _narrow(joined, places, wanted)


def _as_of(plan: AsOf, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """The right side is kept whole: of several that are as near, the full row decides."""
    width = len(plan.left.schema)
    left, places = _prune(plan.left, {c for c in wanted if c < width} | set(plan.left_keys) | {plan.left_at})
    joined = replace(
        plan, left=left, right=prune_columns(plan.right), left_keys=tuple(places[key] for key in plan.left_keys),
        left_at=places[plan.left_at],
    )
    shifted = {width + place: len(left.schema) + place for place in range(len(plan.right.schema))}
    return _narrow(joined, places | shifted, wanted)


def _aggregate(plan: Aggregate, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """Groups are made by all keys; a call that nobody reads is left out."""
    count = len(plan.keys)
    calls = [place for place in range(len(plan.calls)) if count + place in wanted]
    arguments = {column for place in calls for column in plan.calls[place].columns}
    below, places = _prune(plan.input, set(plan.keys) | arguments)
    kept = tuple(_moved(plan.calls[place], places) for place in calls)
    names = plan.names[:count] + tuple(plan.names[count + place] for place in calls)
    moved = {place: place for place in range(count)} | {count + place: count + i for i, place in enumerate(calls)}
    return Aggregate(below, tuple(places[key] for key in plan.keys), kept, names), moved


def _reached(plan: TimePredicate, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    width = len(plan.input.schema)
    below, places = _prune(plan.input, {c for c in wanted if c < width} | set(plan.instants))
    told = TimePredicate(below, tuple(places[place] for place in plan.instants))
    answers = {width + n: len(below.schema) + n for n in range(len(plan.instants))}
    return _narrow(told, places | answers, wanted)


def _ticks(plan: CurrentPeriod, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """A period that nobody reads is left out."""
    width = len(plan.input.schema)
    below, places = _prune(plan.input, {c for c in wanted if c < width})
    kept = [number for number in range(len(plan.periods)) if width + number in wanted]
    shown = {width + number: len(below.schema) + place for place, number in enumerate(kept)}
    told = CurrentPeriod(below, tuple(plan.periods[number] for number in kept)) if kept else below
    return _narrow(told, places | shown, wanted)


def _unnest(plan: Unnest, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """How many rows there are is told by the array, whoever reads its elements."""
    width = len(plan.input.schema)
    below, places = _prune(plan.input, {c for c in wanted if c < width} | _read(plan.array))
    apart = replace(plan, input=below, array=remap(plan.array, places))
    made = {place: place - width + len(below.schema) for place in range(width, len(plan.schema))}
    return _narrow(apart, places | made, wanted)


def _over(plan: Over, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """The whole input, whose rows break ties; a call that nobody reads is left out."""
    width = len(plan.input.schema)
    kept = [place for place in range(len(plan.calls)) if width + place in wanted]
    below = prune_columns(plan.input)
    calls, names = tuple(plan.calls[place] for place in kept), tuple(plan.names[place] for place in kept)
    places = {place: place for place in range(width)} | {width + place: width + i for i, place in enumerate(kept)}
    return _narrow(replace(plan, input=below, calls=calls, names=names) if calls else below, places, wanted)


def _moved(call: AggregateCall, places: Places) -> AggregateCall:
    return replace(call, argument=_place(call.argument, places), second=_place(call.second, places))


def _place(column: int | None, places: Places) -> int | None:
    return None if column is None else places[column]


def _same(plan: Plan) -> Places:
    return {place: place for place in range(len(plan.schema))}


def _narrow(plan: Plan, places: Places, wanted: AbstractSet[int]) -> tuple[Plan, Places]:
    """Drop the columns of `plan` that are not wanted, if there are any."""
    kept = sorted(wanted)
    if len(kept) == len(plan.schema):
        return plan, places
    names = tuple(plan.schema.names[places[place]] for place in kept)
    return _project(plan, [places[place] for place in kept], names), {place: i for i, place in enumerate(kept)}


def _project(plan: Plan, places: list[int], names: tuple[str, ...]) -> Plan:
    if places == list(range(len(plan.schema))) and names == plan.schema.names:
        return plan
    fields = plan.schema.fields
    expressions = tuple(Column(place, fields[place].type, fields[place].name) for place in places)
    return _merged(Project(plan, expressions, names))
