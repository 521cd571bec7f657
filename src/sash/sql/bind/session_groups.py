"""GROUP BY SESSION_WINDOW(ts, gap): the sessions of a relation, whatever comes and goes in it.

A row begins a session if the row before it, among those that agree on the other keys, is `gap` away or more, and ends one if the
row after it is. So the bounds of every row's session are values of window functions over the rows around it, which are exact
whatever changes: a row that leaves may split a session in two, one that comes may make one of two.

    before, after    LAG(ts), LEAD(ts)               over the other keys, by ts
    start            MAX(ts if it begins one)        from the first row to this one and its peers
    end              MIN(ts + gap if it ends one)    from this one and its peers to the last row

Rows without a ts are in no session.
"""

from __future__ import annotations

from collections.abc import Sequence

from sash.errors import SqlError
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.nodes import Order, Project
from sash.plan.over import Frame, Over, OverCall, Unit, WindowFunction
from sash.scalar import build
from sash.scalar.functions.instants import SESSION_END, SESSION_START
from sash.scalar.nodes import Call, Expression, Literal
from sash.schema import BIGINT
from sash.sql.bind.joins import Part, with_columns
from sash.sql.bind.projections import columns
from sash.sql.bind.references import AddedColumn


def with_sessions(part: Part, keys: Sequence[Expression]) -> tuple[Part, tuple[Expression, ...]]:
    """The rows with the bounds of their sessions, and the keys that read them."""
    sessions = [key for key in keys if isinstance(key, Call) and key.function in (SESSION_START, SESSION_END)]
    if not sessions:
        return part, tuple(keys)
    if len({session.arguments for session in sessions}) > 1:
        raise SqlError("SESSION_WINDOW stands once in a GROUP BY", "join queries that have one each")
    ends = {session: int(session.function == SESSION_END) for session in sessions}
    found: dict[Expression, AddedColumn] = {
        session: AddedColumn(session.type, session.function, is_end) for session, is_end in ends.items()
    }
    others = [key for key in keys if key not in found]
    wide = _bounded(part, others, *sessions[0].arguments)
    bounds = {found[session]: wide.width - 2 + is_end for session, is_end in ends.items()}
    return Part(wide.plan, wide.places | bounds), tuple(found.get(key, key) for key in keys)


def _bounded(part: Part, others: Sequence[Expression], ts: Expression, gap: Expression) -> Part:
    part = part.filtered([build.call("is_not_null", [ts])])
    part, (*partition, at) = with_columns(part, [*others, build.call("unix_micros", [ts])])
    keys, order, width = tuple(dict.fromkeys(partition)), (Order(at),), part.width
    whole = Frame(Unit.RANGE, None, None)
    near = [OverCall(WindowFunction.LAG, whole, at, BIGINT, offset) for offset in (1, -1)]
    rows = Over(part.plan, keys, order, tuple(near), ("before", "after"))
    own, here, (before, after) = columns(rows)[:width], columns(rows)[at], columns(rows)[width:]
    marks = [
        _if_far(build.call("subtract", [here, before]), gap, here),
        _if_far(build.call("subtract", [after, here]), gap, build.call("add", [here, gap])),
    ]
    names = part.plan.schema.names
    marked = Project(rows, (*own, *marks), (*names, "begins", "ends"))
    bounds = (
        OverCall(AggregateCall(Function.MAX, width, BIGINT), Frame(Unit.RANGE, None, 0)),
        OverCall(AggregateCall(Function.MIN, width + 1, BIGINT), Frame(Unit.RANGE, 0, None)),
    )
    ranged = Over(marked, keys, order, bounds, ("start", "end"))
    shown = [build.call("timestamp_micros", [column]) for column in columns(ranged)[width + 2 :]]
    return Part(Project(ranged, (*own, *shown), (*names, "start", "end")), part.places)


def _if_far(distance: Expression, gap: Expression, value: Expression) -> Expression:
    """A value where there is no neighbour, or none that is near."""
    is_far = build.call("or", [build.call("is_null", [distance]), build.call("greater_equal", [distance, gap])])
    return build.call("case", [is_far, value, Literal(None, BIGINT)])
