"""A query begins as a whole: with the first row of any stream that it reads.

From then on every aggregate without GROUP BY has its row, also one in a subquery whose own streams are still empty:

    SELECT * FROM bids WHERE price > (SELECT COUNT(*) FROM asks)        bids before the first ask are compared with 0

So such an aggregate also reads the query's other streams, and nothing of them. A view is a query of its own. What a query
without FROM reads is an aggregate of nothing, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sash.plan.aggregates import AggregateCall, Function
from sash.plan.nodes import (
    Aggregate,
    Combination,
    Combine,
    Emit,
    Filter,
    Plan,
    Project,
    Scan,
    SingleRow,
    Window,
    parts,
    scans,
)
from sash.plan.rewrite import over_parts, read_through, replaced
from sash.plan.windows import NowWindow
from sash.scalar.nodes import Literal
from sash.schema import BOOLEAN, Schema
from sash.sql.catalog import Catalog, ViewDefinition
from sash.tree import rebuild


def begin_together(plan: Plan, catalog: Catalog) -> Plan:
    """The plan of a query, its aggregates there from the beginning of the whole."""
    plan = _with_single_rows(plan)
    read = {scan.through for scan in scans(plan)} - {""}
    views = frozenset(read_view(catalog.views[name.lower()]) for name in read)
    streams = _streams(plan)
    return read_through(over_parts(plan, lambda part, changed: _begun(part, changed, streams, views)), "")


def read_view(view: ViewDefinition) -> Plan:
    """What a query reads of a view."""
    return read_through(view.plan.input if isinstance(view.plan, Emit) else view.plan, view.name)


def _begun(plan: Plan, changed: Callable[[Plan], Plan], streams: frozenset[Scan], views: frozenset[Plan]) -> Plan:
    if plan in views or isinstance(plan, Scan | SingleRow):
        return plan
    begun = rebuild(plan, changed)
    if not isinstance(begun, Aggregate) or begun.keys:
        return begun
    below = begun.input
    for scan in sorted(streams - _streams(below), key=lambda scan: scan.name):
        below = Combine(below, _nothing(scan, below.schema), Combination.UNION_ALL)
    return replace(begun, input=below)


def _with_single_rows(plan: Plan) -> Plan:
    """The plan with aggregates for its single rows, over something that it reads; a query that reads nothing keeps them."""
    read = sorted(scans(plan), key=lambda scan: (scan.is_table, scan.name))
    if not read or not _has_single_rows(plan):
        return plan
    schema = SingleRow().schema
    groups = Aggregate(_nothing(read[0], schema), (), (AggregateCall(Function.COUNT, None, None),), ("rows",))
    return replaced(plan, SingleRow(), Project(groups, (Literal(1, schema.types[0]),), schema.names))


def _has_single_rows(plan: Plan) -> bool:
    return any(isinstance(part, SingleRow) for part in parts(plan))


def _nothing(scan: Scan, schema: Schema) -> Plan:
    """No row of a stream or table, in the columns of another schema."""
    nulls = tuple(Literal(None, type_) for type_ in schema.types)
    now = scan if scan.is_table else Window(scan, NowWindow())
    return Project(Filter(now, Literal(False, BOOLEAN)), nulls, schema.names)


def _streams(plan: Plan) -> frozenset[Scan]:
    return frozenset(replace(scan, through="") for scan in scans(plan) if not scan.is_table)
